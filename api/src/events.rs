//! The JSON type of an event, as event streams, webhooks, the activity feed and the audit log return it.

use domain::{
    credential::Authority,
    event_kind::Topic,
    finding::{FindingStatus, RequestedStatus},
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Category, ClaimEndReason, Event as ReviewEvent, FindingResolved, MessageAnchor, Recipient, Role, Status},
    reviewer_pool::{
        PoolEvent, VerdictCounts,
        scaling::{DrainReason, SpawnReason},
    },
    text::{count, ellipsize, escape, short_commit},
    verdict::Verdict,
    waiting_on::Turn,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most characters of a text inside an event. The full text is in the review.
const TEXT_CHARS: usize = 500;

/// Most items of a list inside an event.
const MAX_ITEMS: usize = 20;

/// Most characters of [`Event::summary`] and of [`Event::preview`].
const LINE_CHARS: usize = 200;

/// One event of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LiveEvent")]
pub struct Event {
    /// The sequence number in the log.
    pub seq: u64,
    pub at: jiff::Timestamp,
    /// What the event means to a client that displays reviews.
    #[serde(rename = "type")]
    pub topic: Topic,
    /// What it means as well: a decision is also `review_updated`. Filters find it by both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Topic>,
    /// `null` for events of the reviewer pool, like the other fields of a review.
    pub review_id: Option<ReviewId>,
    pub number: Option<ReviewNumber>,
    pub project: Option<String>,
    /// Who caused the event. `null`: the broker.
    pub actor: Option<String>,
    /// The review's status after the event.
    pub status: Option<Status>,
    pub round: Option<u32>,
    /// Who must act after the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<Turn>,
    /// The review's version after the event.
    pub version: Option<u64>,
    #[serde(flatten)]
    pub data: EventData,
}

/// The fields `kind` and `data` of an event. Texts and lists are bounded; keys and digests are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum EventData {
    Proposed {
        intent: String,
        priority: Priority,
        category: Option<Category>,
        agent_type: String,
        phase: String,
        personas: Vec<String>,
    },
    Revised {
        intent: String,
        change_note: Option<String>,
    },
    Claimed {
        persona: String,
        reviewer_id: String,
        claim_generation: u32,
    },
    /// HEAD became the base of the diff, which does not apply to its old base.
    Rebased {
        /// The old base. `null`: the empty tree.
        from: Option<String>,
        /// The new base.
        to: String,
        content_hash: String,
        /// Personas whose seats became free.
        freed: Vec<String>,
    },
    AutoRejected {
        reviewer_id: String,
        /// Git's message.
        message: String,
    },
    ClaimEnded {
        persona: String,
        reviewer_id: String,
        /// The generation of the review after the claim.
        claim_generation: u32,
        reason: ClaimEndReason,
        detail: Option<String>,
    },
    ReservationEnded {
        persona: String,
        reviewer_id: String,
    },
    ClaimRenewed {
        persona: String,
        reviewer_id: String,
    },
    SeatAdded {
        persona: String,
        by_role: Authority,
    },
    VerdictGiven {
        persona: String,
        reviewer_id: String,
        /// The claim that it was given under.
        claim_generation: u32,
        verdict: Verdict,
        reason: Option<String>,
        summary: Option<String>,
        /// It came with a counter-patch.
        counter_patch: bool,
        escalate: bool,
        /// Ids of the issues and suggestions it raised.
        issues: Vec<String>,
        issue_count: usize,
        /// The reviewer's own issues that an approval resolved.
        settled: Vec<SettledIssue>,
        settled_count: usize,
    },
    FindingUpdated {
        issue_id: String,
        /// The requested status.
        wish: RequestedStatus,
        by_role: Authority,
        /// The request took effect.
        settles: bool,
        duplicate_of: Option<String>,
        note: Option<String>,
    },
    MessageAdded {
        persona: Option<String>,
        /// Whom it addresses, if it does not belong to one seat.
        to: Option<Recipient>,
        role: Authority,
        body: String,
        anchor: Option<MessageAnchor>,
        escalate: bool,
        /// The message put the review back into the queue.
        requeued: bool,
    },
    CounterPatchAccepted {
        persona: String,
        patch: u64,
        /// Personas whose seats became free.
        freed: Vec<String>,
    },
    CounterPatchRejected {
        persona: String,
        patch: u64,
    },
    Cancelled {
        reason: String,
        /// Reviewers that are no longer needed.
        detached: Vec<String>,
    },
    Closed {
        by_role: Role,
        /// The commit in which the approved change landed.
        landed_as: Option<String>,
    },
    ReviewerSpawned {
        reviewer_id: String,
        runtime: String,
        why: SpawnReason,
        persona: Option<String>,
        /// The turn of a dedicated reviewer, from 1.
        turn: Option<u32>,
        /// The session that a dedicated reviewer continues. Absent if it begins a new one.
        reviewer_session_id: Option<String>,
        /// The operator who asked for it.
        by: Option<String>,
        /// Of the process that the broker started for it.
        pid: Option<u32>,
    },
    ReviewerRetried {
        reviewer_id: String,
        why: String,
        pid: Option<u32>,
    },
    ReviewerDraining {
        reviewer_id: String,
        why: DrainReason,
        /// The operator who stopped it.
        by: Option<String>,
    },
    ReviewerTerminated {
        reviewer_id: String,
        /// `exit code 1`, `killed by SIGKILL`, `stopped: idle`
        exit: String,
        ran_ms: Option<u64>,
        /// Why the pool stopped it, if it did.
        why: Option<DrainReason>,
        /// The operator who stopped it.
        by: Option<String>,
        pid: Option<u32>,
        /// Its verdicts.
        verdicts: Option<VerdictCounts>,
    },
    CrashLoop {
        persona: Option<String>,
        failures: u32,
        last_words: Vec<String>,
    },
    CrashLoopCleared {
        /// The operator who asked for a reviewer.
        by: Option<String>,
    },
    PoolPaused {
        /// The operator who paused it.
        by: Option<String>,
    },
    PoolResumed {
        /// The operator who resumed it.
        by: Option<String>,
    },
    PoolLimitChanged {
        max_size: usize,
        /// The operator who changed it.
        by: Option<String>,
    },
}

