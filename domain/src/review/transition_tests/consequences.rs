//! Tests what a command changes besides the status: leases, generations, votes, reservations and escalations.

use super::{
    LEASE, RULES, START, accept, acceptance, after, after_all, approved, asked_back, auto_rejected, cancel, cancelled,
    changes_requested, claim, claim_of, claim_with, claimed, close, decide, facts, fails, gone, hash, in_review, later,
    offers, proposal, propose, reject, release, revise, says, seats, with_patch, writes, writes_to,
};
use crate::{
    consensus::{Escalation, Rule},
    ids::VALIDATOR,
    review::{
        AddMessage, Command, DiffCheck, Event, PatchStatus, Refusal, Reply, Review, Reviewed, Role, Seat, Status,
        transition::{Transition, transition},
    },
    time::Tick,
    verdict::Verdict,
};

fn lease(review: &Review, seat: usize) -> Option<Tick> {
    review.seats[seat].claim.as_ref()?.lease_ends
}

/// The review at another moment; `START` is when all else happens.
#[track_caller]
fn at(tick: i64, review: &Review, command: Command) -> Transition {
    match transition(Some(review), command, super::now(tick), &super::RULES) {
        Ok(transition) => transition,
        Err(refusal) => panic!("refused: {refusal}"),
    }
}

#[test]
fn a_claim_names_its_holder_generation_and_end() {
    let review = claimed();
    assert_eq!((review.claimed_by(), review.claim_generation), (Some("ada"), 1));
    assert_eq!(lease(&review, 0), Some(START.tick.plus(LEASE)));
    assert!(matches!(review.round.diff, Some(ref diff) if matches!(diff.check, DiffCheck::Applies { .. })));
}

#[test]
fn a_claim_without_persona_takes_the_seat_kept_for_it() {
    let votes = [claim("bob"), says("ada", Verdict::Approved), offers("bob", Verdict::ChangesRequested)];
    let refused = after_all(&in_review(), votes);
    let first_seat_free = after(&refused, accept(&refused));
    let bob_asked_back = after(&first_seat_free, writes_to("security", Role::Proposer, "why?"));
    let claim_now = |by| claim_of(bob_asked_back.round.content_hash.clone(), by, None, super::applies());
    assert!(after(&bob_asked_back, claim_now("bob")).seats[1].is_held_by("bob"));
    assert!(after(&bob_asked_back, claim_now("cyd")).seats[0].is_held_by("cyd"));
}

#[test]
fn a_word_from_the_holder_renews_its_lease() {
    let renewed = Some(Tick(60_000).plus(LEASE));
    assert_eq!(lease(&at(60_000, &claimed(), says("ada", Verdict::Comment)).next, 0), renewed);
    assert_eq!(lease(&at(60_000, &claimed(), writes(Role::Reviewer, "reading")).next, 0), renewed);
    let unmoved = lease(&claimed(), 0);
    assert_eq!(lease(&at(60_000, &claimed(), writes(Role::Proposer, "well?")).next, 0), unmoved);
    assert_eq!(lease(&at(60_000, &claimed(), claim("ada")).next, 0), unmoved);
}

#[test]
fn a_lease_ends_at_its_tick_and_not_before() {
    let ends = later(&claimed()).tick.0;
    assert_eq!(at(ends - 1, &claimed(), Command::Expire).events, Vec::new());
    let expired = at(ends, &claimed(), Command::Expire);
    assert_eq!((expired.next.status, expired.next.claim_generation), (Status::Pending, 2));
    assert!(matches!(&expired.events[..], [one] if one.event.kind().as_str() == "claim_ended"));
}

#[test]
fn several_leases_that_end_together_raise_the_generation_one_by_one() {
    let both = after(&in_review(), claim("bob"));
    let expired = at(later(&both).tick.0, &both, Command::Expire);
    assert_eq!((expired.events.len(), expired.next.claim_generation), (2, 4));
}

#[test]
fn a_vote_owes_nothing_more() {
    let voted = after_all(&in_review(), [claim("bob"), says("ada", Verdict::Approved)]);
    assert_eq!(lease(&voted, 0), None);
    let left = decide(&voted, release(1));
    assert_eq!(decide(&voted, gone("ada")).map(|t| t.events), Ok(Vec::new()), "its vote stands");
    assert_eq!(left.map(|t| (t.events, t.next)), Ok((Vec::new(), voted)));
}

