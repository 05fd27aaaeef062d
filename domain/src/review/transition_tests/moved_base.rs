//! Tests claiming a review whose base commit is no longer HEAD.

use super::{
    after, after_all, applies, claim_as, decide, fails, hash, head, pending, proposal, propose, rebasing_claim, says,
    take_over,
};
use crate::{
    consensus::Rule,
    event_kind::EventKind,
    review::{
        AppliesTo, CheckedDiff, ClaimSeat, Command, DiffCheck, DiffFacts, HeadCheck, Review, Status,
        transition::Transition,
    },
    verdict::Verdict,
};

fn claim_with_head(check: DiffCheck, head: HeadCheck) -> Command {
    let check = Some(CheckedDiff { content_hash: hash(1), check, head: Some(head), rebased: None });
    Command::Claim(ClaimSeat { by: "ada".into(), persona: None, takes_over: None, check, pool_personas: Vec::new() })
}

/// A pending review whose proposer named the base.
fn named() -> Review {
    let unknown = DiffCheck::Unknown { why: "not asked yet".into() };
    let diff = DiffFacts { base_named: true, ..super::facts(unknown) };
    propose(proposal(&["general"], Rule::RequireAll, Some(diff)))
}

/// Seats `general` and `security`, a diff that applies to the working tree only.
fn two_seats() -> Review {
    let diff = super::facts(worktree());
    propose(proposal(&["general", "security"], Rule::RequireAll, Some(diff)))
}

fn worktree() -> DiffCheck {
    DiffCheck::Applies { to: AppliesTo::Worktree, tree_id: None }
}

fn kinds(transition: &Transition) -> Vec<EventKind> {
    transition.events.iter().map(|logged| logged.event.kind()).collect()
}

#[track_caller]
fn taken(review: &Review, command: Command) -> Transition {
    match decide(review, command) {
        Ok(transition) => transition,
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

fn facts_of(review: &Review) -> DiffFacts {
    review.round.diff.clone().unwrap_or_else(|| panic!("no diff"))
}

#[test]
fn the_check_against_head_is_kept_until_the_next_claim() {
    let claimed = after(&pending(), claim_with_head(applies(), head(applies())));
    assert_eq!((claimed.status, facts_of(&claimed).head), (Status::Claimed, Some(head(applies()))));
    let again = after(&claimed, take_over(&claimed, "bob", None));
    assert_eq!(facts_of(&again).head, None, "HEAD is the base again");
}

#[test]
fn an_unnamed_base_must_fit_head() {
    let sent_back = taken(&pending(), claim_with_head(applies(), head(fails())));
    assert_eq!(kinds(&sent_back), [EventKind::AutoRejected]);
    assert!(sent_back.next.auto_rejected());
    let facts = facts_of(&sent_back.next);
    assert_eq!((facts.check, facts.head), (applies(), Some(head(fails()))), "it still applies to its base");

    for fits in [
        HeadCheck { contains: true, ..head(fails()) },
        head(DiffCheck::Unknown { why: "git was killed".into() }),
        head(applies()),
    ] {
        assert_eq!(after(&pending(), claim_with_head(applies(), fits)).status, Status::Claimed);
    }
    assert_eq!(after(&pending(), claim_with_head(worktree(), head(fails()))).status, Status::Claimed);
}

#[test]
fn a_named_base_need_not_fit_head() {
    assert_eq!(after(&named(), claim_with_head(applies(), head(fails()))).status, Status::Claimed);
    let fails_on_base = taken(&named(), rebasing_claim(&named(), "ada", None));
    assert_eq!(kinds(&fails_on_base), [EventKind::AutoRejected]);
}

#[test]
fn a_diff_that_applies_only_to_head_gets_it_as_its_base() {
    let before = pending();
    let rebased = taken(&before, rebasing_claim(&before, "ada", None));
    assert_eq!(kinds(&rebased), [EventKind::Rebased, EventKind::Claimed]);
    let review = &rebased.next;
    assert_ne!(review.round.content_hash, before.round.content_hash);
    let facts = facts_of(review);
    assert_eq!((facts.base_commit, facts.check, facts.head), (Some("c".repeat(40)), applies(), None));
    assert_eq!((review.status, review.claim_generation, review.round.number), (Status::Claimed, 1, 1));
    let approved = after(review, says("ada", Verdict::Approved));
    assert_eq!(approved.approved_hash, Some(review.round.content_hash.clone()));
}

#[test]
fn a_new_base_frees_the_seats_that_saw_the_old_one() {
    let on_worktree = |by: &str| super::claim_with(by, Some("general"), worktree());
    let voted = after_all(&two_seats(), [on_worktree("ada"), says("ada", Verdict::Approved)]);
    let rebased = taken(&voted, rebasing_claim(&voted, "bob", Some("security")));
    assert_eq!(kinds(&rebased), [EventKind::Rebased, EventKind::Claimed]);
    let [general, security] = &rebased.next.seats[..] else { panic!("two seats") };
    assert!(general.is_free() && security.is_held_by("bob"));
    assert_eq!(general.reservation.as_ref().map(|kept| kept.reviewer.as_str()), Some("ada"));
    assert_eq!((rebased.next.decision.as_ref(), rebased.next.status), (None, Status::InReview));
    // The voter looks again at the new content.
    let content = rebased.next.round.content_hash.clone();
    let again = after(&rebased.next, super::claim_of(content, "ada", Some("general"), applies()));
    assert_eq!(again.seats[0].vote, None);
    assert!(decide(&rebased.next, claim_as("ada", "general")).is_err(), "git has looked at the old content");
}