/// An issue that an approval resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledIssue {
    pub issue_id: String,
    pub status: FindingStatus,
}

impl From<&FindingResolved> for SettledIssue {
    fn from(resolved: &FindingResolved) -> Self {
        Self { issue_id: resolved.number.to_string(), status: resolved.status }
    }
}

impl From<&ReviewEvent> for EventData {
    fn from(event: &ReviewEvent) -> Self {
        match event {
            ReviewEvent::Proposed(proposed) => Self::Proposed {
                intent: shorten(&proposed.round.intent),
                priority: proposed.priority,
                category: proposed.category,
                agent_type: shorten(&proposed.proposer.agent_type),
                phase: shorten(&proposed.proposer.phase),
                personas: shorten_all(&proposed.personas),
            },
            ReviewEvent::Revised { round, .. } => {
                Self::Revised { intent: shorten(&round.intent), change_note: round.change_note.as_deref().map(shorten) }
            }
            ReviewEvent::Claimed { persona, by, generation, .. } => {
                Self::Claimed { persona: shorten(persona), reviewer_id: shorten(by), claim_generation: *generation }
            }
            ReviewEvent::Rebased { from, to, content_hash, requeued, .. } => Self::Rebased {
                from: from.as_deref().map(shorten),
                to: shorten(to),
                content_hash: content_hash.0.clone(),
                freed: requeued.seats.iter().take(MAX_ITEMS).map(|seat| shorten(&seat.persona)).collect(),
            },
            ReviewEvent::AutoRejected { claimant, message, .. } => {
                Self::AutoRejected { reviewer_id: shorten(claimant), message: shorten(message) }
            }
            ReviewEvent::ClaimEnded { persona, by, reason, detail, generation, .. } => Self::ClaimEnded {
                persona: shorten(persona),
                reviewer_id: shorten(by),
                claim_generation: *generation,
                reason: *reason,
                detail: detail.as_deref().map(shorten),
            },
            ReviewEvent::ReservationEnded { persona, reviewer } => {
                Self::ReservationEnded { persona: shorten(persona), reviewer_id: shorten(reviewer) }
            }
            ReviewEvent::ClaimRenewed { persona, by, .. } => {
                Self::ClaimRenewed { persona: shorten(persona), reviewer_id: shorten(by) }
            }
            ReviewEvent::SeatAdded { persona, role, .. } => {
                Self::SeatAdded { persona: shorten(persona), by_role: *role }
            }
            ReviewEvent::VerdictGiven(given) => Self::VerdictGiven {
                persona: shorten(&given.persona),
                reviewer_id: shorten(&given.by),
                claim_generation: given.generation,
                verdict: given.verdict,
                reason: given.reason.as_deref().map(shorten),
                summary: given.summary.as_deref().map(shorten),
                counter_patch: given.offers_patch,
                escalate: given.escalation.is_some(),
                issues: given.findings.iter().take(MAX_ITEMS).map(|raised| raised.number.to_string()).collect(),
                issue_count: given.findings.len(),
                settled: given.resolved.iter().take(MAX_ITEMS).map(SettledIssue::from).collect(),
                settled_count: given.resolved.len(),
            },
            ReviewEvent::FindingUpdated(updated) => Self::FindingUpdated {
                issue_id: updated.number.to_string(),
                wish: updated.requested,
                by_role: updated.role,
                settles: updated.settles,
                duplicate_of: updated.duplicate_of.map(|number| number.to_string()),
                note: updated.note.as_deref().map(shorten),
            },
            ReviewEvent::MessageAdded { persona, to, role, body, anchor, requeued, escalation, .. } => {
                Self::MessageAdded {
                    persona: persona.as_deref().map(shorten),
                    to: *to,
                    role: *role,
                    body: shorten(body),
                    anchor: anchor.clone(),
                    escalate: escalation.is_some(),
                    requeued: requeued.is_some(),
                }
            }
            ReviewEvent::CounterPatchAccepted { persona, patch, requeued, .. } => Self::CounterPatchAccepted {
                persona: shorten(persona),
                patch: *patch,
                freed: requeued.seats.iter().take(MAX_ITEMS).map(|seat| shorten(&seat.persona)).collect(),
            },
            ReviewEvent::CounterPatchRejected { persona, patch, .. } => {
                Self::CounterPatchRejected { persona: shorten(persona), patch: *patch }
            }
            ReviewEvent::Cancelled { reason, detached, .. } => {
                Self::Cancelled { reason: shorten(reason), detached: shorten_all(detached) }
            }
            ReviewEvent::Closed { by, landed_as, .. } => Self::Closed { by_role: *by, landed_as: landed_as.clone() },
        }
    }
}

