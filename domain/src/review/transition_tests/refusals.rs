//! Tests every refusal of a command, and the error code that a program gets for it.

use super::{
    accept, acceptance, after, after_all, applies, approved, asked_back, auto_rejected, cancel, cancelled,
    changes_requested, claim, claim_as, claim_of, claim_with, claimed, close, closed, decide, fails, hash, in_review,
    later, message, offers, pending, reject, rejected, release, revise, revision, says, verdict, with_patch, writes,
    writes_to,
};
use crate::{
    consensus::Rule,
    ids::VALIDATOR,
    review::{
        AcceptCounterPatch, AddMessage, Command, DiffCheck, GiveVerdict, OfferedPatch, PatchedContent, Review, Revise,
        Role, Round, Status, transition,
    },
    verdict::Verdict,
};

#[track_caller]
fn check(from: &Review, command: Command, code: &str) {
    match decide(from, command) {
        Ok(transition) => panic!("taken, now {}", transition.next.status),
        Err(refusal) => assert_eq!(refusal.code(), code, "{refusal}"),
    }
}

#[track_caller]
fn words(from: &Review, command: Command) -> String {
    decide(from, command).map_or_else(|refusal| refusal.to_string(), |_| "taken".into())
}

/// `ada` with this generation, and nothing else to show who speaks.
fn fenced(by: Option<&str>, generation: Option<u32>) -> Command {
    let given = verdict("ada", Verdict::Approved);
    super::give(GiveVerdict { by: by.map(Into::into), generation, ..given })
}

fn on_content(content: &str) -> Command {
    super::give(GiveVerdict { content_hash: Some(content.into()), ..verdict("ada", Verdict::Approved) })
}

fn reasoned(word: Verdict, reason: Option<&str>) -> Command {
    super::give(GiveVerdict { reason: reason.map(Into::into), ..verdict("ada", word) })
}

fn patched(word: Verdict, check: DiffCheck) -> Command {
    let patch = Some(OfferedPatch { check: Some(check), files: Vec::new() });
    super::give(GiveVerdict { patch, ..verdict("ada", word) })
}

fn signed(role: Role, by: &str) -> Command {
    Command::AddMessage(AddMessage { by: Some(by.into()), ..message(role, "hello") })
}

#[test]
fn claims_of_the_wrong_review() {
    for from in [changes_requested(), auto_rejected(), approved(), rejected(), cancelled(), closed()] {
        check(&from, claim("bob"), "wrong_status");
    }
    check(&claimed(), claim("bob"), "already_claimed");
    check(&after(&in_review(), claim("bob")), claim("cyd"), "already_claimed");
    check(&in_review(), claim_as("bob", "general"), "already_claimed");
    check(&asked_back(), claim("bob"), "reserved");
    assert!(words(&claimed(), claim("bob")).contains("ada"));
    assert!(words(&asked_back(), claim("bob")).contains("ada"));
}

#[test]
fn claims_of_the_wrong_reviewer() {
    check(&pending(), claim("paul"), "own_proposal");
    check(&pending(), claim(""), "bad_reviewer_id");
    check(&pending(), claim(" \t"), "bad_reviewer_id");
    check(&pending(), claim(VALIDATOR), "bad_reviewer_id");
    check(&in_review(), claim_as("ada", "security"), "holds_another_seat");
    check(&in_review(), claim_as("bob", "poetry"), "no_such_seat");
    assert!(words(&in_review(), claim_as("bob", "poetry")).contains("general, security"));
}

#[test]
fn without_an_id_the_agent_type_is_the_proposer() {
    let mut proposal = super::proposal(&["general"], Rule::RequireAll, None);
    proposal.proposed.proposer.proposer_id = None;
    let review = super::propose(proposal);
    check(&review, claim("gsd-executor"), "own_proposal");
}

#[test]
fn claims_that_git_did_not_look_at() {
    check(&pending(), claim_with("ada", None, DiffCheck::Skipped), "content_moved");
    check(&pending(), claim_of(hash(9), "ada", None, applies()), "content_moved");
    check(&pending(), claim_of(hash(9), "ada", None, fails()), "content_moved");
}

#[test]
fn verdicts_from_behind_the_fence() {
    check(&claimed(), fenced(None, None), "no_fence");
    check(&claimed(), fenced(Some("bob"), None), "not_your_seat");
    check(&claimed(), fenced(Some("bob"), Some(1)), "not_your_seat");
    check(&claimed(), fenced(Some("paul"), None), "own_proposal");
    check(&claimed(), fenced(Some("ada"), Some(2)), "stale_claim");
    check(&claimed(), fenced(None, Some(0)), "stale_claim");
    check(&pending(), fenced(Some("ada"), None), "not_claimed");
    check(&auto_rejected(), fenced(Some("ada"), None), "not_claimed");

    let retaken = after_all(&claimed(), [release(1), claim("bob")]);
    check(&retaken, fenced(Some("ada"), Some(1)), "stale_claim");
    let stale = words(&retaken, fenced(Some("ada"), Some(1)));
    assert!(stale.contains("claim_generation 1") && stale.contains("now 3"), "{stale}");
}

