//! Fixtures of the rule tests: `paul` proposes; `ada`, `bob` and `cyd` review. A review gets into a status only through
//! commands.

#[path = "transition_tests/consequences.rs"]
mod consequences;
#[path = "transition_tests/diagram.rs"]
mod diagram;
#[path = "transition_tests/findings.rs"]
mod findings;
#[path = "transition_tests/moved_base.rs"]
mod moved_base;
#[path = "transition_tests/properties.rs"]
mod properties;
#[path = "transition_tests/refusals.rs"]
mod refusals;
#[path = "transition_tests/table.rs"]
mod table;
#[path = "transition_tests/turns.rs"]
mod turns;
#[path = "transition_tests/walk.rs"]
mod walk;

use super::{Rules, Transition, transition};
use crate::{
    consensus::{Policy, Rule},
    content::{ContentHash, digest_json},
    credential::Authority,
    finding::{FindingKind, NewFinding, Severity},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{
        AcceptCounterPatch, AddMessage, AddSeat, AppliesTo, CheckedDiff, ClaimEndReason, ClaimSeat, Command, DiffCheck,
        DiffFacts, GiveVerdict, HeadCheck, OfferedPatch, PatchedContent, Propose, Proposed, Proposer, RebasedContent,
        Refusal, ReleaseSeat, Review, Revise, Role, Round, Seat,
    },
    time::{Now, Tick, Timestamp},
    verdict::Verdict,
};
use std::time::Duration;

const RULES: Rules = Rules { lease: LEASE, max_exchanges: 8 };
/// How long the seat of a dedicated reviewer is kept for it.
const KEEP_SEAT: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(20 * 60);
const START: Now = now(1_000);

const fn now(tick: i64) -> Now {
    Now { at: Timestamp(1_800_000_000_000 + tick), tick: Tick(tick) }
}

/// The time at which the next lease or reservation of the review ends.
fn later(review: &Review) -> Now {
    now(review.next_deadline().map_or(START.tick.0, |deadline| deadline.0))
}

fn hash(n: u64) -> ContentHash {
    ContentHash(format!("{n:064x}"))
}

fn facts(check: DiffCheck) -> DiffFacts {
    let (base_commit, patch_id) = (Some("b".repeat(40)), Some("p".repeat(40)));
    DiffFacts { base_commit, base_named: false, patch_id, check, head: None }
}

fn applies() -> DiffCheck {
    DiffCheck::Applies { to: AppliesTo::Base, tree_id: Some("t".repeat(40)) }
}

fn fails() -> DiffCheck {
    DiffCheck::Fails { message: "error: patch failed: a.rs:1".into() }
}

fn proposal(personas: &[&str], rule: Rule, diff: Option<DiffFacts>) -> Propose {
    let proposed = Proposed {
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
        priority: Priority::Normal,
        personas: personas.iter().map(ToString::to_string).collect(),
        policy: Policy { rule, ..Policy::default() },
        round: round("rename the config key", hash(1), diff),
    };
    Propose { proposed, first_content: None }
}

fn round(intent: &str, content_hash: ContentHash, diff: Option<DiffFacts>) -> Round {
    let (change_note, request_key, target) = (None, None, None);
    Round {
        number: 1,
        content_hash,
        intent: intent.into(),
        diff,
        change_note,
        request_key,
        target,
        required: Box::default(),
    }
}

/// The review that a proposal creates.
fn propose(proposal: Propose) -> Review {
    propose_at(proposal, START).next
}

