//! Sample values of the domain for tests. A test replaces the fields that matter to it.

use domain::{
    consensus::Policy,
    content::Content,
    finding::{FindingKind, FindingNumber, Grounding, NewFinding, Severity},
    ids::{ReviewId, ReviewNumber},
    persona::{Mode, Persona},
    priority::Priority,
    review::{FindingRaised, GiveVerdict, Propose, Proposed, Proposer, Round, Rules},
    verdict::Verdict,
};
use std::time::Duration;

/// The rules of the default settings.
pub const RULES: Rules = Rules { lease: Duration::from_secs(1200), max_exchanges: 8 };

/// A persona without settings of its own.
pub fn persona(mode: Mode) -> Persona {
    Persona {
        name: "security".into(),
        focus: "what lets strangers in.".into(),
        prompt: "Be strict.\n".into(),
        ignore: Default::default(),
        mode,
        runtime: None,
        program: None,
        command: Vec::new(),
        model: None,
        effort: None,
        time_limit: Duration::from_secs(60),
        budget_usd: None,
        max_turns: 20,
        max_tokens: None,
        keep_seat: Duration::from_secs(60),
        front_matter: false,
    }
}

pub fn proposer() -> Proposer {
    Proposer {
        agent_type: "gsd-executor".into(),
        agent_role: "proposer".into(),
        phase: "3".into(),
        plan: None,
        task: None,
        project: None,
        proposer_id: None,
    }
}

/// A content without a diff.
pub fn content(intent: &str) -> Content {
    Content {
        intent: intent.into(),
        description: None,
        diff: None,
        base_commit: None,
        files: Vec::new(),
        flags: Vec::new(),
        diff_note: None,
    }
}

/// The first round of a review, with `content`.
pub fn round(content: &Content) -> Round {
    let (intent, content_hash) = (content.intent.clone(), content.hash());
    Round {
        number: 1,
        content_hash,
        intent,
        diff: None,
        change_note: None,
        request_key: None,
        target: None,
        required: Box::default(),
    }
}

/// The proposal of `content` as review `number`, with one seat per persona.
pub fn proposal(number: i64, content: &Content, personas: &[&str]) -> Propose {
    let proposed = Proposed {
        id: ReviewId(uuid::Uuid::from_u128(number.unsigned_abs().into())),
        number: ReviewNumber(number),
        proposer: proposer(),
        category: None,
        priority: Priority::Normal,
        round: round(content),
        personas: personas.iter().map(ToString::to_string).collect(),
        policy: Policy::default(),
    };
    Propose { proposed, first_content: None }
}

/// An approval of the current content by `reviewer`.
pub fn approval(reviewer: &str) -> GiveVerdict {
    GiveVerdict {
        by: Some(reviewer.into()),
        generation: None,
        content_hash: None,
        verdict: Verdict::Approved,
        reason: None,
        summary: None,
        metrics: None,
        patch: None,
        findings: None,
        signature: None,
        digest: "approval".into(),
    }
}

/// An issue without a location.
pub fn issue(number: i64, severity: Severity) -> FindingRaised {
    let found = NewFinding {
        is_issue: true,
        kind: FindingKind::Bug,
        severity,
        location: None,
        title: format!("a {severity} one"),
        description: None,
        code_snippet: None,
        suggestion: None,
        rule_ref: None,
        confidence: None,
    };
    let grounding = Grounding::Unchecked { why: "no location".into() };
    let number = FindingNumber(number);
    FindingRaised { number, found, grounding, late: false, oscillating: false, duplicate: None }
}
