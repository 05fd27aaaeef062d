//! The world the rules are tested in: `paul` proposes, `ada`, `bob` and `cyd` review. A review gets
//! into a status only by the commands that lead there, never by being put together by hand.

#[path = "transition_tests/consequences.rs"]
mod consequences;
#[path = "transition_tests/diagram.rs"]
mod diagram;
#[path = "transition_tests/findings.rs"]
mod findings;
#[path = "transition_tests/properties.rs"]
mod properties;
#[path = "transition_tests/refusals.rs"]
mod refusals;
#[path = "transition_tests/table.rs"]
mod table;
#[path = "transition_tests/walk.rs"]
mod walk;

use super::{Rules, Transition, propose, transition};
use crate::{
    consensus::{Policy, Rule},
    content::ContentHash,
    finding::{FindingKind, NewFinding, Severity},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{
        AcceptCounterPatch, AddMessage, AppliesTo, Check, ClaimEndReason, ClaimSeat, Command, DiffCheck, DiffFacts,
        GiveVerdict, OfferedFindings, OfferedPatch, Proposal, Proposer, Refusal, ReleaseSeat, Review, Revise, Role,
    },
    time::{Now, Tick, Timestamp},
    verdict::Verdict,
};
use std::time::Duration;

const RULES: Rules = Rules { lease: LEASE };
const LEASE: Duration = Duration::from_secs(20 * 60);
const START: Now = now(1_000);

const fn now(tick: i64) -> Now {
    Now { at: Timestamp(1_800_000_000_000 + tick), tick: Tick(tick) }
}

/// A moment at which everything that runs now has run out.
fn later(review: &Review) -> Now {
    now(review.next_deadline().map_or(START.tick.0, |deadline| deadline.0))
}

fn hash(n: u64) -> ContentHash {
    ContentHash(format!("{n:064x}"))
}

fn facts(check: DiffCheck) -> DiffFacts {
    DiffFacts { base_commit: Some("b".repeat(40)), patch_id: Some("p".repeat(40)), check }
}

fn applies() -> Check {
    Check::Applies { to: AppliesTo::Base, tree_id: Some("t".repeat(40)) }
}

fn fails() -> Check {
    Check::Fails { words: "error: patch failed: a.rs:1".into() }
}

#[test]
fn a_priority_that_is_asked_for_is_given() {
    let asked = Proposal { priority: Some(Priority::Low), ..proposal(&["general"], Rule::RequireAll, None) };
    assert_eq!(propose(asked, START).next.priority, Priority::Low);
    let left_out = proposal(&["general"], Rule::RequireAll, None);
    assert_eq!(propose(left_out, START).next.priority, Priority::Normal);
}

fn proposal(personas: &[&str], rule: Rule, diff: Option<DiffFacts>) -> Proposal {
    Proposal {
        id: ReviewId(uuid::Uuid::from_u128(1)),
        number: ReviewNumber(1),
        proposer: Proposer {
            agent_type: "gsd-executor".into(),
            agent_role: "proposer".into(),
            phase: "3".into(),
            plan: None,
            task: None,
            project: None,
            proposer_id: Some("paul".into()),
        },
        category: None,
        priority: None,
        intent: "rename the config key".into(),
        content_hash: hash(1),
        diff,
        personas: personas.iter().map(ToString::to_string).collect(),
        policy: Policy { rule, ..Policy::default() },
        request_key: None,
        target: None,
    }
}

/// One seat, a diff that git can check.
fn pending() -> Review {
    let diff = facts(DiffCheck::Unknown { why: "not asked yet".into() });
    propose(proposal(&["general"], Rule::RequireAll, Some(diff)), START).next
}

/// Seats `general`, `security` and so on, no diff.
fn seats(count: usize, rule: Rule) -> Review {
    let personas = ["general", "security", "tests"];
    propose(proposal(&personas[..count], rule, None), START).next
}

#[track_caller]
fn decide(review: &Review, command: Command) -> Result<Transition, Refusal> {
    transition(review, command, START, &RULES)
}

