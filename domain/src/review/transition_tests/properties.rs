//! Property tests: invariants that hold after every command, whether it was valid or not.

#[path = "moves.rs"]
mod moves;

use super::{
    RULES, applies,
    diagram::{explore, worlds},
    now,
    turns::turns_can_be_taken,
};
use crate::{
    consensus::Outcome,
    credential::Authority,
    finding::FindingStatus,
    review::{
        AddMessage, CheckNeeded, CheckedDiff, Command, DiffCheck, Event, LoggedEvent, Refusal, Review, Role, Status,
        apply, check_needed, replay, transition,
        transition::{Transition, is_possible},
    },
    time::Now,
    verdict::Verdict,
    waiting_on::waiting_on,
};
use moves::{Move, World, a_history, a_world};
use proptest::{
    prelude::{Strategy, TestCaseError, prop_assert, prop_assert_eq, proptest},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use std::collections::{HashMap, HashSet};

type Checked = Result<(), TestCaseError>;

/// A review, its log, and the same review made from the log's JSON alone.
struct History {
    review: Review,
    log: Vec<LoggedEvent>,
    from_json: Review,
    tick: i64,
    /// What each side of each seat said last, and in which round.
    said: HashMap<(String, Role), (u32, AddMessage)>,
}

impl History {
    fn begin(world: World) -> Self {
        let Transition { next, events, .. } = super::propose_at(world.into_proposal(), now(0));
        Self { from_json: next.clone(), review: next, log: events, tick: 0, said: HashMap::new() }
    }

    fn step(&mut self, wait: u32, next_move: &Move) -> Checked {
        self.tick += i64::from(wait);
        let moment = now(self.tick);
        let command = next_move.command(&self.review);
        asks_git_only_for_what_it_would_take(&self.review, &command, moment)?;
        let outcome = transition(Some(&self.review), command.clone(), moment, &RULES);
        prop_assert_eq!(&outcome, &transition(Some(&self.review), command.clone(), moment, &RULES), "not pure");
        match outcome {
            Err(refusal) => refused(&self.review, &refusal),
            Ok(Transition { next, events, .. }) => {
                moves_forward(&self.review, &next, &events)?;
                agrees_with_itself(&next)?;
                has_no_second_effect(&next, command, moment)?;
                for recorded in &events {
                    self.from_json = apply(self.from_json.clone(), &through_json(recorded)?);
                }
                if events.iter().any(|recorded| is_to_all_seats(&recorded.event)) {
                    self.said.retain(|(_, role), _| *role == Role::Reviewer);
                }
                self.said.extend(events.iter().filter_map(|recorded| spoken(&recorded.event)));
                self.log.extend(events);
                self.review = next;
                self.knows_what_was_said(moment)?;
                turns_can_be_taken(&self.review, moment).map_err(TestCaseError::fail)?;
                let replayed = replay(&self.log);
                prop_assert_eq!(replayed.as_ref(), Some(&self.review), "the log tells another story");
                prop_assert_eq!(&self.from_json, &self.review, "the log's JSON tells another story");
                Ok(())
            }
        }
    }
}

impl History {
    /// Whatever came in between, the last words of a side are known again until the round ends.
    fn knows_what_was_said(&self, moment: Now) -> Checked {
        let this_round = self.said.values().filter(|(round, _)| *round == self.review.round.number);
        for (_, message) in this_round {
            let again = transition(Some(&self.review), Command::AddMessage(message.clone()), moment, &RULES);
            prop_assert!(again.is_ok_and(|again| again.events.is_empty()), "not known again: {:?}", message);
        }
        Ok(())
    }
}

/// A message as its sender would repeat it, saying who it is and which seat it means.
fn spoken(event: &Event) -> Option<((String, Role), (u32, AddMessage))> {
    let Event::MessageAdded { persona, to, role, by, round, body, anchor, metadata, .. } = event else { return None };
    let side = match role {
        Authority::Proposer => Role::Proposer,
        Authority::Reviewer => Role::Reviewer,
        Authority::Operator => return None,
    };
    // A message to all seats is the last one of each.
    let persona = persona.clone()?;
    let (by, body, anchor, metadata) = (Some(by.clone()), body.clone(), anchor.clone(), metadata.clone());
    let message = AddMessage {
        role: *role,
        by,
        persona: Some(persona.clone()),
        to: *to,
        body,
        anchor,
        metadata,
        gives_up: false,
    };
    Some(((persona, side), (*round, message)))
}

fn is_to_all_seats(event: &Event) -> bool {
    matches!(event, Event::MessageAdded { persona: None, role: Authority::Proposer, .. })
}

fn through_json(recorded: &LoggedEvent) -> Result<LoggedEvent, TestCaseError> {
    let fail = |error: serde_json::Error| TestCaseError::fail(error.to_string());
    let text = serde_json::to_string(recorded).map_err(fail)?;
    prop_assert!(text.contains(&format!("\"kind\":\"{}\"", recorded.event.kind())), "{}", text);
    let read: LoggedEvent = serde_json::from_str(&text).map_err(fail)?;
    prop_assert_eq!(&read, recorded);
    Ok(read)
}

fn refused(review: &Review, refusal: &Refusal) -> Checked {
    if let Refusal::WrongStatus { command, status, .. } = refusal {
        prop_assert_eq!(*status, review.status);
        prop_assert!(!is_possible(review, *command), "{} is refused, yet called possible", command);
    }
    Ok(())
}

/// What must be true of any step that was taken.
fn moves_forward(before: &Review, next: &Review, events: &[LoggedEvent]) -> Checked {
    if events.is_empty() {
        prop_assert_eq!(before, next, "changed without an event");
        return Ok(());
    }
    let count = |test: fn(&Event) -> bool| events.iter().filter(|recorded| test(&recorded.event)).count();
    let versions: Vec<_> = events.iter().map(|recorded| recorded.version).collect();
    prop_assert_eq!(versions, (before.version + 1..=next.version).collect::<Vec<_>>());

    let seats_moved =
        count(|event| matches!(event, Event::Claimed { .. } | Event::AutoRejected { .. } | Event::ClaimEnded { .. }));
    prop_assert!(next.claim_generation as usize >= before.claim_generation as usize + seats_moved);
    let revised = count(|event| matches!(event, Event::Revised { .. }));
    prop_assert_eq!(next.round.number as usize, before.round.number as usize + revised);
    let added = count(|event| matches!(event, Event::SeatAdded { .. }));
    let replaced = count(Event::replaces_content);
    prop_assert!(before.round.content_hash == next.round.content_hash || replaced > 0);

    let may_become: &[Status] = match before.status {
        Status::Closed => &[Status::Closed],
        Status::Cancelled => &[Status::Closed, Status::Cancelled, Status::Pending],
        Status::Rejected => &[Status::Closed, Status::Rejected, Status::Pending],
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Approved => {
            Status::ALL
        }
    };
    prop_assert!(may_become.contains(&next.status), "{} became {}", before.status, next.status);
    prop_assert!(next.returned >= before.returned && next.escalated.is_some() >= before.escalated.is_some());

    let fixed = |review: &Review| {
        (review.id, review.number, review.proposer.clone(), review.priority, review.policy, review.created_at)
    };
    prop_assert_eq!(fixed(before), fixed(next));
    prop_assert_eq!(before.personas(), &next.personas()[..before.seats.len()]);
    prop_assert_eq!(next.seats.len(), before.seats.len() + added);
    Ok(())
}

/// What must be true of any review at any time.
fn agrees_with_itself(review: &Review) -> Checked {
    let status = review.status;
    let bound = review.approved_hash.as_ref() == Some(&review.round.content_hash);
    match status {
        Status::Approved => prop_assert!(bound, "approved, but not this content"),
        Status::Closed => prop_assert!(bound || review.approved_hash.is_none()),
        Status::Pending
        | Status::Claimed
        | Status::InReview
        | Status::ChangesRequested
        | Status::Rejected
        | Status::Cancelled => prop_assert_eq!(&review.approved_hash, &None),
    }

    let claims: Vec<_> = review.seats.iter().filter_map(|seat| seat.claim.as_ref()).collect();
    let holders: HashSet<_> = claims.iter().map(|claim| &claim.by).collect();
    let generations: HashSet<_> = claims.iter().map(|claim| claim.generation).collect();
    prop_assert_eq!((holders.len(), generations.len()), (claims.len(), claims.len()), "a seat is held twice");
    prop_assert!(claims.iter().all(|claim| claim.generation <= review.claim_generation));
    prop_assert!(claims.iter().all(|claim| moves::may_review(&claim.by)));

    for seat in &review.seats {
        let owes = status.is_open() && seat.vote.is_none();
        let running = seat.claim.as_ref().is_some_and(|claim| claim.lease_ends.is_some());
        prop_assert_eq!(running, owes && seat.claim.is_some(), "a lease runs for what is owed, and only for that");
        prop_assert!(seat.reservation.is_none() || (status.is_open() && seat.is_free()));
        prop_assert!(seat.vote != Some(Verdict::Comment));
    }

    let votes: Vec<_> = review.seats.iter().map(|seat| seat.vote).collect();
    let outcome = review.policy.outcome(&votes, review.blocking().next().is_some());
    let all_free = claims.is_empty() && votes.iter().all(Option::is_none);
    match status {
        Status::Pending => prop_assert!(all_free && review.cancel_reason.is_none()),
        Status::Claimed => prop_assert!(!all_free && votes == [None]),
        Status::InReview => prop_assert!(!all_free && votes.len() > 1 && outcome == Outcome::Undecided),
        Status::ChangesRequested => prop_assert!(review.returned && outcome != Outcome::Approved),
        Status::Approved => prop_assert_eq!(outcome, Outcome::Approved),
        Status::Rejected => prop_assert_eq!(outcome, Outcome::Rejected),
        Status::Cancelled => prop_assert!(claims.is_empty() && review.cancel_reason.is_some()),
        Status::Closed => {
            prop_assert!(review.seats.iter().all(|seat| seat.patch.is_none()));
            prop_assert!(review.findings.iter().all(|finding| finding.status != FindingStatus::Open));
        }
    }
    let turns = waiting_on(review);
    prop_assert_eq!(turns.is_empty(), review.is_final(), "no party is expected to act: {:?}", review);
    Ok(())
}

/// A call repeated because its answer was lost is answered, or refused; it never counts twice. A
/// revision is known again by its key alone.
fn has_no_second_effect(review: &Review, command: Command, moment: Now) -> Checked {
    // Taking a seat over from another client of the same reviewer fences the first one each time.
    if matches!(&command, Command::Revise(revise) if revise.round.request_key.is_none())
        || matches!(&command, Command::Claim(claim) if claim.takes_over.is_some())
    {
        return Ok(());
    }
    let told_apart =
        matches!(command, Command::Claim(_) | Command::GiveVerdict(_) | Command::AddMessage(_) | Command::Close { .. });
    match transition(Some(review), command, moment, &RULES) {
        Ok(again) => prop_assert_eq!((&again.next, again.events.len()), (review, 0), "a repeat had an effect"),
        // An automatic rejection ends the claim that caused it, so there is nothing to answer with.
        Err(refusal) => prop_assert!(!told_apart || review.auto_rejected(), "a repeat was refused: {}", refusal),
    }
    Ok(())
}

/// Git runs only where its word decides, and nothing gets past it unasked.
fn asks_git_only_for_what_it_would_take(review: &Review, command: &Command, moment: Now) -> Checked {
    let decide = |command: Command| transition(Some(review), command, moment, &RULES);
    match check_needed(review, command, moment) {
        Err(refusal) => prop_assert_eq!(decide(command.clone()), Err(refusal)),
        Ok(None) if matches!(command, Command::Claim(_) | Command::GiveVerdict(_)) => {
            prop_assert!(decide(with_git(review, command, None, None)).is_ok());
        }
        Ok(None) => {}
        Ok(Some(needed)) => {
            let unasked = decide(with_git(review, command, None, Some(&needed)));
            prop_assert_eq!(unasked, Err(Refusal::ContentMoved));
            let asked = decide(with_git(review, command, Some(applies()), Some(&needed)));
            prop_assert!(asked.is_ok_and(|taken| !taken.events.is_empty()), "git was asked for nothing");
        }
    }
    Ok(())
}

/// The command once git has looked at what it had to look at.
fn with_git(review: &Review, command: &Command, check: Option<DiffCheck>, needed: Option<&CheckNeeded>) -> Command {
    let mut command = command.clone();
    let content = review.round.content_hash.clone();
    match (&mut command, needed) {
        (Command::Claim(claim), _) => {
            claim.check = check.map(|check| CheckedDiff { content_hash: content, check, head: None, rebased: None });
        }
        (Command::GiveVerdict(verdict), _) => {
            if let Some(findings) = &mut verdict.findings {
                findings.content_hash = content;
            }
            if let Some(patch) = &mut verdict.patch {
                patch.check = check;
            }
        }
        (Command::AcceptCounterPatch(accept), Some(CheckNeeded::PendingPatch { .. })) => {
            *accept = super::acceptance(review, accept.persona.as_deref());
            if check.is_none() {
                accept.patched = None;
            }
        }
        _ => {}
    }
    command
}

proptest! {
    #[test]
    fn every_history_keeps_the_rules((world, history) in (a_world(), a_history())) {
        let mut story = History::begin(world);
        for (wait, next_move) in &history {
            story.step(*wait, next_move)?;
        }
    }
}

/// The same of every state that can be reached, where the random histories may not come by.
#[test]
fn every_state_keeps_the_rules() {
    for world in worlds() {
        explore(world, |before, taken| {
            for ((command, moment), Transition { next, events, .. }) in taken {
                let kept = moves_forward(before, next, events)
                    .and_then(|()| agrees_with_itself(next))
                    .and_then(|()| has_no_second_effect(next, command.clone(), *moment));
                assert!(kept.is_ok(), "{kept:?}: {command:?} made {next:#?}");
            }
        });
    }
}

/// Histories that get nowhere would prove nothing.
#[test]
fn the_histories_reach_every_status_event_and_refusal() {
    let mut runner = TestRunner::deterministic();
    let (mut statuses, mut events, mut refusals) = (HashSet::new(), HashSet::new(), HashSet::new());
    // As many as it takes, and no more than can be waited for.
    for _ in 0..5000 {
        if (statuses.len(), events.len(), refusals.len()) == (Status::ALL.len(), 15, 29) {
            break;
        }
        let Ok(tree) = (a_world(), a_history()).new_tree(&mut runner) else { panic!("no history") };
        let (world, history) = tree.current();
        let mut review = super::propose_at(world.into_proposal(), now(0)).next;
        let mut tick = 0;
        for (wait, next_move) in history {
            tick += i64::from(wait);
            match transition(Some(&review), next_move.command(&review), now(tick), &RULES) {
                Ok(taken) => {
                    events.extend(taken.events.iter().map(|recorded| recorded.event.kind().as_str()));
                    review = taken.next;
                }
                Err(refusal) => drop(refusals.insert(refusal.code())),
            }
            statuses.insert(review.status);
        }
    }
    assert_eq!(statuses.len(), Status::ALL.len(), "{statuses:?}");
    // All but `proposed`, which is there before the first move.
    assert_eq!(events.len(), 15, "{events:?}");
    // All but `too_many_issues` and `too_many_seats`, which take longer.
    assert_eq!(refusals.len(), 29, "{refusals:?}");
}