#[test]
fn an_automatic_rejection_speaks_with_gits_words_and_leaves_no_holder() {
    let review = auto_rejected();
    let words = "error: patch failed: a.rs:1";
    assert!(review.auto_rejected() && review.returned);
    assert_eq!(review.claimed_by(), Some(VALIDATOR));
    assert_eq!((review.holders().count(), review.claim_generation), (0, 1));
    assert_eq!(review.decision.and_then(|decision| decision.reason).as_deref(), Some(words));
    assert_eq!(review.round.diff, Some(facts(DiffCheck::Fails { message: words.into() })));
}

#[test]
fn without_a_check_the_answer_of_git_does_not_count() {
    let skipped = propose(proposal(&["general"], Rule::RequireAll, Some(facts(DiffCheck::Skipped))));
    for check in [DiffCheck::Skipped, fails(), super::applies()] {
        let review = after(&skipped, claim_with("ada", None, check));
        assert_eq!(review.status, Status::Claimed);
        assert_eq!(review.round.diff, skipped.round.diff);
    }
}

#[test]
fn an_approval_is_bound_to_the_content() {
    assert_eq!(approved().approved_hash, Some(hash(1)));
    assert_eq!(after(&approved(), close()).approved_hash, Some(hash(1)));
    assert_eq!(after(&approved(), says("ada", Verdict::ChangesRequested)).approved_hash, None);
    assert_eq!(after(&approved(), cancel()).approved_hash, None);
    assert_eq!(after(&approved(), says("ada", Verdict::Comment)).approved_hash, Some(hash(1)));
}

#[test]
fn a_revision_starts_over_and_keeps_the_rest() {
    let before = with_patch();
    let review = after(&before, revise(&before));
    assert_eq!((review.round.number, &review.round.content_hash), (2, &hash(1_000 + before.version)));
    assert_eq!(review.claim_generation, before.claim_generation + 1);
    assert_eq!((&review.decision, review.priority), (&None, before.priority));
    let reviewed = Some(Reviewed { round: 1, content_hash: hash(1) });
    let (last_act, last_act_round) = (before.seats[0].last_act, before.seats[0].last_act_round);
    assert_eq!(review.seats, vec![Seat { reviewed, last_act, last_act_round, ..Seat::new("general", START.at) }]);
    let again = after(&asked_back(), revise(&asked_back()));
    assert!(again.seats.iter().all(|seat| seat.claim.is_none() && seat.reservation.is_none()));
}

#[test]
fn a_revision_and_a_verdict_are_turns() {
    let spoken = after(&changes_requested(), writes(Role::Reviewer, "see line 3"));
    let content = hash(1_000 + spoken.version);
    let next_round = after_all(&spoken, [revise(&spoken), claim_of(content, "bob", None, super::applies())]);
    assert!(decide(&next_round, writes(Role::Reviewer, "and line 4?")).is_ok());

    let asked_twice = after_all(&asked_back(), [claim("ada"), says("ada", Verdict::ChangesRequested)]);
    assert!(decide(&asked_twice, writes(Role::Proposer, "still: why?")).is_ok());
}

#[test]
fn a_question_keeps_round_reason_and_counter_patch() {
    let review = after(&with_patch(), writes(Role::Proposer, "why not shorter?"));
    assert_eq!((review.status, review.round.number, review.returned), (Status::Pending, 1, true));
    assert_eq!(review.claim_generation, with_patch().claim_generation + 1);
    assert_eq!(review.decision, with_patch().decision);
    assert_eq!(review.seats[0].patch, with_patch().seats[0].patch);
    let reserved = review.seats[0].reservation.as_ref().map(|r| (r.reviewer.as_str(), r.until));
    assert_eq!(reserved, Some(("ada", START.tick.plus(LEASE))));
    assert!(after(&review, claim("ada")).seats[0].patch.is_some());
}