fn propose_at(proposal: Propose, moment: Now) -> Transition {
    match transition(None, Command::Propose(Box::new(proposal)), moment, &RULES) {
        Ok(proposed) => proposed,
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

/// One seat, a diff that git can check.
fn pending() -> Review {
    let diff = facts(DiffCheck::Unknown { why: "not asked yet".into() });
    propose(proposal(&["general"], Rule::RequireAll, Some(diff)))
}

/// Seats `general`, `security` and so on, no diff.
fn seats(count: usize, rule: Rule) -> Review {
    let personas = ["general", "security", "tests"];
    propose(proposal(&personas[..count], rule, None))
}

#[track_caller]
fn decide(review: &Review, command: Command) -> Result<Transition, Refusal> {
    transition(Some(review), command, START, &RULES)
}

#[track_caller]
fn after(review: &Review, command: Command) -> Review {
    match decide(review, command) {
        Ok(transition) => transition.next,
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

/// The review after all of these commands.
#[track_caller]
fn after_all(review: &Review, commands: impl IntoIterator<Item = Command>) -> Review {
    commands.into_iter().fold(review.clone(), |review, command| after(&review, command))
}

fn claim(by: &str) -> Command {
    claim_with(by, None, applies())
}

fn claim_as(by: &str, persona: &str) -> Command {
    claim_with(by, Some(persona), applies())
}

/// Looked at round 1, as it was submitted.
fn claim_with(by: &str, persona: Option<&str>, check: DiffCheck) -> Command {
    claim_of(hash(1), by, persona, check)
}

fn claim_of(content_hash: ContentHash, by: &str, persona: Option<&str>, check: DiffCheck) -> Command {
    let check = Some(CheckedDiff { content_hash, check, head: None, rebased: None });
    Command::Claim(ClaimSeat {
        by: by.into(),
        persona: persona.map(Into::into),
        takes_over: None,
        check,
        pool_personas: Vec::new(),
    })
}

/// HEAD is three commits ahead of the base.
fn head(check: DiffCheck) -> HeadCheck {
    HeadCheck { commit: "c".repeat(40), behind: 3, check, contains: false }
}

/// A claim of a diff that does not apply to its base, but to HEAD.
fn rebasing_claim(review: &Review, by: &str, persona: Option<&str>) -> Command {
    let rebased = RebasedContent { content_hash: hash(3_000 + review.version), anchors: Vec::new() };
    let check = Some(CheckedDiff {
        content_hash: review.round.content_hash.clone(),
        check: fails(),
        head: Some(head(applies())),
        rebased: Some(rebased),
    });
    Command::Claim(ClaimSeat {
        by: by.into(),
        persona: persona.map(Into::into),
        takes_over: None,
        check,
        pool_personas: Vec::new(),
    })
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
        findings: None,
        signature: None,
        digest: String::new(),
    }
}

/// A verdict with the digest that its request would have.
fn give(mut verdict: GiveVerdict) -> Command {
    let findings = verdict.findings.as_ref().map(|findings| findings.list.iter().map(|offered| &offered.found));
    let findings: Option<Vec<_>> = findings.map(Iterator::collect);
    let GiveVerdict { verdict: word, reason, summary, content_hash, patch, .. } = &verdict;
    verdict.digest = digest_json(&(word, reason, summary, content_hash, patch.is_some(), findings));
    Command::GiveVerdict(verdict)
}

fn says(by: &str, word: Verdict) -> Command {
    give(verdict(by, word))
}

fn offers(by: &str, word: Verdict) -> Command {
    give(GiveVerdict { patch: Some(OfferedPatch { check: Some(applies()), files: Vec::new() }), ..verdict(by, word) })
}

fn found(title: &str, severity: Severity) -> NewFinding {
    NewFinding {
        is_issue: true,
        kind: FindingKind::Bug,
        severity,
        location: None,
        title: title.into(),
        description: None,
        code_snippet: None,
        suggestion: None,
        rule_ref: None,
        confidence: None,
    }
}

fn message(role: Role, body: &str) -> AddMessage {
    let role = match role {
        Role::Proposer => Authority::Proposer,
        Role::Reviewer => Authority::Reviewer,
    };
    AddMessage {
        role,
        by: None,
        persona: None,
        to: None,
        body: body.into(),
        anchor: None,
        metadata: None,
        gives_up: false,
    }
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
        round: round("rename it everywhere", hash(1_000 + review.version), review.round.diff.clone()),
        anchors: Vec::new(),
    }
}

/// Accepts the only pending counter-patch, git having found that it applies.
fn accept(review: &Review) -> Command {
    Command::AcceptCounterPatch(acceptance(review, None))
}

fn acceptance(review: &Review, persona: Option<&str>) -> AcceptCounterPatch {
    let wanted = |name: &str| persona.is_none_or(|persona| persona == name);
    let patch = review.seats.iter().filter(|seat| wanted(&seat.persona)).find_map(Seat::pending_patch);
    AcceptCounterPatch {
        by: None,
        persona: persona.map(Into::into),
        patched: patch.map(|patch| PatchedContent {
            patch: patch.id,
            replaces: review.round.content_hash.clone(),
            content_hash: hash(2_000 + review.version),
            diff: facts(DiffCheck::Applies { to: AppliesTo::Base, tree_id: None }),
            anchors: Vec::new(),
            required: Vec::new(),
        }),
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
    Command::ReviewerGone { reviewer: reviewer.into(), why, detail, keep_seat: None }
}

/// A dedicated reviewer has ended its turn.
fn turn_ended(reviewer: &str) -> Command {
    let keep_seat = Some(KEEP_SEAT);
    Command::ReviewerGone { reviewer: reviewer.into(), why: ClaimEndReason::TurnEnded, detail: None, keep_seat }
}

fn take_over(review: &Review, by: &str, persona: Option<&str>) -> Command {
    let content_hash = review.round.content_hash.clone();
    let check = Some(CheckedDiff { content_hash, check: applies(), head: None, rebased: None });
    Command::Claim(ClaimSeat {
        pool_personas: Vec::new(),
        by: by.into(),
        persona: persona.map(Into::into),
        takes_over: Some(Authority::Operator),
        check,
    })
}

fn add_seat(persona: &str) -> Command {
    Command::AddSeat(AddSeat { role: Authority::Proposer, by: Some("paul".into()), persona: persona.into() })
}

/// To everyone.
fn operator_writes(body: &str) -> Command {
    let message = AddMessage { role: Authority::Operator, ..message(Role::Proposer, body) };
    Command::AddMessage(AddMessage { by: Some("olga".into()), ..message })
}

fn cancel() -> Command {
    Command::Cancel { by: Some("paul".into()), reason: "not needed".into() }
}

fn close() -> Command {
    Command::Close { by: Role::Proposer, identity: None, landed_as: None }
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
