//! Tests `waiting_on`, the list of who must act next: it is never empty for an open review, every action it names is
//! allowed, and taking these actions always ends the review.

use super::{
    KEEP_SEAT, RULES, acceptance, add_seat, after, after_all, applies, approved, asked_back, cancel, changes_requested,
    claim, claim_of, claimed, close, closed,
    diagram::{explore, worlds},
    in_review, later, message, offers, operator_writes, pending, proposal, propose, rejected, release, revise, says,
    seats, take_over, turn_ended, with_patch, writes, writes_to,
};
use crate::{
    consensus::{Escalation, Rule},
    credential::Authority,
    finding::RequestedStatus,
    review::{
        AddMessage, Command, GiveVerdict, OfferedPatch, Recipient, Refusal, ReleaseSeat, Review, Role, Status,
        UpdateFinding, transition,
    },
    time::Now,
    verdict::Verdict,
    waiting_on::{Asker, Turn, TurnReason, TurnTool, waiting_on},
};
use proptest::{collection::vec, prelude::*};

/// Who must act, for which seat, why, and how.
fn turns(review: &Review) -> Vec<String> {
    let turn = |turn: Turn| {
        let name = turn.name.as_deref().unwrap_or("any");
        let seat = turn.seat.as_deref().unwrap_or("-");
        format!("{} {name} {seat}: {} -> {}", turn.who, turn.why, turn.tool)
    };
    waiting_on(review).into_iter().map(turn).collect()
}

#[track_caller]
fn check(review: &Review, expected: &[&str]) {
    assert_eq!(turns(review), expected);
}

/// What a party does that follows `turn`. `choice` decides between the verdicts, and whether a proposer asks instead.
pub(super) fn follow(review: &Review, turn: &Turn, choice: u8) -> Command {
    let name = turn.name.clone();
    let fresh = format!("at version {}", review.version);
    let asks = |persona| Command::AddMessage(AddMessage { persona, ..message(Role::Proposer, &fresh) });
    match turn.tool {
        TurnTool::ClaimReview => {
            let is_free = |by: &&str| {
                let holds = review.holders().any(|held| held == *by);
                !holds && review.seats.iter().all(|seat| seat.assigned.as_deref() != Some(*by))
            };
            let free = || ["ada", "bob", "cyd", "dan"].into_iter().find(is_free);
            let by = name.unwrap_or_else(|| free().unwrap_or("zoe").into());
            claim_of(review.round.content_hash.clone(), &by, turn.seat.as_deref(), applies())
        }
        TurnTool::SubmitVerdict => {
            let by = name.unwrap_or_default();
            let patch = || Some(OfferedPatch { check: Some(applies()), files: Vec::new() });
            let given = |verdict, patch| {
                let reason = Some(fresh.clone());
                super::give(GiveVerdict { reason, patch, ..super::verdict(&by, verdict) })
            };
            match choice % 6 {
                0 => given(Verdict::Approved, None),
                1 => given(Verdict::ChangesRequested, patch()),
                2 => given(Verdict::Comment, patch()),
                3 => given(Verdict::Rejected, None),
                4 => Command::AddMessage(AddMessage {
                    by: Some(by),
                    persona: turn.seat.clone(),
                    ..message(Role::Reviewer, &fresh)
                }),
                _ => given(Verdict::ChangesRequested, None),
            }
        }
        TurnTool::AddMessage if turn.who == Authority::Operator => operator_writes(&fresh),
        TurnTool::AddMessage => {
            let role = if turn.who == Authority::Proposer { Role::Proposer } else { Role::Reviewer };
            Command::AddMessage(AddMessage { by: name, persona: turn.seat.clone(), ..message(role, &fresh) })
        }
        TurnTool::UpdateIssue => {
            let answered = |persona: &str| {
                let mut findings = review.findings.iter();
                findings.find(|finding| finding.persona == persona && finding.reply.is_some())
            };
            let number = turn.seat.as_deref().and_then(answered).map_or_else(Default::default, |found| found.number);
            Command::UpdateFinding(UpdateFinding {
                number,
                role: Authority::Reviewer,
                by: name,
                requested: RequestedStatus::Open,
                duplicate_of: None,
                note: Some(fresh),
            })
        }
        TurnTool::CreateReview if choice % 5 == 1 => asks(review.seats.first().map(|seat| seat.persona.clone())),
        TurnTool::CreateReview => revise(review),
        TurnTool::AcceptCounterPatch if choice % 5 == 1 => asks(turn.seat.clone()),
        TurnTool::AcceptCounterPatch if choice % 5 == 2 => {
            Command::RejectCounterPatch { by: name, persona: turn.seat.clone() }
        }
        TurnTool::AcceptCounterPatch => Command::AcceptCounterPatch(acceptance(review, turn.seat.as_deref())),
        TurnTool::CloseReview => close(),
    }
}

