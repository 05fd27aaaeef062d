//! Checks the personas and the policy that a proposal asks for.

use crate::{error::BrokerError, size_limits::invalid};
use domain::{
    consensus::{Policy, PolicyRequest, Rule, RuleName},
    default_panel::MAX_SEATS,
    persona::{MAX_PERSONA_NAME_CHARS, is_persona_name},
    review::distinct_personas,
};

/// The named personas without duplicates; `None` if the caller names none.
pub(crate) fn named(personas: Vec<String>) -> Result<Option<Vec<String>>, BrokerError> {
    if personas.is_empty() {
        return Ok(None);
    }
    for persona in &personas {
        let chars = persona.chars().count();
        if chars > MAX_PERSONA_NAME_CHARS {
            let (field, unit) = ("personas", "characters");
            return Err(BrokerError::TooLong { field, actual: chars, limit: MAX_PERSONA_NAME_CHARS, unit });
        }
        if !is_persona_name(persona) {
            let problem =
                format!("{persona:?} is not a valid name; allowed: 1 to {MAX_PERSONA_NAME_CHARS} of a-z A-Z 0-9 . _ -");
            return Err(invalid("personas", problem));
        }
    }
    let seats = distinct_personas(personas);
    if seats.len() > MAX_SEATS {
        return Err(invalid("personas", format!("are {} different ones; allowed are 1 to {MAX_SEATS}", seats.len())));
    }
    Ok(Some(seats))
}

/// The policy for a number of seats. `max_rounds` is the configured maximum.
pub(crate) fn policy(asked: PolicyRequest, seats: usize, max_rounds: u32) -> Result<Policy, BrokerError> {
    let rule = match (asked.rule.unwrap_or(RuleName::RequireAll), asked.min_approvals) {
        (RuleName::MinApprovals, Some(n)) if n >= 1 && n as usize <= seats => Rule::MinApprovals(n),
        (RuleName::MinApprovals, Some(n)) => {
            let problem = format!("is {n}; allowed is 1 to {seats}, the number of seats");
            return Err(invalid("policy.min_approvals", problem));
        }
        (RuleName::MinApprovals, None) => {
            let problem = format!("is needed with rule min_approvals: 1 to {seats}, the number of seats");
            return Err(invalid("policy.min_approvals", problem));
        }
        (rule, Some(_)) => {
            let problem = format!("only with rule min_approvals, not with {rule}");
            return Err(invalid("policy.min_approvals", problem));
        }
        (RuleName::RequireAll, None) => Rule::RequireAll,
        (RuleName::Majority, None) => Rule::Majority,
    };
    let max_rounds = match asked.max_rounds {
        None => max_rounds,
        Some(rounds) if (1..=max_rounds).contains(&rounds) => rounds,
        Some(rounds) => {
            let problem = format!(
                "is {rounds}; allowed is 1 to {max_rounds}: a proposal may lower reviews.max_rounds, not raise it"
            );
            return Err(invalid("policy.max_rounds", problem));
        }
    };
    if let Some(minutes) = asked.max_minutes.filter(|minutes| !(1..=MAX_MINUTES).contains(minutes)) {
        return Err(invalid("policy.max_minutes", format!("is {minutes}; allowed is 1 to {MAX_MINUTES}")));
    }
    let max_cost_micro_usd = match asked.max_cost_usd {
        None => None,
        Some(cost) if (0.01..=MAX_COST_USD).contains(&cost) => Some((cost * 1e6).round() as u64),
        Some(cost) => {
            return Err(invalid("policy.max_cost_usd", format!("is {cost}; allowed is 0.01 to {MAX_COST_USD}")));
        }
    };
    Ok(Policy {
        rule,
        max_rounds,
        // With one reviewer its verdict decides alone.
        block_on_critical: asked.block_on_critical.unwrap_or(seats > 1),
        ungrounded_blocks: asked.ungrounded_blocks.unwrap_or(true),
        max_minutes: asked.max_minutes,
        max_cost_micro_usd,
    })
}

/// One week.
const MAX_MINUTES: u32 = 7 * 24 * 60;
const MAX_COST_USD: f64 = 1000.0;

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
