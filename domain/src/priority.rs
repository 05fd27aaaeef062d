//! The priority of a review as a type, and its default. It decides which review is claimed next.

use crate::review::Proposer;

crate::string_enum! {
    /// Set when a proposal is submitted. The order of the variants is the order of the queue.
    Priority { Critical = "critical", Normal = "normal", Low = "low" }
}

impl Priority {
    /// The priority that follows from the proposer: plans block other work, verification of finished work does not.
    pub fn infer(Proposer { agent_type, agent_role, phase, task, .. }: &Proposer) -> Self {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        if has(agent_type, "planner") || has(agent_role, "planner") {
            Self::Critical
        } else if has(phase, "verify") || task.as_deref().is_some_and(|t| has(t, "verification")) {
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
    use crate::review::Proposer;

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
        assert_eq!(Priority::infer(&proposer), expected);
    }

    #[test]
    fn priority_follows_the_identity() {
        check("gsd-planner", "proposer", "3", None, Critical);
        check("claude", "Planner", "verify", None, Critical);
        check("gsd-executor", "proposer", "3-verify", None, Low);
        check("gsd-executor", "proposer", "3", Some("Verification of 2"), Low);
        check("gsd-executor", "proposer", "3", Some("2"), Normal);
    }
}