/// Everything that [`waiting_on`] names would change the review.
pub(super) fn turns_can_be_taken(review: &Review, moment: Now) -> Result<(), String> {
    for turn in waiting_on(review) {
        let taken = transition(Some(review), follow(review, &turn, 0), moment, &super::RULES);
        match taken {
            Ok(taken) if !taken.events.is_empty() => {}
            Ok(_) => return Err(format!("{turn:?} changes nothing in {review:#?}")),
            Err(refusal) => return Err(format!("{turn:?} is refused ({refusal}) in {review:#?}")),
        }
    }
    Ok(())
}

#[test]
fn what_is_named_can_be_done_in_every_state() {
    for world in worlds() {
        explore(world, |review, _| {
            assert_eq!(turns_can_be_taken(review, super::START), Ok(()));
        });
    }
}

proptest! {
    /// Parties that do only what the list names, and an operator that cancels what escalates, reach the end.
    #[test]
    fn parties_that_follow_the_list_reach_an_end(
        seats in 1..=3_usize,
        choices in vec((proptest::num::u8::ANY, 0..4_usize), 0..60),
    ) {
        let mut review = propose(proposal(&["general", "security", "tests"][..seats], Rule::RequireAll, None));
        let mut choices = choices.into_iter();
        for _ in 0..400 {
            let turns = waiting_on(&review);
            if turns.is_empty() {
                break;
            }
            // Later the reviewers only ever ask for changes, the worst that they can do.
            let (choice, index) = choices.next().unwrap_or((5, 0));
            let turn = &turns[index % turns.len()];
            let command = if turn.who == Authority::Operator { cancel() } else { follow(&review, turn, choice) };
            let taken = transition(Some(&review), command, super::START, &super::RULES);
            prop_assert!(taken.is_ok(), "{turn:?}: {taken:?}");
            review = taken.map(|taken| taken.next).unwrap_or(review);
        }
        prop_assert_eq!(review.status, Status::Closed);
    }
}

#[test]
fn each_status_names_its_party() {
    check(&pending(), &["reviewer any general: unclaimed -> claim_review"]);
    check(&claimed(), &["reviewer ada general: reviewing -> submit_verdict"]);
    check(&changes_requested(), &["proposer paul -: changes_requested -> create_review"]);
    check(&super::auto_rejected(), &["proposer paul -: diff_does_not_apply -> create_review"]);
    check(&approved(), &["proposer paul -: approved -> close_review"]);
    check(&rejected(), &["proposer paul -: rejected -> close_review"]);
    check(&super::cancelled(), &["proposer paul -: cancelled -> close_review"]);
    check(&closed(), &[]);
    let two = ["reviewer ada general: reviewing -> submit_verdict", "reviewer any security: unclaimed -> claim_review"];
    check(&in_review(), &two);
}

#[test]
fn a_question_is_the_proposers_turn_and_its_answer_the_reviewers() {
    let asked = after(&claimed(), writes(Role::Reviewer, "on purpose?"));
    check(&asked, &["proposer paul general: message -> add_message"]);
    let answered = after(&asked, writes(Role::Proposer, "yes"));
    check(&answered, &["reviewer ada general: message -> submit_verdict"]);
    // A vote needs no answer.
    check(&after(&asked, says("ada", Verdict::Approved)), &["proposer paul -: approved -> close_review"]);
}

#[test]
fn a_question_after_a_request_for_changes_goes_to_the_same_reviewer() {
    check(&asked_back(), &["reviewer ada general: message -> claim_review"]);
    check(&after(&asked_back(), claim("ada")), &["reviewer ada general: message -> submit_verdict"]);
    let expired = transition(Some(&asked_back()), Command::Expire, later(&asked_back()), &super::RULES);
    check(&expired.map(|t| t.next).unwrap_or_else(|_| pending()), &["reviewer any general: message -> claim_review"]);
}

