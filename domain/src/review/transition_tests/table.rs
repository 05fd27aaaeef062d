//! Tests the status changes one by one: a table with the status before, the command and the status after.

use super::{
    accept, after, after_all, applies, approved, asked_back, auto_rejected, cancel, cancelled, changes_requested,
    claim, claim_as, claim_of, claim_with, claimed, close, decide, fails, gone, hash, in_review, later, offers,
    pending, proposal, propose, reject, rejected, release, revise, says, seats, with_patch, writes, writes_to,
};
use crate::{
    consensus::Rule,
    review::{
        Command, Review, Role,
        Status::{self, Approved, Cancelled, ChangesRequested, Claimed, Closed, InReview, Pending, Rejected},
        transition,
    },
    verdict::Verdict,
};

#[track_caller]
fn check(from: &Review, command: Command, expected: Status) {
    match decide(from, command) {
        Ok(transition) => {
            assert_eq!(transition.next.status, expected);
            assert!(!transition.events.is_empty(), "nothing happened");
        }
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

/// What runs out by itself, at the moment it does.
#[track_caller]
fn check_expiry(from: &Review, expected: Status) {
    match transition(Some(from), Command::Expire, later(from), &super::RULES) {
        Ok(transition) => assert_eq!(transition.next.status, expected),
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

#[test]
fn a_proposal_is_pending_in_round_1() {
    let review = propose(proposal(&["general"], Rule::RequireAll, None));
    assert_eq!((review.status, review.round.number, review.version, review.claim_generation), (Pending, 1, 1, 0));
}

#[test]
fn claims() {
    check(&pending(), claim("ada"), Claimed);
    check(&pending(), claim_with("ada", None, fails()), ChangesRequested);
    check(&seats(2, Rule::RequireAll), claim("ada"), InReview);
    check(&in_review(), claim("bob"), InReview);
    check(&in_review(), claim_as("bob", "security"), InReview);
    check(&asked_back(), claim("ada"), Claimed);
}

#[test]
fn lost_claims() {
    check(&claimed(), release(1), Pending);
    check(&claimed(), gone("ada"), Pending);
    check(&asked_back(), gone("ada"), Pending);
    check_expiry(&claimed(), Pending);

    let both = after(&in_review(), claim("bob"));
    let voted = after(&both, says("ada", Verdict::Approved));
    check(&in_review(), release(1), Pending);
    check(&both, release(1), InReview);
    check(&voted, release(2), InReview);
    check(&voted, gone("bob"), InReview);
    check_expiry(&in_review(), Pending);
    check_expiry(&both, Pending);
    check_expiry(&voted, InReview);
}

#[test]
fn verdicts_of_one_seat() {
    check(&claimed(), says("ada", Verdict::Comment), Claimed);
    check(&claimed(), says("ada", Verdict::Approved), Approved);
    check(&claimed(), says("ada", Verdict::ChangesRequested), ChangesRequested);
    check(&claimed(), says("ada", Verdict::Rejected), Rejected);
}

#[test]
fn verdicts_of_several_seats() {
    let both = after(&in_review(), claim("bob"));
    check(&both, says("ada", Verdict::Comment), InReview);
    check(&both, says("ada", Verdict::Approved), InReview);
    check(&both, says("ada", Verdict::ChangesRequested), InReview);
    check(&both, says("ada", Verdict::Rejected), Rejected);

    let yes = after(&both, says("ada", Verdict::Approved));
    check(&yes, says("bob", Verdict::Approved), Approved);
    check(&yes, says("bob", Verdict::ChangesRequested), ChangesRequested);
    check(&yes, says("bob", Verdict::Rejected), Rejected);
    check(&yes, says("ada", Verdict::ChangesRequested), InReview);

    let no = after(&both, says("ada", Verdict::ChangesRequested));
    check(&no, says("bob", Verdict::Approved), ChangesRequested);

    check(&after(&seats(3, Rule::MinApprovals(1)), claim("ada")), says("ada", Verdict::Approved), Approved);
    let two_of_three =
        after_all(&seats(3, Rule::Majority), [claim("ada"), claim("bob"), says("ada", Verdict::Approved)]);
    check(&two_of_three, says("bob", Verdict::Approved), Approved);
}

#[test]
fn revisions() {
    check(&changes_requested(), revise(&changes_requested()), Pending);
    check(&auto_rejected(), revise(&auto_rejected()), Pending);
    check(&asked_back(), revise(&asked_back()), Pending);
    let revised = after(&changes_requested(), revise(&changes_requested()));
    check(&revised, revise(&revised), Pending);
}

#[test]
fn a_question_instead_of_a_revision() {
    check(&changes_requested(), writes(Role::Proposer, "why?"), Pending);
    check(&auto_rejected(), writes(Role::Proposer, "against which base?"), Pending);
    let answered = after_all(&asked_back(), [claim("ada"), says("ada", Verdict::ChangesRequested)]);
    check(&answered, writes(Role::Proposer, "I still think it is right"), Pending);

    let votes = [says("ada", Verdict::ChangesRequested), says("bob", Verdict::Approved)];
    let both = after_all(&after(&in_review(), claim("bob")), votes);
    check(&both, writes_to("general", Role::Proposer, "why?"), InReview);
}

#[test]
fn changes_of_mind() {
    for from in [changes_requested(), approved()] {
        check(&from, says("ada", Verdict::Comment), from.status);
        check(&from, says("ada", Verdict::Rejected), Rejected);
    }
    check(&changes_requested(), says("ada", Verdict::Approved), Approved);
    check(&approved(), says("ada", Verdict::ChangesRequested), ChangesRequested);

    let one_is_enough = after_all(&seats(2, Rule::MinApprovals(1)), [claim("ada"), says("ada", Verdict::Approved)]);
    check(&one_is_enough, says("ada", Verdict::ChangesRequested), InReview);
}

#[test]
fn messages() {
    for from in [claimed(), in_review(), changes_requested(), approved()] {
        check(&from, writes_to("general", Role::Reviewer, "look at line 3"), from.status);
    }
    for from in [claimed(), in_review(), approved()] {
        check(&from, writes_to("general", Role::Proposer, "it is on purpose"), from.status);
    }
}

#[test]
fn counter_patches() {
    let commented = after(&claimed(), offers("ada", Verdict::Comment));
    check(&with_patch(), accept(&with_patch()), Pending);
    check(&with_patch(), reject(), ChangesRequested);
    check(&commented, accept(&commented), Claimed);
    check(&commented, reject(), Claimed);

    let asked_about = after(&with_patch(), writes(Role::Proposer, "why not shorter?"));
    check(&asked_about, accept(&asked_about), Pending);
    check(&asked_about, reject(), Pending);

    let offered = after_all(&in_review(), [offers("ada", Verdict::Comment), claim("bob")]);
    check(&offered, accept(&offered), InReview);
    check(&after(&commented, says("ada", Verdict::Approved)), reject(), Approved);

    let accepted = after(&with_patch(), accept(&with_patch()));
    let content = accepted.round.content_hash.clone();
    check(&after(&accepted, claim_of(content, "ada", None, applies())), says("ada", Verdict::Approved), Approved);
    check(&accepted, revise(&accepted), Pending);
}

#[test]
fn ends() {
    check(&approved(), close(), Closed);
    check(&rejected(), close(), Closed);
    check(&cancelled(), close(), Closed);
    for from in [pending(), asked_back(), claimed(), in_review(), changes_requested(), auto_rejected(), approved()] {
        check(&from, cancel(), Cancelled);
    }
}

/// A call repeated after a lost answer: the same answer again, and no second effect.
#[test]
fn repeats() {
    #[track_caller]
    fn check(from: &Review, command: &Command) {
        let once = after(from, command.clone());
        match decide(&once, command.clone()) {
            Ok(again) => assert_eq!((again.next, again.events), (once, Vec::new())),
            Err(refusal) => panic!("refused: {refusal}"),
        }
    }
    check(&pending(), &claim("ada"));
    check(&in_review(), &claim_as("bob", "security"));
    check(&claimed(), &says("ada", Verdict::Comment));
    for word in [Verdict::Approved, Verdict::ChangesRequested, Verdict::Rejected] {
        check(&claimed(), &says("ada", word));
    }
    check(&claimed(), &offers("ada", Verdict::ChangesRequested));
    check(&claimed(), &writes(Role::Proposer, "it is on purpose"));
    check(&claimed(), &writes(Role::Reviewer, "look at line 3"));
    check(&changes_requested(), &writes(Role::Proposer, "why?"));
    check(&pending(), &cancel());
    check(&approved(), &close());
    let mut keyed = super::revision(&changes_requested());
    keyed.round.request_key = Some("call 7".into());
    check(&changes_requested(), &Command::Revise(keyed));
}

/// The answer to a message may overtake the answer to its sender.
#[test]
fn a_message_is_known_again_after_the_other_side_has_spoken() {
    #[track_caller]
    fn check(now: &Review, command: Command) {
        match decide(now, command) {
            Ok(again) => assert_eq!((&again.next, again.events), (now, Vec::new())),
            Err(refusal) => panic!("refused: {refusal}"),
        }
    }
    let ask = || writes(Role::Reviewer, "on purpose?");
    let answer = || writes(Role::Proposer, "yes");
    let answered = after_all(&claimed(), [ask(), answer()]);
    check(&answered, ask());
    check(&answered, answer());
    // Also where the status has moved on, and no new message would be taken.
    let refused = after(&answered, says("ada", Verdict::Rejected));
    check(&refused, ask());
    check(&refused, answer());
    // Only the last words of a side are known: older ones are said anew.
    let further = after_all(&answered, [writes(Role::Reviewer, "why?"), writes(Role::Proposer, "for you")]);
    assert_eq!(after(&further, ask()).version, further.version + 1);
}

#[test]
fn the_same_words_may_be_said_in_every_round() {
    let first = after_all(
        &claimed(),
        [writes(Role::Reviewer, "please fix"), writes(Role::Proposer, "fixed"), says("ada", Verdict::ChangesRequested)],
    );
    let revised = after(&first, revise(&first));
    let second = after(&revised, claim_of(revised.round.content_hash.clone(), "ada", None, applies()));
    let told_again = after(&second, writes(Role::Reviewer, "please fix"));
    let answered = after(&told_again, writes(Role::Proposer, "fixed"));
    assert_eq!((told_again.version, answered.version), (second.version + 1, second.version + 2));
}

#[test]
fn a_repeat_is_known_by_more_than_its_words() {
    // another caller
    let taken_over = after_all(&claimed(), [writes(Role::Reviewer, "reading"), release(1), claim("bob")]);
    assert_eq!(after(&taken_over, writes(Role::Reviewer, "reading")).version, taken_over.version + 1);
    // another generation
    let again = after_all(&claimed(), [says("ada", Verdict::Comment), release(1), claim("ada")]);
    check(&again, says("ada", Verdict::Comment), Claimed);
    // another content
    let on = |content| {
        let verdict = super::verdict("ada", Verdict::ChangesRequested);
        super::give(super::GiveVerdict { content_hash: Some(content), ..verdict })
    };
    let refused_before = after_all(&claimed(), [offers("ada", Verdict::Comment), on(hash(1).0)]);
    let accepted = after(&refused_before, accept(&refused_before));
    let content = accepted.round.content_hash.clone();
    let accepted = after(&accepted, claim_of(content, "ada", None, applies()));
    check(&accepted, on(accepted.round.content_hash.0.clone()), ChangesRequested);
}