#[test]
fn verdicts_on_another_content() {
    check(&claimed(), on_content(&hash(9).0), "stale_content");
    check(&claimed(), on_content(""), "stale_content");
    let accepted = after(&with_patch(), accept(&with_patch()));
    let content = accepted.round.content_hash.clone();
    let claimed_again = after(&accepted, claim_of(content, "ada", None, applies()));
    check(&claimed_again, on_content(&hash(1).0), "stale_content");
}

/// A reviewer in the middle of its work learns that the content has changed, however it names its claim.
#[test]
fn verdicts_on_a_content_that_was_revised_meanwhile() {
    let revised = after(&claimed(), revise(&claimed()));
    assert_eq!((revised.status, revised.round.number), (Status::Pending, 2));
    check(&revised, fenced(Some("ada"), Some(1)), "stale_content");
    check(&revised, fenced(None, Some(1)), "stale_content");
    check(&revised, fenced(Some("ada"), None), "stale_content");
    check(&revised, fenced(Some("bob"), None), "not_claimed");
    let retaken = after(&revised, claim_of(revised.round.content_hash.clone(), "bob", None, applies()));
    check(&retaken, fenced(Some("ada"), Some(1)), "stale_claim");
}

#[test]
fn verdicts_without_what_they_must_carry() {
    for word in [Verdict::ChangesRequested, Verdict::Comment, Verdict::Rejected] {
        check(&claimed(), reasoned(word, None), "reason_needed");
        check(&claimed(), reasoned(word, Some(" \n")), "reason_needed");
    }
    check(&claimed(), patched(Verdict::Approved, applies()), "counter_patch_not_allowed");
    check(&claimed(), patched(Verdict::Rejected, applies()), "counter_patch_not_allowed");
    check(&claimed(), patched(Verdict::Comment, fails()), "counter_patch_fails");
    check(&claimed(), patched(Verdict::ChangesRequested, DiffCheck::Skipped), "content_moved");
    assert!(words(&claimed(), patched(Verdict::Comment, fails())).contains("patch failed: a.rs:1"));
}

#[test]
fn verdicts_on_what_has_ended() {
    for from in [rejected(), cancelled(), closed()] {
        check(&from, says("ada", Verdict::ChangesRequested), "wrong_status");
        check(&from, fenced(None, None), "wrong_status");
        check(&from, fenced(None, Some(7)), "wrong_status");
    }
}

#[test]
fn messages_out_of_turn() {
    let asked = after(&claimed(), writes(Role::Reviewer, "which case?"));
    check(&asked, writes(Role::Reviewer, "and which key?"), "out_of_turn");
    let answered = after(&asked, writes(Role::Proposer, "all of them"));
    check(&answered, writes(Role::Proposer, "nearly"), "out_of_turn");
    let spoken = after(&changes_requested(), writes(Role::Reviewer, "see line 3"));
    check(&spoken, writes(Role::Reviewer, "and line 4"), "out_of_turn");
    let other_seat = after_all(&in_review(), [claim("bob"), writes_to("general", Role::Reviewer, "which case?")]);
    assert!(decide(&other_seat, writes_to("security", Role::Reviewer, "is it checked?")).is_ok());
}

#[test]
fn messages_from_or_to_the_wrong_one() {
    for from in [rejected(), cancelled(), closed()] {
        check(&from, writes(Role::Proposer, "hello"), "wrong_status");
        check(&from, writes(Role::Reviewer, "hello"), "wrong_status");
    }
    check(&closed(), super::operator_writes("hello"), "wrong_status");
    check(&pending(), writes(Role::Reviewer, "hello"), "not_claimed");
    check(&claimed(), signed(Role::Reviewer, "bob"), "not_your_seat");
    check(&claimed(), signed(Role::Proposer, "ada"), "not_the_proposer");
    check(&auto_rejected(), writes(Role::Reviewer, "hello"), "not_claimed");
    check(&in_review(), writes(Role::Proposer, "hello"), "persona_needed");
    check(&in_review(), writes_to("security", Role::Reviewer, "hello"), "not_claimed");
    check(&in_review(), writes_to("poetry", Role::Proposer, "hello"), "no_such_seat");
}