#[track_caller]
fn after(review: &Review, command: Command) -> Review {
    match decide(review, command) {
        Ok(transition) => transition.next,
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

/// The review once each of these was said, one after the other.
#[track_caller]
fn told(review: &Review, commands: impl IntoIterator<Item = Command>) -> Review {
    commands.into_iter().fold(review.clone(), |review, command| after(&review, command))
}

fn claim(by: &str) -> Command {
    claim_with(by, None, applies())
}

fn claim_as(by: &str, persona: &str) -> Command {
    claim_with(by, Some(persona), applies())
}

/// Looked at round 1, as it was submitted.
fn claim_with(by: &str, persona: Option<&str>, check: Check) -> Command {
    claim_of(hash(1), by, persona, check)
}

fn claim_of(content: ContentHash, by: &str, persona: Option<&str>, check: Check) -> Command {
    Command::Claim(ClaimSeat { by: by.into(), persona: persona.map(Into::into), checked: Some(content), check })
}

/// What `by` says as the holder of its seat, without a generation.
fn verdict(by: &str, verdict: Verdict) -> GiveVerdict {
    GiveVerdict {
        by: Some(by.into()),
        generation: None,
        content_hash: None,
        verdict,
        reason: verdict.needs_reason().then(|| "line 3".into()),
        summary: None,
        metrics: None,
        patch: None,
        findings: OfferedFindings::default(),
    }
}

fn says(by: &str, word: Verdict) -> Command {
    Command::GiveVerdict(verdict(by, word))
}

fn offers(by: &str, word: Verdict) -> Command {
    let patch = Some(OfferedPatch { digest: "patch".into(), check: applies() });
    Command::GiveVerdict(GiveVerdict { patch, ..verdict(by, word) })
}

fn found(title: &str, severity: Severity) -> NewFinding {
    NewFinding {
        is_issue: true,
        kind: FindingKind::Bug,
        severity,
        place: None,
        title: title.into(),
        description: None,
        code_snippet: None,
        suggestion: None,
        rule_ref: None,
        confidence: None,
    }
}

fn message(role: Role, body: &str) -> AddMessage {
    AddMessage { role, by: None, persona: None, body: body.into(), metadata: None }
}

fn writes(role: Role, body: &str) -> Command {
    Command::AddMessage(message(role, body))
}

fn writes_to(persona: &str, role: Role, body: &str) -> Command {
    Command::AddMessage(AddMessage { persona: Some(persona.into()), ..message(role, body) })
}

/// A complete revision of whatever is active; its content is new.
fn revise(review: &Review) -> Command {
    Command::Revise(revision(review))
}

fn revision(review: &Review) -> Revise {
    Revise {
        proposer_id: Some("paul".into()),
        completes: review.round.content_hash.clone(),
        intent: "rename it everywhere".into(),
        content_hash: hash(1_000 + review.version),
        diff: review.round.diff.clone(),
        request_key: None,
        anchors: Vec::new(),
        target: None,
    }
}

/// Accepts the only pending counter-patch, git having found that it applies.
fn accept(review: &Review) -> Command {
    Command::AcceptCounterPatch(acceptance(review, None))
}

fn acceptance(review: &Review, persona: Option<&str>) -> AcceptCounterPatch {
    let wanted = |name: &str| persona.is_none_or(|persona| persona == name);
    let patch = review.seats.iter().filter(|seat| wanted(&seat.persona)).find_map(|seat| seat.patch.as_ref());
    AcceptCounterPatch {
        by: None,
        persona: persona.map(Into::into),
        checked: patch.map(|patch| (patch.id, review.round.content_hash.clone())),
        content_hash: Some(hash(2_000 + review.version)),
        diff: Some(facts(DiffCheck::Applies { to: AppliesTo::Base, tree_id: None })),
        check: applies(),
        anchors: Vec::new(),
    }
}

fn reject() -> Command {
    Command::RejectCounterPatch { by: None, persona: None }
}

fn release(generation: u32) -> Command {
    Command::Release(ReleaseSeat { by: None, generation: Some(generation), reason: None, gave_up: false })
}

fn gone(reviewer: &str) -> Command {
    let (why, detail) = (ClaimEndReason::ReviewerExited, Some("exit code 1".into()));
    Command::ReviewerGone { reviewer: reviewer.into(), why, detail }
}

fn cancel() -> Command {
    Command::Cancel { by: Some("paul".into()), reason: "not needed".into() }
}

fn close() -> Command {
    Command::Close { by: Role::Proposer, identity: None }
}

fn claimed() -> Review {
    after(&pending(), claim("ada"))
}

fn changes_requested() -> Review {
    after(&claimed(), says("ada", Verdict::ChangesRequested))
}

fn with_patch() -> Review {
    after(&claimed(), offers("ada", Verdict::ChangesRequested))
}

fn auto_rejected() -> Review {
    after(&pending(), claim_with("ada", None, fails()))
}

fn approved() -> Review {
    after(&claimed(), says("ada", Verdict::Approved))
}

fn rejected() -> Review {
    after(&claimed(), says("ada", Verdict::Rejected))
}

fn cancelled() -> Review {
    after(&claimed(), cancel())
}

fn closed() -> Review {
    after(&approved(), close())
}

/// Pending again, because the proposer asked back; `ada` is expected.
fn asked_back() -> Review {
    after(&changes_requested(), writes(Role::Proposer, "why?"))
}

/// Two seats, `ada` in the first, the second free.
fn in_review() -> Review {
    after(&seats(2, Rule::RequireAll), claim("ada"))
}