#[test]
fn a_counter_patch_is_the_proposers_turn_and_its_answer_the_reviewers() {
    let offered = after(&claimed(), offers("ada", Verdict::Comment));
    let decide = "proposer paul general: counter_patch_offered -> accept_counter_patch";
    check(&offered, &[decide]);
    check(&with_patch(), &[decide]);
    let accepted = after(&offered, super::accept(&offered));
    check(&accepted, &["reviewer ada general: counter_patch_accepted -> submit_verdict"]);
    let accepted = after(&with_patch(), super::accept(&with_patch()));
    check(&accepted, &["reviewer ada general: counter_patch_accepted -> claim_review"]);
    let rejected = after(&offered, super::reject());
    check(&rejected, &["reviewer ada general: counter_patch_rejected -> submit_verdict"]);
    check(&after(&with_patch(), super::reject()), &["proposer paul -: changes_requested -> create_review"]);
}

#[test]
fn a_question_about_a_counter_patch_goes_to_its_reviewer_first() {
    let offered = after(&claimed(), offers("ada", Verdict::Comment));
    let asked = after(&offered, writes(Role::Proposer, "why so?"));
    check(&asked, &["reviewer ada general: message -> submit_verdict"]);
    let decide = "proposer paul general: counter_patch_offered -> accept_counter_patch";
    check(&after(&asked, writes(Role::Reviewer, "it is shorter")), &[decide]);
    let asked = after(&with_patch(), writes(Role::Proposer, "why so?"));
    check(&asked, &["reviewer ada general: message -> claim_review"]);
    assert!(super::decide(&asked, super::accept(&asked)).is_ok(), "it can be accepted meanwhile");
    // A reviewer that has voted answers with a message.
    let bob = "reviewer bob security: reviewing -> submit_verdict";
    let voted = after_all(&in_review(), [claim("bob"), offers("ada", Verdict::ChangesRequested)]);
    let asked = after(&voted, writes_to("general", Role::Proposer, "why so?"));
    check(&asked, &["reviewer ada general: message -> add_message", bob]);
    check(&after(&asked, writes_to("general", Role::Reviewer, "it is shorter")), &[decide, bob]);
}

#[test]
fn a_reviewer_that_waits_for_an_answer_is_still_reached() {
    let asked = after(&claimed(), writes(Role::Reviewer, "on purpose?"));
    let to_reviewers = |body: &str| {
        let Command::AddMessage(message) = operator_writes(body) else { panic!("a message") };
        Command::AddMessage(AddMessage { to: Some(Recipient::Reviewers), ..message })
    };
    let both = ["proposer paul general: message -> add_message", "reviewer ada general: message -> submit_verdict"];
    check(&after(&asked, to_reviewers("paul is away, decide alone")), &both);
}

#[test]
fn the_answer_to_an_operator_goes_to_all_seats() {
    let asked = after(&seats(2, Rule::RequireAll), operator_writes("please say more"));
    let answer = writes(Role::Proposer, "it is for the users");
    let answered = after(&asked, answer.clone());
    assert!(answered.asked_proposer.is_none() && answered.seats.iter().all(|seat| seat.last_message.is_some()));
    assert_eq!(super::decide(&answered, answer).map(|again| again.events), Ok(Vec::new()), "a repeat");
    let other = super::decide(&answered, writes(Role::Proposer, "and more")).map_err(|refusal| refusal.code());
    assert_eq!(other.map(|t| t.next.version), Err("persona_needed"));
}

#[test]
fn a_seat_that_changes_hands_resets_the_turn() {
    let asked = after_all(&claimed(), [writes(Role::Reviewer, "on purpose?"), release(1)]);
    check(&asked, &["reviewer any general: unclaimed -> claim_review"]);
    let by_bob = after(&asked, claim("bob"));
    check(&by_bob, &["reviewer bob general: reviewing -> submit_verdict"]);
    assert!(super::decide(&by_bob, writes(Role::Reviewer, "hello")).is_ok());
}

