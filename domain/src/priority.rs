//! Which review goes next.

crate::string_enum! {
    /// Fixed when a proposal is submitted. The order of the variants is the order of the queue.
    Priority { Critical = "critical", Normal = "normal", Low = "low" }
}

impl Priority {
    /// What the identity of a proposal says about its urgency: plans hold others up, checks of
    /// finished work hold up nobody.
    pub fn infer(agent_type: &str, agent_role: &str, phase: &str, task: Option<&str>) -> Self {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        if has(agent_type, "planner") || has(agent_role, "planner") {
            Self::Critical
        } else if has(phase, "verify") || task.is_some_and(|t| has(t, "verification")) {
            Self::Low
        } else {
            Self::Normal
        }
    }

    /// Place in the queue, smallest first.
    pub const fn rank(self) -> i64 {
        match self {
            Self::Critical => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Priority::{self, Critical, Low, Normal};

    #[track_caller]
    fn check(agent_type: &str, role: &str, phase: &str, task: Option<&str>, expected: Priority) {
        assert_eq!(Priority::infer(agent_type, role, phase, task), expected);
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