impl From<&PoolEvent> for EventData {
    fn from(event: &PoolEvent) -> Self {
        match event {
            PoolEvent::ReviewerSpawned { reviewer, runtime, why, persona, turn, session_id, by, pid, .. } => {
                Self::ReviewerSpawned {
                    reviewer_id: shorten(reviewer),
                    runtime: shorten(runtime),
                    why: *why,
                    persona: persona.as_deref().map(shorten),
                    turn: *turn,
                    reviewer_session_id: session_id.as_deref().map(shorten),
                    by: by.as_deref().map(shorten),
                    pid: *pid,
                }
            }
            PoolEvent::ReviewerRetried { reviewer, why, pid } => {
                Self::ReviewerRetried { reviewer_id: shorten(reviewer), why: shorten(why), pid: *pid }
            }
            PoolEvent::ReviewerDraining { reviewer, why, by } => {
                Self::ReviewerDraining { reviewer_id: shorten(reviewer), why: *why, by: by.as_deref().map(shorten) }
            }
            PoolEvent::ReviewerTerminated { reviewer, exit, ran_ms, why, by, pid, verdicts } => {
                Self::ReviewerTerminated {
                    reviewer_id: shorten(reviewer),
                    exit: shorten(exit),
                    ran_ms: *ran_ms,
                    why: *why,
                    by: by.as_deref().map(shorten),
                    pid: *pid,
                    verdicts: *verdicts,
                }
            }
            PoolEvent::CrashLoop { persona, failures, last_words, .. } => Self::CrashLoop {
                persona: persona.as_deref().map(shorten),
                failures: *failures,
                last_words: shorten_all(last_words),
            },
            PoolEvent::CrashLoopCleared { by, .. } => Self::CrashLoopCleared { by: by.as_deref().map(shorten) },
            PoolEvent::PoolPaused { by } => Self::PoolPaused { by: by.as_deref().map(shorten) },
            PoolEvent::PoolResumed { by } => Self::PoolResumed { by: by.as_deref().map(shorten) },
            PoolEvent::PoolLimitChanged { max_size, by } => {
                Self::PoolLimitChanged { max_size: *max_size, by: by.as_deref().map(shorten) }
            }
        }
    }
}