#[test]
fn a_counter_patch_outlives_its_reviewer() {
    let review = after_all(&claimed(), [offers("ada", Verdict::Comment), release(1)]);
    assert_eq!(review.seats[0].patch.as_ref().map(|patch| patch.by.as_str()), Some("ada"));
    let replaced = after_all(&review, [claim("bob"), offers("bob", Verdict::Comment)]);
    assert_eq!(replaced.seats[0].patch.as_ref().map(|patch| (patch.id, patch.by.as_str())), Some((6, "bob")));
}

#[test]
fn an_accepted_counter_patch_becomes_the_content() {
    let before = with_patch();
    let review = after(&before, accept(&before));
    assert_eq!(review.round.content_hash, hash(2_000 + before.version));
    assert_eq!((review.round.number, review.status), (1, Status::Pending));
    assert_eq!(review.seats[0].patch.as_ref().map(|patch| patch.status), Some(PatchStatus::Accepted));
    assert_eq!(review.claim_generation, before.claim_generation + 1);
    assert_eq!(review.seats[0].reservation.as_ref().map(|kept| kept.reviewer.as_str()), Some("ada"));
    assert_eq!(decide(&review, accept(&review)).map(|again| again.events), Ok(Vec::new()), "it is done already");
    let content = review.round.content_hash.clone();
    let reconsidered =
        after_all(&review, [claim_of(content, "ada", None, super::applies()), says("ada", Verdict::Approved)]);
    assert_eq!(reconsidered.approved_hash, Some(review.round.content_hash));
}

#[test]
fn accepting_a_counter_patch_undoes_approvals_and_half_done_reviews() {
    let three = after_all(&seats(3, Rule::RequireAll), [claim("ada"), claim("bob"), claim("cyd")]);
    let before = after_all(&three, [offers("ada", Verdict::Comment), says("bob", Verdict::Approved)]);
    let review = after(&before, accept(&before));
    let held: Vec<_> = review.holders().collect();
    assert_eq!((held, review.status), (vec!["ada"], Status::InReview));
    assert_eq!((review.claim_generation, review.decision), (4, None));
    assert_eq!(review.seats[1].vote, None);
}

#[test]
fn a_rejected_counter_patch_changes_nothing_else() {
    let before = with_patch();
    let review = after(&before, super::reject());
    let mut expected = before;
    expected.version += 1;
    expected.seats[0].asked_proposer = None;
    expected.seats[0].exchanges = 1;
    if let Some(patch) = &mut expected.seats[0].patch {
        patch.status = PatchStatus::Rejected;
    }
    assert_eq!(review, expected);
    assert_eq!(decide(&review, super::reject()).map(|again| again.events), Ok(Vec::new()), "it is done already");
}

#[test]
fn one_of_two_counter_patches_is_accepted_by_its_seat() {
    let both =
        after_all(&in_review(), [claim("bob"), offers("ada", Verdict::Comment), offers("bob", Verdict::Comment)]);
    let review = after(&both, Command::AcceptCounterPatch(acceptance(&both, Some("security"))));
    assert_eq!(review.seats.iter().map(|seat| seat.pending_patch().is_some()).collect::<Vec<_>>(), [true, false]);
    assert_eq!(review.holders().collect::<Vec<_>>(), ["bob"]);
}

#[test]
fn a_decided_review_stays_so_when_a_reviewer_leaves_without_a_vote() {
    let enough =
        after_all(&seats(3, Rule::MinApprovals(1)), [claim("ada"), claim("bob"), says("ada", Verdict::Approved)]);
    assert_eq!((enough.status, lease(&enough, 1), enough.next_deadline()), (Status::Approved, None, None));
    let left = after(&enough, release(2));
    assert_eq!((left.status, left.approved_hash.as_ref()), (Status::Approved, Some(&hash(1))));

    let spoke = after(&enough, writes_to("security", Role::Reviewer, "wait"));
    assert_eq!(spoke.next_deadline(), None);
    assert_eq!(after(&enough, says("bob", Verdict::Rejected)).status, Status::Rejected);

    let closed = after(&enough, close());
    assert_eq!(decide(&closed, release(2)).map(|t| (t.events, t.next)), Ok((Vec::new(), closed.clone())));
}

