//! Applies events to the state of a review. Replaying the event log of a review gives its snapshot.

mod findings;

pub(super) use findings::{raise, resolve_own, update_finding};

use super::super::{
    Answered, Asked, Claim, ClaimEndReason, CounterPatch, Decision, DiffCheck, DiffFacts, Escalated, Event,
    LastMessage, LastVerdict, LoggedEvent, MessageCount, PatchStatus, Proposed, Recipient, Review, Reviewed, Role,
    Round, Seat, Status, Superseded, Times,
    event::{Requeued, RequeuedSeat, VerdictGiven},
};
use super::discussion::answers;
use crate::identity::is_same_identity;
use crate::{
    consensus::Escalation,
    content::ContentHash,
    credential::Authority,
    finding::Finding,
    time::{Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
    waiting_on::TurnReason,
};
use findings::{anchor, settle_at_close};

/// The review that a proposal creates.
pub(super) fn begin(proposed: &Proposed, at: Timestamp, version: u64) -> Review {
    Review {
        id: proposed.id,
        number: proposed.number,
        version,
        proposer: proposed.proposer.clone(),
        category: proposed.category,
        priority: proposed.priority,
        status: Status::Pending,
        status_since: at,
        times: Times::default(),
        branch: branch(&proposed.round),
        round: proposed.round.clone(),
        returned: false,
        seats: proposed.personas.iter().map(|persona| Seat::new(persona, at)).collect(),
        policy: proposed.policy,
        claim_generation: 0,
        decision: None,
        approved_hash: None,
        landed_as: None,
        escalated: None,
        asked_proposer: None,
        messages: MessageCount::default(),
        findings: Vec::new(),
        cost_micro_usd: 0,
        cancel_reason: None,
        created_at: at,
        updated_at: at,
    }
}

/// Adds the seats that the active content requires and the review does not have.
fn add_required_seats(review: &mut Review, at: Timestamp) {
    for persona in review.round.required.clone() {
        if review.seats.iter().all(|seat| seat.persona != persona) {
            review.seats.push(Seat::new(persona, at));
            if review.status == Status::Claimed {
                review.status = Status::InReview;
            }
        }
    }
}

fn branch(round: &Round) -> Option<String> {
    Some(round.target.as_ref()?.branch()?.to_owned())
}

/// The review after `logged`.
pub fn apply(mut review: Review, logged: &LoggedEvent) -> Review {
    review.version = logged.version;
    review.updated_at = logged.at;
    let before = review.status;
    change(&mut review, &logged.event, logged.at);
    note_times(&mut review.times, &logged.event, logged.at);
    if review.status != before {
        if let Some(spent) = review.times.spent_ms.get_mut(before as usize) {
            *spent += (logged.at.0 - review.status_since.0).max(0);
        }
        enter(&mut review.times, review.status, logged.at);
        review.status_since = logged.at;
    }
    review
}

fn note_times(times: &mut Times, event: &Event, at: Timestamp) {
    match event {
        Event::Claimed { .. } => times.first_claimed_at = times.first_claimed_at.or(Some(at)),
        Event::VerdictGiven(given) if given.verdict.is_vote() => {
            times.first_verdict_at = times.first_verdict_at.or(Some(at));
        }
        Event::Closed { .. } => times.closed_at = Some(at),
        Event::Proposed(_)
        | Event::Revised { .. }
        | Event::Rebased { .. }
        | Event::AutoRejected { .. }
        | Event::ClaimEnded { .. }
        | Event::ReservationEnded { .. }
        | Event::ClaimRenewed { .. }
        | Event::SeatAdded { .. }
        | Event::VerdictGiven(_)
        | Event::FindingUpdated(_)
        | Event::MessageAdded { .. }
        | Event::CounterPatchAccepted { .. }
        | Event::CounterPatchRejected { .. }
        | Event::Cancelled { .. } => {}
    }
}

fn enter(times: &mut Times, status: Status, at: Timestamp) {
    match status {
        Status::Approved | Status::Rejected | Status::Cancelled => times.decided_at = Some(at),
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested => times.decided_at = None,
        Status::Closed => {}
    }
}

/// The review after all events of `log`; `None` if the log does not start with a proposal.
pub fn replay(log: &[LoggedEvent]) -> Option<Review> {
    let (first, rest) = log.split_first()?;
    let Event::Proposed(proposed) = &first.event else { return None };
    Some(rest.iter().fold(begin(proposed, first.at, first.version), apply))
}

fn change(review: &mut Review, event: &Event, at: Timestamp) {
    match event {
        // Always the first event, which `begin` handles.
        Event::Proposed(_) => {}
        Event::Revised { round, generation, anchors, .. } => {
            let content_hash = std::mem::replace(&mut review.round, round.clone()).content_hash;
            review.branch = branch(round).or(review.branch.take());
            review.claim_generation = *generation;
            review.decision = None;
            review.approved_hash = None;
            review.cancel_reason = None;
            review.asked_proposer = None;
            review.messages.seen_by_proposer = review.messages.total;
            for seat in &mut review.seats {
                seat.superseded = seat.claim.take().filter(|_| seat.vote.is_none()).map(|claim| Superseded {
                    by: claim.by,
                    generation: claim.generation,
                    content_hash: content_hash.clone(),
                });
                seat.last_verdict = None;
                seat.patch = None;
                seat.gave_up = None;
                seat.asked_reviewer = None;
                seat.asked_proposer = None;
                seat.exchanges = 0;
                vacate(seat, at);
            }
            anchor(review, anchors);
            review.status = Status::Pending;
            add_required_seats(review, at);
        }
        Event::Claimed { persona, by, generation, lease_ends, by_operator, diff } => {
            if *by_operator {
                operator_acted(review);
            }
            review.claim_generation = *generation;
            if diff.is_some() {
                review.round.diff.clone_from(diff);
            }
            for seat in &mut review.seats {
                seat.reservation.take_if(|reservation| is_same_identity(&reservation.reviewer, by));
            }
            if let Some(seat) = seat_mut(review, persona) {
                vacate(seat, at);
                seat.reservation = None;
                seat.gave_up = None;
                seat.superseded = None;
                // A seat that changes hands does not wait for an answer to its former reviewer.
                if let Some(last) = &mut seat.last_message
                    && last.role == Role::Reviewer
                    && !is_same_identity(&last.by, by)
                {
                    last.responded = true;
                }
                seat.claim = Some(Claim { by: by.clone(), generation: *generation, at, lease_ends: Some(*lease_ends) });
            }
            // A seat that was taken over has no vote any more, so the decision does not stand.
            review.approved_hash = None;
            review.status = open_status(review);
        }
        Event::Rebased { content_hash, diff, requeued, anchors, .. } => {
            anchor(review, anchors);
            review.round.content_hash = content_hash.clone();
            review.round.diff = Some(diff.clone());
            review.decision.take_if(|d| d.verdict == Verdict::Approved || review.status == Status::ChangesRequested);
            requeue(review, requeued, at);
        }
        Event::AutoRejected { message, generation, diff, .. } => {
            review.claim_generation = *generation;
            auto_reject(review, message, diff.as_ref(), at);
        }
        Event::ClaimEnded { persona, reason, detail, generation, reservation, .. } => {
            review.claim_generation = *generation;
            if let Some(seat) = seat_mut(review, persona) {
                vacate(seat, at);
                seat.reservation.clone_from(reservation);
                // A reviewer that comes back still waits for its answer.
                seat.asked_proposer.take_if(|_| reservation.is_none());
                if *reason == ClaimEndReason::CouldNotReview {
                    seat.gave_up = Some(detail.clone().unwrap_or_default());
                }
            }
            match reason {
                ClaimEndReason::CouldNotReview => escalate(review, Some(Escalation::CouldNotReview), at),
                ClaimEndReason::LeaseExpired
                | ClaimEndReason::TakenOver
                | ClaimEndReason::Released
                | ClaimEndReason::ReviewerExited
                | ClaimEndReason::ReviewerStopped
                | ClaimEndReason::BrokerRestarted
                | ClaimEndReason::TurnEnded => {}
            }
            // A decision stands even if a reviewer leaves without a vote.
            if review.status.is_open() {
                review.status = open_status(review);
            }
        }
        Event::ReservationEnded { persona, .. } => {
            if let Some(seat) = seat_mut(review, persona) {
                seat.reservation = None;
            }
        }
        Event::ClaimRenewed { persona, lease_ends, .. } => {
            if let Some(claim) = seat_mut(review, persona).and_then(|seat| seat.claim.as_mut()) {
                claim.lease_ends = Some(*lease_ends);
            }
        }
        Event::SeatAdded { persona, role, status, lease_ends, .. } => {
            review.seats.push(Seat::new(persona, at));
            if *role == Authority::Operator {
                operator_acted(review);
            }
            let content_hash = review.round.content_hash.clone();
            enter_status(review, *status, &content_hash, *lease_ends);
        }
        Event::VerdictGiven(given) => give_verdict(review, given, at),
        Event::FindingUpdated(updated) => {
            update_finding(review, updated, at);
            let persona = review.finding(updated.number).map(|finding| finding.persona.clone()).unwrap_or_default();
            if updated.role == Authority::Operator {
                operator_acted(review);
            }
            let is_answered = |finding: &Finding| finding.persona == persona && finding.reply.is_some();
            let is_done = !review.findings.iter().any(|finding| is_answered(finding));
            if let Some(seat) = seat_mut(review, &persona) {
                if updated.role == Authority::Proposer && !updated.settles {
                    seat.asked_reviewer = Some(Asked { why: TurnReason::IssueAnswered, since: at });
                }
                seat.asked_reviewer.take_if(|asked| is_done && asked.why == TurnReason::IssueAnswered);
            }
            if let Some(requeued) = &updated.requeued {
                requeue(review, requeued, at);
            }
        }
        Event::MessageAdded { role: Authority::Operator, persona, to, by, digest, .. } => {
            count_message(review, by, digest);
            operator_acted(review);
            let asked = Asked { why: TurnReason::Message, since: at };
            let everyone = to.unwrap_or(Recipient::Reviewers);
            for seat in &mut review.seats {
                if persona.as_ref().is_some_and(|persona| *persona == seat.persona)
                    || (persona.is_none() && everyone.includes_reviewers())
                {
                    seat.asked_reviewer = Some(asked.clone());
                    seat.messages += 1;
                }
            }
            if persona.is_none() && everyone.includes_proposer() {
                review.asked_proposer = Some(asked);
            }
        }
        Event::MessageAdded { persona, role, by, round, digest, lease_ends, requeued, escalation, .. } => {
            let role = if *role == Authority::Proposer { Role::Proposer } else { Role::Reviewer };
            count_message(review, by, digest);
            for index in 0..review.seats.len() {
                if persona.as_ref().is_none_or(|persona| *persona == review.seats[index].persona) {
                    add_message(review, index, role, by, *round, digest, *lease_ends, at);
                }
            }
            if role == Role::Proposer {
                review.asked_proposer = None;
                review.messages.seen_by_proposer = review.messages.total;
            }
            if let Some(requeued) = requeued {
                requeue(review, requeued, at);
            }
            escalate(review, *escalation, at);
        }
        Event::CounterPatchAccepted { persona, content_hash, diff, requeued, anchors, required, .. } => {
            anchor(review, anchors);
            review.round.content_hash = content_hash.clone();
            review.round.diff = Some(diff.clone());
            review.round.target = None;
            review.round.required = required.as_slice().into();
            add_required_seats(review, at);
            decide_patch(review, persona, PatchStatus::Accepted, at);
            review.decision.take_if(|d| d.verdict == Verdict::Approved || review.status == Status::ChangesRequested);
            requeue(review, requeued, at);
        }
        Event::CounterPatchRejected { persona, .. } => decide_patch(review, persona, PatchStatus::Rejected, at),
        Event::Cancelled { reason, generation, .. } => {
            review.claim_generation = *generation;
            review.cancel_reason = Some(reason.clone());
            review.approved_hash = None;
            for seat in &mut review.seats {
                seat.claim = None;
                seat.reservation = None;
                seat.patch = None;
            }
            review.status = Status::Cancelled;
        }
        Event::Closed { by, identity, settled, landed_as } => {
            settle_at_close(review, *by, identity, settled, at);
            for seat in &mut review.seats {
                seat.patch = None;
            }
            review.landed_as = landed_as.clone();
            review.status = Status::Closed;
        }
    }
}

/// Records a message of one side in a seat's discussion, and whom it asks.
#[expect(clippy::too_many_arguments, reason = "the fields of one event")]
fn add_message(
    review: &mut Review,
    index: usize,
    role: Role,
    by: &str,
    round: u32,
    digest: &str,
    lease_ends: Option<Tick>,
    at: Timestamp,
) {
    let (id, is_sent_back) = (review.version, review.status == Status::ChangesRequested);
    let is_answer = answers(review, &review.seats[index], role);
    let seat = &mut review.seats[index];
    let before = seat.last_message.take().filter(|last| last.round == round);
    let answered = before.and_then(|last| match last.role == role {
        true => last.answers,
        false => Some(Answered { id: last.id, digest: last.digest }),
    });
    let (by, digest) = (by.to_owned(), digest.to_owned());
    seat.last_message = Some(LastMessage { id, role, by, round, digest, answers: answered, responded: false });
    seat.exchanges += u32::from(is_answer);
    seat.messages += 1;
    let asked = Asked { why: TurnReason::Message, since: at };
    // An answer ends the exchange. Only a reviewer that still owes a vote asks again with every message.
    match role {
        Role::Proposer => {
            // A counter-patch is answered by a decision, so a message about it is a question.
            let answers_question = seat.asked_proposer.take().is_some_and(|asked| asked.why == TurnReason::Message);
            if seat.vote.is_none() || !answers_question {
                seat.asked_reviewer = Some(asked);
            }
        }
        Role::Reviewer => {
            seat.last_act = Some(id);
            seat.last_act_round = Some(round);
            seat.messages_seen = seat.messages;
            let answers_question = seat.asked_reviewer.take().is_some();
            if !is_sent_back && (seat.vote.is_none() || !answers_question) {
                seat.asked_proposer = Some(asked);
            }
        }
    }
    if let (Some(claim), Some(ends)) = (&mut seat.claim, lease_ends) {
        claim.lease_ends = Some(ends);
    }
}

fn count_message(review: &mut Review, by: &str, digest: &str) {
    let total = review.messages.total + 1;
    let (last_id, last_by) = (Some(review.version), Some(by.to_owned()));
    let seen_by_proposer = review.messages.seen_by_proposer;
    review.messages = MessageCount { total, last_id, last_by, last_digest: Some(digest.to_owned()), seen_by_proposer };
}

/// Returns seats to the queue. The review is open again.
fn requeue(review: &mut Review, requeued: &Requeued, at: Timestamp) {
    review.claim_generation = requeued.generation;
    for RequeuedSeat { persona, reservation } in &requeued.seats {
        if let Some(seat) = seat_mut(review, persona) {
            seat.exchanges += 1;
            vacate(seat, at);
            seat.reservation.clone_from(reservation);
        }
    }
    review.approved_hash = None;
    review.status = open_status(review);
}

/// The proposer has answered a counter-patch, so it is its reviewer's turn.
fn decide_patch(review: &mut Review, persona: &str, status: PatchStatus, at: Timestamp) {
    review.messages.seen_by_proposer = review.messages.total;
    if let Some(seat) = seat_mut(review, persona) {
        if let Some(patch) = &mut seat.patch {
            patch.status = status;
        }
        seat.asked_proposer = None;
        if let Some(last) = seat.last_message.as_mut().filter(|last| last.role == Role::Reviewer) {
            last.responded = true;
        }
        seat.exchanges += 1;
        let why = match status {
            PatchStatus::Accepted => Some(TurnReason::CounterPatchAccepted),
            // After a request for changes the proposer goes on, not the reviewer.
            PatchStatus::Rejected if seat.vote.is_none() => Some(TurnReason::CounterPatchRejected),
            PatchStatus::Rejected | PatchStatus::Pending => None,
        };
        if let Some(why) = why {
            seat.asked_reviewer = Some(Asked { why, since: at });
        }
    }
}

/// Hands the review to an operator, unless it waits for one already.
fn escalate(review: &mut Review, why: Option<Escalation>, at: Timestamp) {
    if let Some(why) = why.filter(|_| review.escalation().is_none()) {
        review.escalated = Some(Escalated { why, at, answered: false });
    }
}

/// An operator has looked at the review: the parties go on with fresh limits.
fn operator_acted(review: &mut Review) {
    if let Some(escalated) = &mut review.escalated {
        escalated.answered = true;
    }
    for seat in &mut review.seats {
        seat.exchanges = 0;
        seat.gave_up = None;
    }
}

fn give_verdict(review: &mut Review, given: &VerdictGiven, at: Timestamp) {
    let VerdictGiven { persona, by, verdict, content_hash, status, .. } = given;
    let version = review.version;
    if let Some(seat) = seat_mut(review, persona) {
        let (generation, digest) = (given.generation, given.digest.clone());
        seat.last_act = Some(version);
        seat.last_act_round = Some(given.round);
        seat.messages_seen = seat.messages;
        seat.asked_reviewer = None;
        if let Some(last) = &mut seat.last_message
            && last.role == Role::Proposer
        {
            last.responded = true;
        }
        seat.last_verdict = Some(LastVerdict { generation, verdict: *verdict, digest });
        if verdict.is_vote() {
            seat.vote = Some(*verdict);
            seat.since = at;
            seat.asked_proposer = None;
            seat.reviewed = Some(Reviewed { round: given.round, content_hash: content_hash.clone() });
        }
        if given.offers_patch {
            let (status, files) = (PatchStatus::Pending, given.patch_files.clone());
            seat.patch = Some(CounterPatch { id: version, by: by.clone(), status, files });
            seat.asked_proposer = Some(Asked { why: TurnReason::CounterPatchOffered, since: at });
        }
        if let Some(claim) = &mut seat.claim {
            claim.lease_ends = given.lease_ends.filter(|_| seat.vote.is_none());
        }
    }
    // A comment on a decided review does not replace the decision, unless its findings change the status.
    let decision = if verdict.is_vote() || status.is_open() {
        Some(*verdict)
    } else {
        findings::verdict_of(*status).filter(|_| *status != review.status)
    };
    if let Some(verdict) = decision {
        review.decision = Some(Decision { verdict, reason: given.reason.clone(), by: by.clone() });
    }
    enter_status(review, *status, content_hash, given.lease_ends);
    escalate(review, given.escalation, at);
    let cost = given.metrics.as_ref().map_or(0, ReviewMetrics::cost_micro_usd);
    review.cost_micro_usd = review.cost_micro_usd.saturating_add(cost);
    raise(review, persona, by, at, &given.findings);
    resolve_own(review, by, at, &given.resolved);
}

/// Sets the status that the votes lead to, and ends or starts leases accordingly.
fn enter_status(review: &mut Review, status: Status, content_hash: &ContentHash, lease_ends: Option<Tick>) {
    for seat in &mut review.seats {
        if !status.is_open() {
            seat.reservation = None;
        }
        if let Some(claim) = &mut seat.claim {
            if !status.is_open() {
                claim.lease_ends = None;
            } else if seat.vote.is_none() && claim.lease_ends.is_none() {
                claim.lease_ends = lease_ends;
            }
        }
    }
    review.approved_hash = (status == Status::Approved).then(|| content_hash.clone());
    review.returned |= status == Status::ChangesRequested;
    review.status = status;
}

/// The broker requests changes. All seats become free.
fn auto_reject(review: &mut Review, message: &str, checked: Option<&DiffFacts>, at: Timestamp) {
    for seat in &mut review.seats {
        seat.patch = None;
        vacate(seat, at);
        seat.reservation = None;
    }
    match (&mut review.round.diff, checked) {
        (Some(diff), Some(checked)) => diff.clone_from(checked),
        (Some(diff), None) => diff.check = DiffCheck::Fails { message: message.into() },
        (None, _) => {}
    }
    if review.round.number >= review.policy.max_rounds {
        escalate(review, Some(Escalation::Rounds), at);
    }
    review.decision = Some(Decision {
        verdict: Verdict::ChangesRequested,
        reason: Some(message.into()),
        by: crate::ids::VALIDATOR.into(),
    });
    review.approved_hash = None;
    review.returned = true;
    review.status = Status::ChangesRequested;
}

/// Frees a seat. Its counter-patch stays until the proposer answers it or revises.
fn vacate(seat: &mut Seat, at: Timestamp) {
    seat.claim = None;
    seat.vote = None;
    seat.reservation = None;
    seat.since = at;
}

/// The status of an open review, by its seats.
fn open_status(review: &Review) -> Status {
    let busy = review.seats.iter().any(|seat| seat.claim.is_some() || seat.vote.is_some());
    match (busy, review.seats.len()) {
        (false, _) => Status::Pending,
        (true, 1) => Status::Claimed,
        (true, _) => Status::InReview,
    }
}

fn seat_mut<'a>(review: &'a mut Review, persona: &str) -> Option<&'a mut Seat> {
    review.seats.iter_mut().find(|seat| seat.persona == persona)
}
