//! An event in one line, with the beginning of the text it is about.

use domain::text::escape;
use domain::{
    pool::PoolEvent,
    review::{Event, FindingUpdated},
    verdict::Verdict,
};
use store::{EventRecord, LogEntry};

const LINE_CHARS: usize = 200;
const PREVIEW_CHARS: usize = 200;

/// Whatever agents wrote into it is bounded, and hidden characters in it are visible.
pub(super) struct Told {
    pub text: String,
    pub preview: Option<String>,
}

impl Told {
    pub(super) fn of(row: &EventRecord) -> Self {
        let (text, about) = match &row.entry {
            LogEntry::Review { number, recorded, .. } => {
                let actor = row.actor.as_deref().unwrap_or("the broker");
                (of_review(&recorded.event, actor, &number.to_string()), about(&recorded.event))
            }
            LogEntry::Pool(event) => (of_pool(event), about_pool(event)),
        };
        let preview = about.map(|about| clipped(&about, PREVIEW_CHARS)).filter(|preview| !preview.is_empty());
        Self { text: clipped(&text, LINE_CHARS), preview }
    }
}

pub(super) fn clipped(text: &str, max_chars: usize) -> String {
    let shown = escape(text.trim());
    match shown.char_indices().nth(max_chars) {
        None => shown.into_owned(),
        Some((end, _)) => format!("{}…", &shown[..end]),
    }
}

fn of_review(event: &Event, actor: &str, number: &str) -> String {
    match event {
        Event::Proposed(_) => format!("{actor} proposed {number}"),
        Event::Revised { round, .. } => format!("{actor} revised {number}: round {}", round.number),
        Event::Claimed { persona, .. } => format!("{actor} claimed {number} as {persona}"),
        Event::AutoRejected { .. } => format!("{number} went back to its proposer: the diff does not apply"),
        Event::ClaimEnded { by, reason, .. } => format!("the claim of {by} on {number} ended: {reason}"),
        Event::ReservationEnded { reviewer, .. } => format!("{number} is no longer kept for {reviewer}"),
        Event::VerdictGiven { persona, verdict, status, offers_patch, findings, .. } => {
            let issues = findings.iter().filter(|raised| raised.found.is_issue).count();
            let did = match verdict {
                Verdict::Approved => "approved",
                Verdict::ChangesRequested => "asked for changes of",
                Verdict::Comment => "commented on",
                Verdict::Rejected => "rejected",
            };
            let issues = match issues {
                0 => String::new(),
                1 => ", 1 issue".to_owned(),
                many => format!(", {many} issues"),
            };
            let patch = if *offers_patch { ", with a counter-patch" } else { "" };
            format!("{actor} {did} {number} as {persona}{issues}{patch}; it is {status}")
        }
        Event::FindingUpdated(FindingUpdated { number: finding, wish, settles: true, .. }) => {
            format!("{actor} set {finding} of {number} to {wish}")
        }
        Event::FindingUpdated(FindingUpdated { number: finding, wish, settles: false, .. }) => {
            format!("{actor} says of {finding} of {number}: {wish}")
        }
        Event::MessageAdded { role, persona, .. } => format!("{actor} wrote on {number} as the {role}, seat {persona}"),
        Event::CounterPatchAccepted { persona, .. } => {
            format!("{actor} took the counter-patch of {persona} on {number}")
        }
        Event::CounterPatchRejected { persona, .. } => {
            format!("{actor} declined the counter-patch of {persona} on {number}")
        }
        Event::Cancelled { .. } => format!("{actor} cancelled {number}"),
        Event::Closed { .. } => format!("{actor} closed {number}"),
    }
}

fn about(event: &Event) -> Option<String> {
    match event {
        Event::Proposed(proposed) => Some(proposed.round.intent.clone()),
        Event::Revised { round, .. } => Some(round.intent.clone()),
        Event::AutoRejected { words, .. } => Some(words.clone()),
        Event::ClaimEnded { detail, .. } => detail.clone(),
        Event::VerdictGiven { reason, summary, .. } => reason.clone().or_else(|| summary.clone()),
        Event::FindingUpdated(updated) => updated.note.clone(),
        Event::MessageAdded { body, .. } => Some(body.clone()),
        Event::Cancelled { reason, .. } => Some(reason.clone()),
        Event::Claimed { .. }
        | Event::ReservationEnded { .. }
        | Event::CounterPatchAccepted { .. }
        | Event::CounterPatchRejected { .. }
        | Event::Closed { .. } => None,
    }
}

fn of_pool(event: &PoolEvent) -> String {
    let of = |project: &Option<String>| project.as_ref().map_or(String::new(), |project| format!(" for {project}"));
    match event {
        PoolEvent::ReviewerSpawned { reviewer, project, why, .. } => {
            format!("the reviewer {reviewer} was started{}: {why}", of(project))
        }
        PoolEvent::ReviewerRetried { reviewer, .. } => format!("the reviewer {reviewer} was asked once more"),
        PoolEvent::ReviewerDraining { reviewer, why } => format!("the reviewer {reviewer} takes no new review: {why}"),
        PoolEvent::ReviewerTerminated { reviewer, exit, .. } => format!("the reviewer {reviewer} ended: {exit}"),
        PoolEvent::CrashLoop { project, failures, .. } => {
            format!("no more reviewers are started{}: {failures} failed in a row", of(project))
        }
        PoolEvent::CrashLoopCleared { project } => format!("reviewers are started again{}", of(project)),
    }
}

fn about_pool(event: &PoolEvent) -> Option<String> {
    match event {
        PoolEvent::ReviewerRetried { why, .. } => Some(why.clone()),
        PoolEvent::CrashLoop { last_words, .. } => Some(last_words.join("\n")),
        PoolEvent::ReviewerSpawned { .. }
        | PoolEvent::ReviewerDraining { .. }
        | PoolEvent::ReviewerTerminated { .. }
        | PoolEvent::CrashLoopCleared { .. } => None,
    }
}