fn by_whom(operator: Option<&str>) -> String {
    operator.map_or(String::new(), |operator| format!(", by {operator}"))
}

impl Event {
    /// The name of its [`domain::event_kind::EventKind`].
    pub fn kind(&self) -> &'static str {
        (&self.data).into()
    }

    /// What happened, on one line. Bounded, with hidden characters escaped.
    pub fn summary(&self) -> String {
        one_line(&self.describe().0)
    }

    /// The start of the text that the event is about: an intent, a message, a reason. Bounded, with hidden characters
    /// escaped.
    pub fn preview(&self) -> Option<String> {
        self.describe().1.map(|text| one_line(&text)).filter(|text| !text.is_empty())
    }

    /// A sentence about the event, and the text that the event is about.
    fn describe(&self) -> (String, Option<String>) {
        let actor = self.actor.as_deref().unwrap_or("the broker");
        let number = self.number.map_or_else(|| "the review".to_owned(), |number| number.to_string());
        let project = self.project.as_ref().map_or(String::new(), |project| format!(" for {project}"));
        match &self.data {
            EventData::Proposed { intent, .. } => (format!("{actor} proposed {number}"), Some(intent.clone())),
            EventData::Revised { intent, change_note } => (
                format!("{actor} revised {number}: round {}", self.round.unwrap_or_default()),
                Some(change_note.as_ref().unwrap_or(intent).clone()),
            ),
            EventData::Claimed { persona, .. } => (format!("{actor} claimed {number} as {persona}"), None),
            EventData::Rebased { from, to, .. } => {
                let from = from.as_deref().map_or("the empty tree", short_commit);
                (format!("{actor} moved the diff of {number} from {from} to HEAD ({})", short_commit(to)), None)
            }
            EventData::AutoRejected { message, .. } => {
                (format!("{number} went back to its proposer: the diff does not apply"), Some(message.clone()))
            }
            EventData::ClaimEnded { reviewer_id, reason, detail, .. } => {
                (format!("the claim of {reviewer_id} on {number} ended: {reason}"), detail.clone())
            }
            EventData::ReservationEnded { reviewer_id, .. } => {
                (format!("the reservation of {number} for {reviewer_id} ended"), None)
            }
            EventData::ClaimRenewed { reviewer_id, .. } => {
                (format!("the claim of {reviewer_id} on {number} was renewed"), None)
            }
            EventData::SeatAdded { persona, .. } => (format!("{actor} added the seat {persona} to {number}"), None),
            EventData::VerdictGiven { persona, verdict, reason, summary, counter_patch, issue_count, .. } => {
                let verb = match verdict {
                    Verdict::Approved => "approved",
                    Verdict::ChangesRequested => "requested changes to",
                    Verdict::Comment => "commented on",
                    Verdict::Rejected => "rejected",
                };
                let issues = match issue_count {
                    0 => String::new(),
                    some => format!(", {}", count(*some as u64, "finding")),
                };
                let patch = if *counter_patch { ", with a counter-patch" } else { "" };
                let status = self.status.map_or(String::new(), |status| format!("; it is {status}"));
                let sentence = format!("{actor} {verb} {number} as {persona}{issues}{patch}{status}");
                (sentence, reason.clone().or_else(|| summary.clone()))
            }
            EventData::FindingUpdated { issue_id, wish, settles, note, .. } => {
                let verb = if *settles { "set" } else { "asked to set" };
                (format!("{actor} {verb} {issue_id} of {number} to {wish}"), note.clone())
            }
            EventData::MessageAdded { role, persona, to, body, .. } => {
                let place = match (persona, to) {
                    (Some(persona), _) => format!(", seat {persona}"),
                    (None, Some(to)) => format!(", to the {to}").replace("the everyone", "everyone"),
                    (None, None) => String::new(),
                };
                (format!("{actor} wrote on {number} as the {role}{place}"), Some(body.clone()))
            }
            EventData::CounterPatchAccepted { persona, .. } => {
                (format!("{actor} accepted the counter-patch of {persona} on {number}"), None)
            }
            EventData::CounterPatchRejected { persona, .. } => {
                (format!("{actor} rejected the counter-patch of {persona} on {number}"), None)
            }
            EventData::Cancelled { reason, .. } => (format!("{actor} cancelled {number}"), Some(reason.clone())),
            EventData::Closed { landed_as: Some(commit), .. } => {
                (format!("{actor} closed {number}, which landed as {}", commit.get(..12).unwrap_or(commit)), None)
            }
            EventData::Closed { landed_as: None, .. } => (format!("{actor} closed {number}"), None),
            EventData::ReviewerSpawned { reviewer_id, turn: Some(turn), reviewer_session_id, .. } => {
                let session = reviewer_session_id.as_ref().map_or("begins a session", |_| "continues its session");
                (format!("turn {turn} of reviewer {reviewer_id}{project}: it {session}"), None)
            }
            EventData::ReviewerSpawned { reviewer_id, why, by, .. } => {
                let by = by_whom(by.as_deref());
                (format!("the pool started reviewer {reviewer_id}{project}: {why}{by}"), None)
            }
            EventData::ReviewerRetried { reviewer_id, why, .. } => {
                (format!("the pool asked reviewer {reviewer_id} again"), Some(why.clone()))
            }
            EventData::ReviewerDraining { reviewer_id, why, by } => {
                let by = by_whom(by.as_deref());
                (format!("reviewer {reviewer_id} takes no new reviews: {why}{by}"), None)
            }
            EventData::ReviewerTerminated { reviewer_id, exit, by, verdicts, .. } => {
                let verdicts = verdicts.map(|verdicts| verdicts.in_words()).filter(|words| !words.is_empty());
                let verdicts = verdicts.map(|words| format!("; {words}")).unwrap_or_default();
                (format!("reviewer {reviewer_id} ended: {exit}{}{verdicts}", by_whom(by.as_deref())), None)
            }
            EventData::CrashLoop { failures, last_words, .. } => {
                let sentence = format!("the pool stopped starting reviewers{project}: {failures} failed in a row");
                (sentence, Some(last_words.join("\n")))
            }
            EventData::CrashLoopCleared { by } => {
                (format!("the pool starts reviewers again{project}{}", by_whom(by.as_deref())), None)
            }
            EventData::PoolPaused { by } => (format!("the pool was paused{}", by_whom(by.as_deref())), None),
            EventData::PoolResumed { by } => (format!("the pool was resumed{}", by_whom(by.as_deref())), None),
            EventData::PoolLimitChanged { max_size, by } => {
                let by = by_whom(by.as_deref());
                (format!("the pool runs at most {max_size} at once from now on{by}"), None)
            }
        }
    }
}

/// At most [`LINE_CHARS`] characters on one line, with hidden characters escaped.
fn one_line(text: &str) -> String {
    ellipsize(&escape(text.trim()), LINE_CHARS + 1).into_owned()
}

/// The first [`TEXT_CHARS`] characters, and `…` if there are more.
fn shorten(text: &str) -> String {
    ellipsize(text, TEXT_CHARS + 1).into_owned()
}

fn shorten_all(texts: &[String]) -> Vec<String> {
    texts.iter().take(MAX_ITEMS).map(|text| shorten(text)).collect()
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