#[test]
fn a_seat_is_kept_for_a_dedicated_reviewer_between_its_turns() {
    let away = after_all(&claimed(), [writes(Role::Reviewer, "on purpose?"), turn_ended("ada")]);
    check(&away, &["proposer paul general: message -> add_message"]);
    let refused = super::decide(&away, claim("bob")).map(|_| ());
    assert!(matches!(refused, Err(Refusal::Reserved { reviewer, .. }) if reviewer == "ada"));
    let answered = after(&away, writes(Role::Proposer, "yes"));
    check(&answered, &["reviewer ada general: message -> claim_review"]);
    check(&after(&answered, claim("ada")), &["reviewer ada general: message -> submit_verdict"]);

    // Without an answer the seat is free after a while, and without a question it is the reviewer's turn again.
    let later = super::START.tick.plus(KEEP_SEAT);
    let expired = transition(Some(&away), Command::Expire, super::now(later.0), &RULES).unwrap();
    assert_eq!(expired.next.seats[0].reserved_for(), None);
    check(&after(&claimed(), turn_ended("ada")), &["reviewer ada general: unclaimed -> claim_review"]);
    check(
        &after_all(&away, [super::gone("ada")]),
        &["proposer paul general: message -> add_message", "reviewer any general: unclaimed -> claim_review"],
    );
}

#[test]
fn a_reviewer_that_cannot_answer_hands_over_to_an_operator() {
    let voted = after_all(&in_review(), [claim("bob"), says("ada", Verdict::Approved)]);
    let asked = after(&voted, writes_to("general", Role::Proposer, "why?"));
    let message =
        AddMessage { persona: Some("general".into()), gives_up: true, ..message(Role::Reviewer, "no turns left") };
    let given_up = after(&asked, Command::AddMessage(message));
    assert_eq!(given_up.escalation(), Some(Escalation::CouldNotReview));
    assert_eq!(given_up.seats[0].vote, Some(Verdict::Approved), "the vote stands");
    check(&given_up, &["operator any -: escalated -> add_message"]);
}

#[test]
fn the_proposer_can_write_before_a_reviewer_is_there() {
    let written = after_all(&pending(), [writes(Role::Proposer, "see line 3"), writes(Role::Proposer, "and line 4")]);
    check(&written, &["reviewer any general: message -> claim_review"]);
    check(&after(&written, claim("ada")), &["reviewer ada general: message -> submit_verdict"]);
}

#[test]
fn a_message_can_go_to_all_seats() {
    let both = after(&in_review(), claim("bob"));
    let to_all = AddMessage { to: Some(Recipient::Reviewers), ..message(Role::Proposer, "the base has moved") };
    let written = after(&both, Command::AddMessage(to_all.clone()));
    let expected = ["general", "security"].map(|seat| format!("{seat}: message -> submit_verdict"));
    assert!(turns(&written).iter().zip(&expected).all(|(turn, expected)| turn.ends_with(expected)), "{written:?}");
    let again = super::decide(&written, Command::AddMessage(to_all));
    assert_eq!(again.map(|again| again.events), Ok(Vec::new()));
}

#[test]
fn an_escalation_is_the_operators_turn_until_it_acts() {
    let gave_up = Command::Release(ReleaseSeat {
        by: None,
        generation: Some(1),
        reason: Some("no answer".into()),
        gave_up: true,
    });
    let escalated = after(&claimed(), gave_up);
    assert_eq!(escalated.escalation(), Some(Escalation::CouldNotReview));
    check(&escalated, &["operator any -: escalated -> add_message"]);
    let answered = after(&escalated, operator_writes("try again"));
    assert_eq!((answered.escalation(), answered.seats[0].gave_up.as_ref()), (None, None));
    let both = ["reviewer any general: message -> claim_review", "proposer paul -: message -> add_message"];
    check(&answered, &both);
    // A review that is decided meanwhile does not wait for an operator.
    let approved = after_all(&escalated, [claim("bob"), says("bob", Verdict::Approved)]);
    assert_eq!(approved.escalation(), None);
    check(&approved, &["proposer paul -: approved -> close_review"]);
}

#[test]
fn exchanges_within_a_round_are_limited() {
    let mut review = claimed();
    for n in 0..4 {
        let ask = writes(Role::Reviewer, &format!("question {n}"));
        let answer = writes(Role::Proposer, &format!("answer {n}"));
        review = after_all(&review, [ask, answer]);
        assert_eq!(review.escalation().is_some(), review.seats[0].exchanges >= 8, "{n}");
    }
    let asked = after(&review, writes(Role::Reviewer, "one more"));
    assert_eq!(asked.escalation(), Some(Escalation::Exchanges));
    check(&asked, &["operator any -: escalated -> add_message"]);
}

