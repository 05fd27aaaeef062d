//! The proposer's calls.

use super::{Call, Done, Stop, non_empty, target};
use crate::mcp::{
    args::{CancelReview, CloseReview, CreateReview, Malformed, PolicyArgs},
    present::{Answer, Status, Submission},
    refusal::Refused,
    workplace,
};
use actors::requests::{NewProposal, PolicyRequest, RequestKey, Revision};
use domain::{
    consensus::RuleName,
    priority::Priority,
    review::{Category, Proposer, Review},
};
use rmcp::model::RequestMetaObject;
use serde_json::Value;
use std::sync::Arc;

pub(super) async fn create(mut args: CreateReview, call: &Call<'_>) -> Done {
    non_empty("intent", &args.intent)?;
    let category = args.category.as_deref().map(category).transpose()?;
    let priority = args.priority.as_deref().map(priority).transpose()?;
    let broker = &call.server.broker;
    let target = target::read(&mut args)?;
    let key = request_key(args.idempotency_key, call.meta);
    let proposer_id = call.who.speaks_as("proposer_id", args.proposer_id)?;
    if let Some(given) = args.review_id {
        let id = call.resolve(&given).await?;
        let kept = [
            ("personas", args.personas.is_some()),
            ("policy", args.policy.is_some()),
            ("priority", priority.is_some()),
        ];
        if let Some((field, _)) = kept.iter().find(|(_, given)| *given) {
            broker.review(id).await?;
            let problem = "not together with review_id: a revision keeps the seats, policy and priority of its review";
            return Err(Refused::invalid(field, problem).into());
        }
        let revision = Revision {
            proposer_id,
            intent: args.intent,
            description: args.description,
            diff: args.diff,
            base: args.base,
            target,
            skip_diff_validation: args.skip_diff_validation,
            key,
        };
        let submitted = broker.revise(id, revision).await?;
        return Ok(Answer::of(&Submission::of(&submitted.review, &submitted.content, true))?);
    }
    let proposal = NewProposal {
        workplace: call.headers.map(workplace::read).transpose()?.flatten(),
        proposer: Proposer {
            agent_type: required("agent_type", args.agent_type)?,
            agent_role: required("agent_role", args.agent_role)?,
            phase: required("phase", args.phase)?,
            plan: args.plan,
            task: args.task,
            project: call.who.proposes_in(args.project, broker.own_project())?,
            proposer_id,
        },
        category,
        priority,
        intent: args.intent,
        description: args.description,
        diff: args.diff,
        base: args.base,
        target,
        skip_diff_validation: args.skip_diff_validation.unwrap_or(false),
        personas: args.personas.unwrap_or_default(),
        policy: args.policy.map(policy).transpose()?.unwrap_or_default(),
        key,
    };
    let submitted = broker.create(proposal).await?;
    call.review.get_or_init(|| submitted.review.id);
    let submission = Submission::of(&submitted.review, &submitted.content, false);
    Ok(Answer::of(&Submission { panel_because: &submitted.panel_because, ..submission })?)
}

fn required(field: &'static str, given: Option<String>) -> Result<String, Stop> {
    let text = given.ok_or_else(|| Malformed::missing(field, "required unless review_id names a review to revise"))?;
    non_empty(field, &text)?;
    Ok(text)
}

fn policy(args: PolicyArgs) -> Result<PolicyRequest, Refused> {
    let rule = args.rule.as_deref().map(|word| {
        RuleName::parse(word).ok_or_else(|| {
            let allowed: Vec<_> = RuleName::ALL.iter().map(|rule| rule.as_str()).collect();
            Refused::unknown_word("unknown_rule", "policy.rule", word, &allowed)
        })
    });
    Ok(PolicyRequest {
        rule: rule.transpose()?,
        min_approvals: args.min_approvals,
        max_rounds: args.max_rounds,
        block_on_critical: args.block_on_critical,
        ungrounded_blocks: args.ungrounded_blocks,
        max_minutes: args.max_minutes,
        max_cost_usd: args.max_cost_usd,
    })
}

pub(super) fn category(word: &str) -> Result<Category, Refused> {
    Category::parse(word).ok_or_else(|| {
        let allowed: Vec<_> = Category::ALL.iter().map(|category| category.as_str()).collect();
        Refused::unknown_word("unknown_category", "category", word, &allowed)
    })
}

fn priority(word: &str) -> Result<Priority, Refused> {
    Priority::parse(word).ok_or_else(|| {
        let allowed: Vec<_> = Priority::ALL.iter().map(|priority| priority.as_str()).collect();
        Refused::unknown_word("unknown_priority", "priority", word, &allowed)
    })
}

/// What names this call: the caller's own key, or the id its client gave the call.
fn request_key(given: Option<String>, meta: &RequestMetaObject) -> Option<RequestKey> {
    let id = |name: &str| meta.get(name).and_then(Value::as_str).filter(|id| (1..=100).contains(&id.len()));
    match (given, id("claudecode/toolUseId"), id("threadId"), id("callId")) {
        (Some(key), _, _, _) => Some(RequestKey::Given(key)),
        (None, Some(tool_use), _, _) => Some(RequestKey::OfClient(format!("claude:{tool_use}"))),
        (None, None, Some(thread), Some(call)) => Some(RequestKey::OfClient(format!("codex:{thread}:{call}"))),
        (None, None, _, _) => None,
    }
}

pub(super) async fn close(args: CloseReview, call: &Call<'_>) -> Done {
    let role = call.role("closer_role", args.closer_role.as_deref())?;
    let id = call.resolve(&args.review_id).await?;
    status(call.server.broker.close(id, role, call.who.name()).await?)
}

pub(super) async fn cancel(args: CancelReview, call: &Call<'_>) -> Done {
    non_empty("reason", &args.reason)?;
    let id = call.resolve(&args.review_id).await?;
    status(call.server.broker.cancel(id, call.who.name(), args.reason).await?)
}

pub(super) fn status(review: Arc<Review>) -> Done {
    Ok(Answer::of(&Status::of(&review))?)
}
