//! The priority of a review as a type, and its default. It decides which review is claimed next.

use crate::review::{Category, Proposer};

crate::string_enum! {
    /// Set when a proposal is submitted. The order of the variants is the order of the queue.
    Priority { Critical = "critical" | "urgent", Normal = "normal", Low = "low" }
}

impl Priority {
    /// The priority that follows from the proposer and the kind of proposal: plans block other work, verification of
    /// finished work does not.
    pub fn infer(Proposer { agent_type, agent_role, phase, task, .. }: &Proposer, category: Option<Category>) -> Self {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        let is_agent = |word| has(agent_type, word) || has(agent_role, word);
        if is_agent("planner") {
            Self::Critical
        } else if category == Some(Category::Verification)
            || is_agent("verifier")
            || is_agent("verification")
            || has(phase, "verify")
            || task.as_deref().is_some_and(|task| has(task, "verification"))
        {
            Self::Low
        } else {
            Self::Normal
        }
    }

    /// Position in the queue, smallest first.
    pub const fn rank(self) -> i64 {
        self as i64
    }
}

#[cfg(test)]
mod tests {
    use super::Priority::{self, Critical, Low, Normal};
    use crate::review::{Category, Proposer};

    #[track_caller]
    fn check(agent_type: &str, role: &str, phase: &str, task: Option<&str>, expected: Priority) {
        let proposer = Proposer {
            agent_type: agent_type.into(),
            agent_role: role.into(),
            phase: phase.into(),
            plan: None,
            task: task.map(Into::into),
            project: None,
            proposer_id: None,
        };
        assert_eq!(Priority::infer(&proposer, None), expected);
        let verification = Priority::infer(&proposer, Some(Category::Verification));
        assert_eq!(verification, if expected == Critical { Critical } else { Low });
    }

    #[test]
    fn priority_follows_the_identity() {
        check("gsd-planner", "proposer", "3", None, Critical);
        check("claude", "Planner", "verify", None, Critical);
        check("gsd-executor", "proposer", "3-verify", None, Low);
        check("gsd-executor", "proposer", "3", Some("Verification of 2"), Low);
        check("gsd-executor", "proposer", "3", Some("2"), Normal);
        check("gsd-verifier", "proposer", "3", None, Low);
        check("claude", "Verification", "3", None, Low);
    }
}
