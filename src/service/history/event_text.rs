//! Describes an event in one line, with the start of the text it is about.

use domain::{
    pool::PoolEvent,
    review::{Event, FindingUpdated},
    text::{count, ellipsize, escape},
    verdict::Verdict,
};
use store::{EventRecord, LogEntry};

const LINE_CHARS: usize = 200;
const PREVIEW_CHARS: usize = 200;

/// Texts of agents are shortened, and hidden characters in them are made visible.
pub(super) struct EventText {
    pub text: String,
    pub preview: Option<String>,
}

impl EventText {
    pub(super) fn new(row: &EventRecord) -> Self {
        let (text, about) = match &row.entry {
            LogEntry::Review { number, recorded, .. } => {
                let actor = row.actor.as_deref().unwrap_or("the broker");
                (review_event(&recorded.event, actor, &number.to_string()), review_text(&recorded.event))
            }
            LogEntry::Pool(event) => (pool_event(event), pool_text(event)),
        };
        let preview = about.map(|about| clipped(&about, PREVIEW_CHARS)).filter(|preview| !preview.is_empty());
        Self { text: clipped(&text, LINE_CHARS), preview }
    }
}

pub(super) fn clipped(text: &str, max_chars: usize) -> String {
    ellipsize(&escape(text.trim()), max_chars).into_owned()
}

fn review_event(event: &Event, actor: &str, number: &str) -> String {
    match event {
        Event::Proposed(_) => format!("{actor} proposed {number}"),
        Event::Revised { round, .. } => format!("{actor} revised {number}: round {}", round.number),
        Event::Claimed { persona, .. } => format!("{actor} claimed {number} as {persona}"),
        Event::AutoRejected { .. } => format!("{number} was sent back to its proposer: the diff does not apply"),
        Event::ClaimEnded { by, reason, .. } => format!("the claim of {by} on {number} ended: {reason}"),
        Event::ReservationEnded { reviewer, .. } => format!("{number} is no longer reserved for {reviewer}"),
        Event::VerdictGiven { persona, verdict, status, offers_patch, findings, .. } => {
            let issues = findings.iter().filter(|raised| raised.found.is_issue).count();
            let action = match verdict {
                Verdict::Approved => "approved",
                Verdict::ChangesRequested => "requested changes to",
                Verdict::Comment => "commented on",
                Verdict::Rejected => "rejected",
            };
            let issues = if issues == 0 { String::new() } else { format!(", {}", count(issues as u64, "issue")) };
            let patch = if *offers_patch { ", with a counter-patch" } else { "" };
            format!("{actor} {action} {number} as {persona}{issues}{patch}; status: {status}")
        }
        Event::FindingUpdated(FindingUpdated { number: finding, wish, settles: true, .. }) => {
            format!("{actor} set {finding} of {number} to {wish}")
        }
        Event::FindingUpdated(FindingUpdated { number: finding, wish, settles: false, .. }) => {
            format!("{actor} responded to {finding} of {number}: {wish}")
        }
        Event::MessageAdded { role, persona, .. } => {
            format!("{actor} sent a message on {number} as the {role}, seat {persona}")
        }
        Event::CounterPatchAccepted { persona, .. } => {
            format!("{actor} accepted the counter-patch of {persona} on {number}")
        }
        Event::CounterPatchRejected { persona, .. } => {
            format!("{actor} rejected the counter-patch of {persona} on {number}")
        }
        Event::Cancelled { .. } => format!("{actor} cancelled {number}"),
        Event::Closed { .. } => format!("{actor} closed {number}"),
    }
}

fn review_text(event: &Event) -> Option<String> {
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

fn pool_event(event: &PoolEvent) -> String {
    let suffix = |project: &Option<String>| project.as_ref().map_or(String::new(), |project| format!(" for {project}"));
    match event {
        PoolEvent::ReviewerSpawned { reviewer, project, why, .. } => {
            format!("reviewer {reviewer} was started{}: {why}", suffix(project))
        }
        PoolEvent::ReviewerRetried { reviewer, .. } => format!("reviewer {reviewer} was asked again"),
        PoolEvent::ReviewerDraining { reviewer, why } => format!("reviewer {reviewer} takes no new reviews: {why}"),
        PoolEvent::ReviewerTerminated { reviewer, exit, .. } => format!("reviewer {reviewer} ended: {exit}"),
        PoolEvent::CrashLoop { project, failures, .. } => {
            format!("the pool stopped starting reviewers{}: {failures} failed in a row", suffix(project))
        }
        PoolEvent::CrashLoopCleared { project } => format!("the pool starts reviewers again{}", suffix(project)),
    }
}

fn pool_text(event: &PoolEvent) -> Option<String> {
    match event {
        PoolEvent::ReviewerRetried { why, .. } => Some(why.clone()),
        PoolEvent::CrashLoop { last_words, .. } => Some(last_words.join("\n")),
        PoolEvent::ReviewerSpawned { .. }
        | PoolEvent::ReviewerDraining { .. }
        | PoolEvent::ReviewerTerminated { .. }
        | PoolEvent::CrashLoopCleared { .. } => None,
    }
}
