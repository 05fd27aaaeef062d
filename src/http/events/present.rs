//! An event as subscribers see it: one JSON object, written once for all of them.

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use domain::{
    event_kind::Topic,
    ids::ReviewNumber,
    pool::PoolEvent,
    review::{Event, FindingResolved},
};
use serde_json::{Value, json};
use store::{EventRecord, LogEntry};

/// Of a longer text only the beginning is told; the whole of it is in the review.
const TEXT_CHARS: usize = 500;

/// Of a longer list only the beginning.
const ITEMS: usize = 20;

/// Written, with what filters ask for.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) seq: u64,
    pub(super) topic: Topic,
    pub(super) kind: &'static str,
    pub(super) review: Option<ReviewNumber>,
    /// `None`: nobody can say whose it is.
    pub(super) project: Option<Option<String>>,
    pub(crate) json: Utf8Bytes,
    /// The same as a server-sent event.
    pub(super) sse: Bytes,
}

impl Told {
    pub(crate) fn of(news: EventRecord) -> Self {
        let (topic, kind, review, data) = match &news.entry {
            LogEntry::Review { number, recorded, .. } => {
                (recorded.event.topic(), recorded.event.kind().as_str(), Some(*number), of_review(&recorded.event))
            }
            LogEntry::Pool(event) => (event.topic(), event.kind().as_str(), None, of_pool(event)),
        };
        let (review_id, number, version) = match &news.entry {
            LogEntry::Review { id, number, recorded } => {
                (Some(id.to_string()), Some(number.to_string()), Some(recorded.version))
            }
            LogEntry::Pool(_) => (None, None, None),
        };
        let json = json!({
            "seq": news.seq,
            "at": api::timestamp(news.at),
            "type": topic.as_str(),
            "kind": kind,
            "review_id": review_id,
            "number": number,
            "project": news.project.clone().flatten(),
            "actor": news.actor.as_deref().map(clipped),
            "status": news.status,
            "round": news.round,
            "version": version,
            "data": data,
        })
        .to_string();
        let sse = frame(Some(news.seq), topic.as_str(), &json);
        Self { seq: news.seq, topic, kind, review, project: news.project, json: json.into(), sse }
    }
}

/// JSON has no bare line breaks, so it is always one line of data.
pub(super) fn frame(seq: Option<u64>, name: &str, json: &str) -> Bytes {
    let id = seq.map(|seq| format!("id: {seq}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {json}\n\n").into()
}

/// What is worth knowing without a look at the review. Chosen field by field: no keys, no digests, nothing long.
fn of_review(event: &Event) -> Value {
    match event {
        Event::Proposed(proposed) => json!({
            "intent": clipped(&proposed.round.intent),
            "priority": proposed.priority,
            "category": proposed.category,
            "agent_type": clipped(&proposed.proposer.agent_type),
            "phase": clipped(&proposed.proposer.phase),
            "personas": names(&proposed.personas),
        }),
        Event::Revised { round, .. } => json!({ "intent": clipped(&round.intent) }),
        Event::Claimed { persona, by, generation, .. } => {
            json!({ "persona": clipped(persona), "reviewer_id": clipped(by), "claim_generation": generation })
        }
        Event::AutoRejected { claimant, words, .. } => {
            json!({ "reviewer_id": clipped(claimant), "words": clipped(words) })
        }
        Event::ClaimEnded { persona, by, reason, detail, .. } => json!({
            "persona": clipped(persona),
            "reviewer_id": clipped(by),
            "reason": reason,
            "detail": detail.as_deref().map(clipped),
        }),
        Event::ReservationEnded { persona, reviewer } => {
            json!({ "persona": clipped(persona), "reviewer_id": clipped(reviewer) })
        }
        Event::VerdictGiven {
            persona,
            by,
            verdict,
            reason,
            summary,
            offers_patch,
            escalate,
            findings,
            settles,
            ..
        } => json!({
            "persona": clipped(persona),
            "reviewer_id": clipped(by),
            "verdict": verdict,
            "reason": reason.as_deref().map(clipped),
            "summary": summary.as_deref().map(clipped),
            "counter_patch": offers_patch,
            "escalate": escalate,
            "issues": findings.iter().take(ITEMS).map(|raised| raised.number.to_string()).collect::<Vec<_>>(),
            "issue_count": findings.len(),
            // Of the findings of its own that an approval ends, nothing else is told.
            "settled": settles.iter().take(ITEMS).map(settled).collect::<Vec<_>>(),
            "settled_count": settles.len(),
        }),
        Event::FindingUpdated(updated) => json!({
            "issue_id": updated.number.to_string(),
            "wish": updated.wish,
            "by_role": updated.role,
            "settles": updated.settles,
            "duplicate_of": updated.duplicate_of.map(|number| number.to_string()),
            "note": updated.note.as_deref().map(clipped),
        }),
        Event::MessageAdded { persona, role, body, requeued, .. } => json!({
            "persona": clipped(persona),
            "role": role,
            "body": clipped(body),
            "requeued": requeued.is_some(),
        }),
        Event::CounterPatchAccepted { persona, patch, freed, .. } => {
            json!({ "persona": clipped(persona), "patch": patch, "freed": names(freed) })
        }
        Event::CounterPatchRejected { persona, patch, .. } => json!({ "persona": clipped(persona), "patch": patch }),
        Event::Cancelled { reason, detached, .. } => json!({ "reason": clipped(reason), "detached": names(detached) }),
        Event::Closed { by, .. } => json!({ "by_role": by }),
    }
}

fn settled(settled: &FindingResolved) -> Value {
    json!({ "issue_id": settled.number.to_string(), "status": settled.status })
}

fn of_pool(event: &PoolEvent) -> Value {
    match event {
        PoolEvent::ReviewerSpawned { reviewer, runtime, why, persona, .. } => json!({
            "reviewer_id": clipped(reviewer),
            "runtime": clipped(runtime),
            "why": why,
            "persona": persona.as_deref().map(clipped),
        }),
        PoolEvent::ReviewerRetried { reviewer, why } => {
            json!({ "reviewer_id": clipped(reviewer), "why": clipped(why) })
        }
        PoolEvent::ReviewerDraining { reviewer, why } => json!({ "reviewer_id": clipped(reviewer), "why": why }),
        PoolEvent::ReviewerTerminated { reviewer, exit, ran_ms } => {
            json!({ "reviewer_id": clipped(reviewer), "exit": clipped(exit), "ran_ms": ran_ms })
        }
        PoolEvent::CrashLoop { persona, failures, last_words, .. } => json!({
            "persona": persona.as_deref().map(clipped),
            "failures": failures,
            "last_words": names(last_words),
        }),
        PoolEvent::CrashLoopCleared { .. } => json!({}),
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn names(all: &[String]) -> Vec<String> {
    all.iter().take(ITEMS).map(|name| clipped(name)).collect()
}

#[cfg(test)]
#[path = "present_tests.rs"]
mod tests;