#[test]
fn a_vote_can_be_questioned_while_others_still_review() {
    let voted = after_all(&in_review(), [claim("bob"), says("ada", Verdict::ChangesRequested)]);
    let asked = after(&voted, writes_to("general", Role::Proposer, "why?"));
    let bob = "reviewer bob security: reviewing -> submit_verdict";
    check(&asked, &["reviewer ada general: message -> add_message", bob]);
    check(&after(&asked, writes_to("general", Role::Reviewer, "see line 3")), &[bob]);
}

#[test]
fn a_person_takes_a_seat_over() {
    let taken = after(&claimed(), take_over(&claimed(), "olga", None));
    check(&taken, &["reviewer olga general: reviewing -> submit_verdict"]);
    assert_eq!(taken.claim_generation, 3, "the former holder's claim is fenced off");
    let refused = super::decide(&taken, says("ada", Verdict::Approved)).map_err(|refusal| refusal.code());
    assert_eq!(refused.map(|t| t.next.status), Err("not_your_seat"));
    // The same reviewer from another client.
    let again = after(&claimed(), take_over(&claimed(), "ada", None));
    assert_eq!(again.seats[0].claim.as_ref().map(|claim| claim.generation), Some(3));
    let of_vote = after(&changes_requested(), take_over(&changes_requested(), "olga", None));
    assert_eq!((of_vote.status, of_vote.seats[0].vote), (Status::Claimed, None));
}

#[test]
fn a_seat_can_be_added_and_is_required() {
    let one_more = after(&approved(), add_seat("@olga"));
    assert_eq!((one_more.status, one_more.approved_hash.as_ref()), (Status::InReview, None));
    check(&one_more, &["reviewer olga @olga: unclaimed -> claim_review"]);
    let others = super::decide(&one_more, super::claim_as("bob", "@olga")).map_err(|refusal| refusal.code());
    assert_eq!(others.map(|t| t.next.status), Err("reserved"));
    let hers = after_all(&one_more, [super::claim_as("olga", "@olga"), says("olga", Verdict::Approved)]);
    assert_eq!(hers.status, Status::Approved);
    assert_eq!(super::decide(&one_more, add_seat("@olga")).map(|again| again.events), Ok(Vec::new()));
    let gone = after(&one_more, super::gone("olga"));
    assert_eq!(gone.seats[1].reserved_for(), Some("olga"), "it stays hers");
}

#[test]
fn a_turn_belongs_to_a_name_or_a_role() {
    let named = |name| Asker { name: Some(name), role: None };
    assert!(named("paul").must_act(&changes_requested()) && !named("ada").must_act(&changes_requested()));
    assert!(named("ada").must_act(&claimed()) && !named("bob").must_act(&claimed()));
    assert!(named("bob").must_act(&in_review()), "a seat is free");
    assert!(!named("paul").must_act(&pending()), "the proposer cannot review");
    let proposer = Asker { name: None, role: Some(Authority::Proposer) };
    assert!(proposer.must_act(&changes_requested()) && !proposer.must_act(&pending()));
    assert!(!Asker::default().must_act(&pending()));
    let operator = Asker { name: Some("olga"), role: Some(Authority::Operator) };
    assert!(!operator.must_act(&changes_requested()));
    assert_eq!(waiting_on(&seats(2, Rule::RequireAll))[0].why, TurnReason::Unclaimed);
}

#[test]
fn a_named_seat_stays_its_reviewers_through_every_status() {
    let added = after(&changes_requested(), add_seat("@olga"));
    let asked = after(&added, writes_to("general", Role::Proposer, "why?"));
    let free = claim_of(asked.round.content_hash.clone(), "bob", None, applies());
    assert_eq!(super::decide(&asked, free).map_err(|refusal| refusal.code()).map(|t| t.next.status), Err("reserved"));
    assert_eq!(asked.claimable_by(Some("bob")), [] as [String; 0]);
    assert_eq!(asked.claimable_by(Some("olga")), ["@olga"]);
    // An operator can take the seat of a reviewer that does not come.
    let taken = after(&asked, take_over(&asked, "eva", Some("@olga")));
    assert!(taken.seats[1].is_held_by("eva"));
}