#[test]
fn a_reopened_review_gives_time_to_those_who_owe_a_vote() {
    let enough =
        after_all(&seats(2, Rule::MinApprovals(1)), [claim("ada"), claim("bob"), says("ada", Verdict::Approved)]);
    let reopened = at(60_000, &enough, says("ada", Verdict::ChangesRequested)).next;
    assert_eq!(reopened.status, Status::InReview);
    assert_eq!((lease(&reopened, 0), lease(&reopened, 1)), (None, Some(Tick(60_000).plus(LEASE))));
}

#[test]
fn cancelling_detaches_every_reviewer() {
    let both = after(&in_review(), claim("bob"));
    let Ok(cancelled_now) = decide(&both, cancel()) else { panic!("refused") };
    assert!(matches!(&cancelled_now.events[0].event, Event::Cancelled { detached, .. } if detached == &["ada", "bob"]));
    assert_eq!(cancelled_now.next.holders().count(), 0);
    assert_eq!(cancelled_now.next.claim_generation, both.claim_generation + 1);
    assert_eq!(cancelled().cancel_reason.as_deref(), Some("not needed"));
}

#[test]
fn from_the_last_round_on_a_person_is_asked_for() {
    let in_last_round = || {
        let diff = facts(DiffCheck::Unknown { why: "not asked yet".into() });
        let mut proposal = proposal(&["general"], Rule::RequireAll, Some(diff));
        proposal.proposed.policy.max_rounds = 1;
        propose(proposal)
    };
    assert_eq!((changes_requested().escalation(), auto_rejected().escalation()), (None, None));
    let last = after(&in_last_round(), claim("ada"));
    assert_eq!(after(&last, says("ada", Verdict::ChangesRequested)).escalation(), Some(Escalation::Rounds));
    assert_eq!(after(&last, says("ada", Verdict::Approved)).escalation(), None);
    assert_eq!(after(&in_last_round(), claim_with("ada", None, fails())).escalation(), Some(Escalation::Rounds));
}

#[test]
fn a_message_is_recorded_under_its_senders_name() {
    let sender = |from: &Review, command| match decide(from, command) {
        Ok(transition) => transition.events[0].event.actor().map(ToOwned::to_owned),
        Err(refusal) => panic!("refused: {refusal}"),
    };
    assert_eq!(sender(&claimed(), writes(Role::Reviewer, "hello")).as_deref(), Some("ada"));
    assert_eq!(sender(&claimed(), writes(Role::Proposer, "hello")).as_deref(), Some("paul"));
    let signed = AddMessage { by: Some("ada".into()), ..super::message(Role::Reviewer, "hello") };
    assert_eq!(sender(&in_review(), Command::AddMessage(signed)).as_deref(), Some("ada"));
}

#[test]
fn the_log_says_who_did_it() {
    let actor = |from: &Review, command| match decide(from, command) {
        Ok(transition) => transition.events[0].event.actor().map(ToOwned::to_owned),
        Err(refusal) => panic!("refused: {refusal}"),
    };
    let paul = Some("paul".to_owned());
    assert_eq!(actor(&changes_requested(), revise(&changes_requested())), paul);
    assert_eq!(actor(&with_patch(), accept(&with_patch())), paul);
    assert_eq!(actor(&with_patch(), reject()), paul);
    assert_eq!(actor(&approved(), close()), paul);
    let cancels = |by: Option<&str>| Command::Cancel { by: by.map(Into::into), reason: "not needed".into() };
    assert_eq!(actor(&claimed(), cancels(None)), paul);
    let olga = || Some("olga".to_owned());
    assert_eq!(actor(&claimed(), cancels(Some("olga"))), olga());
    let accept = super::AcceptCounterPatch { by: olga(), ..super::acceptance(&with_patch(), None) };
    assert_eq!(actor(&with_patch(), Command::AcceptCounterPatch(accept)), olga());
    assert_eq!(actor(&with_patch(), Command::RejectCounterPatch { by: olga(), persona: None }), olga());
    assert_eq!(actor(&approved(), Command::Close { by: Role::Proposer, identity: olga(), landed_as: None }), olga());
    let anonymous = super::Revise { proposer_id: None, ..super::revision(&changes_requested()) };
    assert_eq!(actor(&changes_requested(), Command::Revise(anonymous)), paul);
    // The broker's own doing has no actor.
    let ended = transition(Some(&claimed()), Command::Expire, later(&claimed()), &RULES).map(|ended| ended.events);
    assert!(ended.is_ok_and(|events| events.len() == 1 && events[0].event.actor().is_none()));
}