#[test]
fn revisions_that_come_too_late_or_from_another() {
    check(&closed(), revise(&closed()), "wrong_status");
    let from = changes_requested();
    check(&from, Command::Revise(Revise { completes: hash(9), ..revision(&from) }), "content_moved");
    let by_another = Revise { proposer_id: Some("ada".into()), ..revision(&from) };
    check(&from, Command::Revise(by_another), "not_the_proposer");

    let round = Round { request_key: Some("call 7".into()), ..revision(&from).round };
    let keyed = Revise { round, ..revision(&from) };
    let revised = after(&from, Command::Revise(keyed.clone()));
    check(
        &revised,
        Command::Revise(Revise { round: Round { content_hash: hash(9), ..keyed.round.clone() }, ..keyed }),
        "idempotency_key_reused",
    );
}

#[test]
fn counter_patches_that_are_not_there() {
    for from in [pending(), claimed(), in_review(), changes_requested()] {
        check(&from, accept(&from), "no_pending_counter_patch");
        check(&from, reject(), "no_pending_counter_patch");
    }
    for from in [rejected(), cancelled(), closed()] {
        check(&from, accept(&from), "wrong_status");
        check(&from, reject(), "wrong_status");
    }
    let rejected = after(&with_patch(), reject());
    check(&rejected, accept(&rejected), "no_pending_counter_patch");
    let offer_on_approved = patched(Verdict::Comment, applies());
    check(&approved(), offer_on_approved, "counter_patch_on_approved");
    let poetry = || Some("poetry".to_owned());
    check(&with_patch(), Command::RejectCounterPatch { by: None, persona: poetry() }, "no_such_seat");
    let accept = AcceptCounterPatch { persona: poetry(), ..acceptance(&with_patch(), None) };
    check(&with_patch(), Command::AcceptCounterPatch(accept), "no_such_seat");
}

#[test]
fn counter_patches_that_cannot_be_accepted_now() {
    let from = with_patch();
    let but = |change: fn(&mut PatchedContent)| {
        let mut accept = acceptance(&from, None);
        accept.patched.as_mut().map(change);
        Command::AcceptCounterPatch(accept)
    };
    check(&from, but(|patched| patched.diff.check = fails()), "counter_patch_fails");
    check(&from, but(|patched| patched.diff.check = DiffCheck::Skipped), "content_moved");
    check(&from, but(|patched| patched.patch = 99), "content_moved");
    check(&from, but(|patched| patched.replaces = hash(9)), "content_moved");
    let unprepared = AcceptCounterPatch { patched: None, ..acceptance(&from, None) };
    check(&from, Command::AcceptCounterPatch(unprepared), "content_moved");

    let approved = after_all(&claimed(), [offers("ada", Verdict::Comment), says("ada", Verdict::Approved)]);
    check(&approved, accept(&approved), "wrong_status");

    let offered =
        after_all(&in_review(), [claim("bob"), offers("ada", Verdict::Comment), offers("bob", Verdict::Comment)]);
    check(&offered, accept(&offered), "persona_needed");
    check(&offered, reject(), "persona_needed");
}

#[test]
fn releases_of_what_is_not_held() {
    check(&pending(), release(0), "stale_claim");
    check(&claimed(), release(2), "stale_claim");
    check(&after_all(&claimed(), [release(1), claim("bob")]), release(1), "stale_claim");
    check(&cancelled(), release(1), "wrong_status");
}

#[test]
fn ends_that_are_not_possible() {
    for from in [pending(), claimed(), in_review(), changes_requested()] {
        check(&from, close(), "wrong_status");
    }
    check(&approved(), Command::Close { by: Role::Reviewer, identity: None, landed_as: None }, "not_the_proposer");
    check(&closed(), Command::Close { by: Role::Reviewer, identity: None, landed_as: None }, "not_the_proposer");
    check(&rejected(), cancel(), "wrong_status");
    check(&closed(), cancel(), "wrong_status");
}

#[test]
fn a_reservation_lasts_one_lease() {
    let from = asked_back();
    let moment = later(&from);
    let taken = |tick| transition(Some(&from), claim("bob"), super::now(tick), &super::RULES).map(|t| t.next.status);
    assert_eq!(taken(moment.tick.0 - 1).map_err(|refusal| refusal.code()), Err("reserved"));
    assert_eq!(taken(moment.tick.0), Ok(Status::Claimed));
}

/// The words name the status, what was asked, and what is possible instead.
#[test]
fn a_refusal_helps() {
    let thrown_out = after_all(&claimed(), [offers("ada", Verdict::Comment), says("ada", Verdict::Rejected)]);
    let refusals = [
        words(&pending(), close()),
        words(&asked_back(), close()),
        words(&claimed(), close()),
        words(&in_review(), close()),
        words(&after(&in_review(), claim("bob")), close()),
        words(&changes_requested(), claim("bob")),
        words(&auto_rejected(), claim("bob")),
        words(&with_patch(), claim("bob")),
        words(&approved(), claim("bob")),
        words(&thrown_out, claim("bob")),
        words(&cancelled(), claim("bob")),
        words(&closed(), cancel()),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}