#[test]
fn a_question_to_an_operator_that_took_a_named_seat_over_goes_to_the_operator() {
    let named = after(&propose(proposal(&["@olga"], Rule::RequireAll, None)), add_seat("general"));
    let votes = [claim("ada"), says("ada", Verdict::Approved), take_over(&named, "eva", Some("@olga"))];
    let sent_back = after_all(&after_all(&named, votes), [says("eva", Verdict::ChangesRequested)]);
    let asked = after(&sent_back, writes_to("@olga", Role::Proposer, "why?"));
    check(&asked, &["reviewer eva @olga: message -> claim_review"]);
    let expired = transition(Some(&asked), Command::Expire, later(&asked), &super::RULES).map(|t| turns(&t.next));
    assert_eq!(expired, Ok(vec!["reviewer olga @olga: message -> claim_review".to_owned()]));
}

#[test]
fn a_reviewer_that_is_asked_to_look_again_gets_no_second_seat() {
    let refused = super::decide(&asked_back(), add_seat("@ada")).map_err(|refusal| refusal.code());
    assert_eq!(refused.map(|added| added.next.version), Err("holds_another_seat"));
}

#[test]
fn a_counter_patch_that_is_decided_answers_the_question_before_it() {
    let asked = after_all(&claimed(), [writes(Role::Reviewer, "why?"), offers("ada", Verdict::Comment)]);
    let rejected = after_all(&asked, [super::reject(), says("ada", Verdict::Comment)]);
    check(&rejected, &["reviewer ada general: reviewing -> submit_verdict"]);
    assert!(super::decide(&rejected, writes(Role::Reviewer, "and why not?")).is_ok());
}

#[test]
fn after_a_request_for_changes_the_proposer_can_ask_again() {
    let voted = after_all(&in_review(), [claim("bob"), says("ada", Verdict::ChangesRequested)]);
    let asked = after(&voted, writes_to("general", Role::Proposer, "why?"));
    let sent_back = after(&asked, says("bob", Verdict::ChangesRequested));
    let again = after(&sent_back, writes_to("general", Role::Proposer, "why, please?"));
    assert_eq!(turns(&again)[0], "reviewer ada general: message -> claim_review");
}

#[test]
fn a_counter_patch_in_a_panel_is_looked_at_by_all() {
    let offered = after_all(&in_review(), [claim("bob"), offers("ada", Verdict::ChangesRequested)]);
    let decide = "proposer paul general: counter_patch_offered -> accept_counter_patch";
    check(&offered, &[decide, "reviewer bob security: reviewing -> submit_verdict"]);
    let accepted = after(&offered, super::accept(&offered));
    assert!(accepted.seats.iter().all(|seat| seat.vote.is_none() && seat.claim.is_none()));
    check(
        &accepted,
        &[
            "reviewer ada general: counter_patch_accepted -> claim_review",
            "reviewer any security: unclaimed -> claim_review",
        ],
    );
}

#[test]
fn a_reviewer_takes_over_only_its_own_seat() {
    let both = after(&in_review(), claim("bob"));
    let own = |by: &str| {
        let Command::Claim(claim) = take_over(&both, by, None) else { panic!("a claim") };
        Command::Claim(crate::review::ClaimSeat { takes_over: Some(Authority::Reviewer), ..claim })
    };
    assert!(after(&both, own("bob")).seats[1].is_held_by("bob"));
    let refused = super::decide(&both, own("cyd")).map_err(|refusal| refusal.code());
    assert_eq!(refused.map(|taken| taken.next.status), Err("not_your_seat"));
}

#[test]
fn an_operator_can_say_the_same_again() {
    let to = |persona: &str| {
        let Command::AddMessage(message) = operator_writes("please look") else { panic!("a message") };
        Command::AddMessage(AddMessage { persona: Some(persona.into()), ..message })
    };
    let both = after(&in_review(), claim("bob"));
    let written = after_all(&both, [to("general"), to("security")]);
    assert_eq!(written.version, both.version + 2, "another seat is another message");
    assert_eq!(super::decide(&written, to("security")).map(|again| again.events), Ok(Vec::new()));
}

#[test]
fn a_dispute_without_end_escalates() {
    let mut review = changes_requested();
    for n in 0..8 {
        assert_eq!(review.escalation(), None, "{n}");
        let content = review.round.content_hash.clone();
        review = after_all(
            &review,
            [
                writes(Role::Proposer, &format!("why {n}?")),
                claim_of(content, "ada", None, applies()),
                super::give(GiveVerdict {
                    summary: Some(n.to_string()),
                    ..super::verdict("ada", Verdict::ChangesRequested)
                }),
            ],
        );
    }
    assert_eq!(review.escalation(), Some(Escalation::Exchanges));
}