#[test]
fn the_reply_names_the_seat_that_the_caller_acted_for() {
    let review = after(&in_review(), super::claim_as("bob", "security"));
    let unnamed = |generation| {
        super::give(super::GiveVerdict {
            by: None,
            generation: Some(generation),
            ..super::verdict("ada", Verdict::Approved)
        })
    };
    for (command, persona) in [
        (unnamed(1), "general"),
        (unnamed(2), "security"),
        (release(2), "security"),
        (writes_to("general", Role::Reviewer, "hello"), "general"),
        (claim("bob"), "security"),
    ] {
        let reply = decide(&review, command.clone()).map(|taken| taken.reply);
        let seat = reply.as_ref().ok().and_then(|reply| reply.seat(&review));
        assert_eq!(seat.map(|seat| seat.persona.as_str()), Some(persona), "{command:?}");
    }
    assert_eq!(decide(&review, super::cancel()).map(|taken| taken.reply), Ok(Reply::Done));
}

#[test]
fn a_command_without_a_name_is_known_by_its_generation() {
    let verdict = |by: Option<&str>| {
        super::give(super::GiveVerdict { by: by.map(Into::into), ..super::verdict("ada", Verdict::Approved) })
    };
    for unnamed in [verdict(None), release(1), writes_to("general", Role::Reviewer, "hello")] {
        assert!(unnamed.is_unnamed_reviewer(), "{unnamed:?}");
    }
    for other in [verdict(Some("ada")), writes_to("general", Role::Proposer, "hello"), close()] {
        assert!(!other.is_unnamed_reviewer(), "{other:?}");
    }
}

/// The same key creates a review once. What it was created from decides whether a later call is a repeat.
#[test]
fn a_repeated_proposal_is_answered_and_another_one_is_refused() {
    let first = proposal(&["general"], Rule::RequireAll, None);
    let created = propose(first.clone());
    let again = |change: fn(&mut super::Propose)| {
        let mut again = first.clone();
        change(&mut again);
        decide(&created, Command::Propose(Box::new(again))).map(|taken| (taken.events.len(), taken.reply))
    };
    assert_eq!(again(|_| ()), Ok((0, Reply::Submitted)));
    let key_reused = Err(Refusal::IdempotencyKeyReused { number: created.number });
    assert_eq!(again(|again| again.proposed.personas.push("security".into())), key_reused);
    assert_eq!(again(|again| again.proposed.proposer.phase = "4".into()), key_reused);
    // Prepared before the review existed: it must be prepared again.
    assert_eq!(again(|again| again.proposed.round.content_hash = hash(9)), Err(Refusal::ContentMoved));
    let prepared_again = |again: &mut super::Propose| {
        again.proposed.round.content_hash = hash(9);
        again.first_content = Some(hash(1));
    };
    assert_eq!(again(prepared_again), key_reused);
}

#[test]
fn a_proposal_is_recognised_after_a_revision() {
    let first = proposal(&["general"], Rule::RequireAll, None);
    let revised = after_all(
        &propose(first.clone()),
        [claim("ada"), says("ada", Verdict::ChangesRequested), super::revise(&propose(first.clone()))],
    );
    assert_eq!(revised.round.number, 2);
    let again = super::Propose { first_content: Some(hash(1)), ..first };
    let answer = decide(&revised, Command::Propose(Box::new(again))).map(|taken| taken.events.len());
    assert_eq!(answer, Ok(0));
}

#[test]
fn a_review_that_was_not_proposed_refuses_every_command() {
    let refused = transition(None, claim("ada"), START, &RULES).err();
    assert_eq!(refused, Some(Refusal::UnknownReview));
}

#[test]
fn seats_are_one_per_persona_and_never_none() {
    let names = |personas: &[&str]| propose(proposal(personas, Rule::MinApprovals(1), None)).personas();
    assert_eq!(names(&["security", "general", "security"]), ["security", "general"]);
    assert_eq!(names(&[]), ["general"]);
}
