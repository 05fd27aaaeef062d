//! Tests what each command does in each status, as one snapshot. [`super::diagram`] uses the same sample commands.

use super::{
    acceptance, after, applies, approved, asked_back, auto_rejected, cancelled, changes_requested, claim, claimed,
    closed, fails, in_review, later, message, offers, pending, rejected, release, revise, says, verdict, with_patch,
};
use crate::{
    credential::Authority,
    review::{
        AddMessage, CheckedDiff, ClaimSeat, Command, DiffCheck, GiveVerdict, OfferedPatch, Refusal, Review, Role,
        Status,
        transition::{Transition, transition},
    },
    time::Now,
    verdict::Verdict,
};

const REVIEWERS: [&str; 3] = ["ada", "bob", "cyd"];

/// A command with the moment it is given at.
pub(super) type Step = (Command, Now);

/// Every sensible command for this review, and who could give it: each reviewer, each seat.
pub(super) fn steps(review: &Review) -> Vec<Step> {
    let content = || review.round.content_hash.clone();
    let held = || review.seats.iter().filter_map(|seat| seat.claim.as_ref());
    let speakers = || held().map(|claim| claim.by.as_str());
    let now = |command: Command| (command, super::START);
    let mut steps = vec![now(revise(review))];
    for reviewer in REVIEWERS {
        for seat in &review.seats {
            steps.push(now(super::claim_of(content(), reviewer, Some(&seat.persona), applies())));
        }
    }
    steps.push(now(super::claim_of(content(), "cyd", None, fails())));
    steps.push(now(super::rebasing_claim(review, "cyd", None)));
    for seat in &review.seats {
        steps.push(now(super::take_over(review, "cyd", Some(&seat.persona))));
    }
    steps.extend(speakers().map(|by| (Command::Renew { by: by.into() }, halfway(review))));
    if review.seats.len() < 2 {
        steps.push(now(super::add_seat("tests")));
    }
    steps.extend(held().map(|claim| now(release(claim.generation))));
    steps.extend(REVIEWERS.map(|reviewer| now(super::gone(reviewer))));
    steps.extend(REVIEWERS.map(|reviewer| now(super::turn_ended(reviewer))));
    steps.push((Command::Expire, later(review)));
    for reviewer in speakers() {
        for word in Verdict::ALL.iter().copied() {
            // A new reason each time, so that it is never taken for a repeat.
            let reason = word.needs_reason().then(|| format!("at version {}", review.version));
            let given = GiveVerdict { reason, summary: Some(review.version.to_string()), ..verdict(reviewer, word) };
            steps.push(now(super::give(given.clone())));
            if word.may_offer_patch() {
                let patch = Some(OfferedPatch { check: Some(applies()), files: Vec::new() });
                steps.push(now(super::give(GiveVerdict { patch, ..given })));
            }
        }
    }
    for seat in &review.seats {
        let persona = Some(seat.persona.clone());
        for role in Role::ALL.iter().copied() {
            let said = message(role, &format!("at version {}", review.version));
            steps.push(now(Command::AddMessage(AddMessage { persona: persona.clone(), ..said })));
        }
        steps.push(now(Command::AcceptCounterPatch(acceptance(review, Some(&seat.persona)))));
        steps.push(now(Command::RejectCounterPatch { by: None, persona }));
    }
    steps.push(now(super::operator_writes(&format!("at version {}", review.version))));
    steps.extend([now(super::cancel()), now(super::close())]);
    steps
}

/// Just before the next deadline.
fn halfway(review: &Review) -> Now {
    let deadline = later(review);
    super::now(deadline.tick.0 - 1)
}

/// What a command is called in the docs. A new command does not compile until it has a name here;
/// [`steps`] is then the place to give it.
pub(super) const fn name(command: &Command) -> &'static str {
    match command {
        Command::Propose(_) => "propose",
        Command::Revise(_) => "revise",
        Command::Claim(ClaimSeat { check: Some(CheckedDiff { rebased: Some(_), .. }), .. }) => "claim (re-based)",
        Command::Claim(ClaimSeat { check: Some(CheckedDiff { check: DiffCheck::Fails { .. }, .. }), .. }) => {
            "claim (diff does not apply)"
        }
        Command::Claim(ClaimSeat { takes_over: Some(_), .. }) => "take over",
        Command::Claim(_) => "claim",
        Command::Release(_) => "release",
        Command::Renew { .. } => "renew",
        Command::AddSeat(_) => "add a seat",
        Command::ReviewerGone { keep_seat: None, .. } => "reviewer gone",
        Command::ReviewerGone { keep_seat: Some(_), .. } => "turn ended",
        Command::Expire => "expire",
        Command::GiveVerdict(given) => match given.verdict {
            Verdict::Approved => "approve",
            Verdict::ChangesRequested => "request changes",
            Verdict::Comment => "comment",
            Verdict::Rejected => "reject",
        },
        Command::UpdateFinding(_) => "update an issue",
        Command::AddMessage(AddMessage { role: Authority::Proposer, .. }) => "proposer's message",
        Command::AddMessage(AddMessage { role: Authority::Reviewer, .. }) => "reviewer's message",
        Command::AddMessage(AddMessage { role: Authority::Operator, .. }) => "operator's message",
        Command::AcceptCounterPatch(_) => "accept counter-patch",
        Command::RejectCounterPatch { .. } => "reject counter-patch",
        Command::Cancel { .. } => "cancel",
        Command::Close { .. } => "close",
    }
}

/// Reviews that stand for a status, by what else matters. A new status does not compile without one.
fn specimens(status: Status) -> Vec<(&'static str, Review)> {
    match status {
        Status::Pending => vec![
            ("", pending()),
            (", reserved for ada", asked_back()),
            (", counter-patch on offer", after(&with_patch(), super::writes(Role::Proposer, "why?"))),
        ],
        Status::Claimed => {
            vec![("", claimed()), (", counter-patch on offer", { after(&claimed(), offers("ada", Verdict::Comment)) })]
        }
        Status::InReview => vec![
            (", one seat free", in_review()),
            (", one seat voted", after(&after(&in_review(), claim("bob")), says("ada", Verdict::Approved))),
        ],
        Status::ChangesRequested => vec![
            ("", changes_requested()),
            (", counter-patch on offer", with_patch()),
            (" by the broker", auto_rejected()),
        ],
        Status::Approved => vec![("", approved())],
        Status::Rejected => vec![("", rejected())],
        Status::Cancelled => vec![("", cancelled())],
        Status::Closed => vec![("", closed())],
    }
}

fn answer(outcome: Result<Transition, Refusal>) -> String {
    match outcome {
        Ok(Transition { next, events, .. }) if events.is_empty() => format!("{}, nothing new", next.status),
        Ok(Transition { next, .. }) => next.status.to_string(),
        Err(refusal) => format!("refused {}", refusal.code()),
    }
}

/// One of each command, including impossible ones.
fn one_of_each(review: &Review) -> Vec<(String, Step)> {
    let content = || review.round.content_hash.clone();
    let holder = review.holders().next().unwrap_or("ada").to_owned();
    let generation = review.seats[0].claim.as_ref().map_or(review.claim_generation, |claim| claim.generation);
    let given = |word| GiveVerdict { summary: Some("second thoughts".into()), ..verdict(&holder, word) };
    let said = |role| AddMessage { persona: Some("general".into()), ..message(role, "well?") };

    let mut commands =
        vec![super::claim_of(content(), "cyd", None, fails()), super::rebasing_claim(review, "cyd", None)];
    commands.extend([release(generation), super::gone(&holder)]);
    commands.extend(Verdict::ALL.iter().map(|word| super::give(given(*word))));
    commands.extend(Role::ALL.iter().map(|role| Command::AddMessage(said(*role))));
    commands.extend([
        Command::AcceptCounterPatch(acceptance(review, None)),
        super::reject(),
        revise(review),
        super::take_over(review, "cyd", None),
        super::add_seat("tests"),
        super::operator_writes("please go on"),
        super::cancel(),
        super::close(),
    ]);
    let mut steps: Vec<_> = ["ada", "cyd"]
        .iter()
        .map(|by| (format!("claim by {by}"), (super::claim_of(content(), by, None, applies()), super::START)))
        .collect();
    steps.extend(commands.into_iter().map(|command| (name(&command).into(), (command, super::START))));
    steps.push(("expire".into(), (Command::Expire, later(review))));
    steps
}

#[test]
fn every_status_with_every_command() {
    let mut table = Vec::new();
    for status in Status::ALL {
        for (detail, review) in specimens(*status) {
            assert_eq!(review.status, *status);
            for (label, (command, moment)) in one_of_each(&review) {
                let answer = answer(transition(Some(&review), command, moment, &super::RULES));
                table.push(format!("{status}{detail} × {label} -> {answer}"));
            }
            table.push(String::new());
        }
    }
    insta::assert_snapshot!(table.join("\n"));
}
