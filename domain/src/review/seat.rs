//! Types for a seat, one required reviewer of a review: who holds it, how it voted, and what it is asked.

use super::Role;
use crate::identity::is_same_identity;
use crate::{
    content::ContentHash,
    diff::AffectedFile,
    time::{Tick, Timestamp},
    verdict::Verdict,
    waiting_on::TurnReason,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A reviewer's hold on a seat.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub by: String,
    pub generation: u32,
    pub at: Timestamp,
    /// `None` after the seat has voted.
    pub lease_ends: Option<Tick>,
}

/// A seat that is kept free for one reviewer, who is asked to look again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub reviewer: String,
    pub until: Tick,
}

crate::string_enum! {
    /// What became of a counter-patch.
    PatchStatus { Pending = "pending", Accepted = "accepted", Rejected = "rejected" }
}

/// The last counter-patch that a seat offered on the active round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterPatch {
    /// The version of the review when it was offered.
    pub id: u64,
    pub by: String,
    pub status: PatchStatus,
    pub files: Vec<AffectedFile>,
}

/// The last message of a seat's discussion: decides who may write next and recognises repeats.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    pub id: u64,
    pub role: Role,
    pub by: String,
    /// Turns and repeats are counted within this round only.
    pub round: u32,
    pub digest: String,
    /// The other side's last message in this round. Its sender may repeat it after a lost response.
    pub answers: Option<Answered>,
    /// The other side has responded in another way, for example with a verdict, or has been replaced.
    pub responded: bool,
}

/// A message that has been answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub id: u64,
    pub digest: String,
}

impl LastMessage {
    /// Id and digest of the last message of `role` in this round.
    pub fn last_of(&self, role: Role) -> Option<(u64, &str)> {
        if self.role == role {
            Some((self.id, &self.digest))
        } else {
            self.answers.as_ref().map(|answered| (answered.id, answered.digest.as_str()))
        }
    }
}

/// The last verdict of a seat, comments included. Recognises repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVerdict {
    pub generation: u32,
    pub verdict: Verdict,
    pub digest: String,
}

/// The content that a seat last voted on, in this round or an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub round: u32,
    pub content_hash: ContentHash,
}

/// A request to one side of a seat's conversation, until that side responds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub why: TurnReason,
    pub since: Timestamp,
}

/// A claim that ended because the content was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    pub by: String,
    pub generation: u32,
    /// The content that the reviewer was reading.
    pub content_hash: ContentHash,
}

/// One required reviewer.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    pub persona: String,
    /// The only reviewer that may claim the seat, if it was requested for one by name.
    pub assigned: Option<String>,
    pub claim: Option<Claim>,
    pub vote: Option<Verdict>,
    pub reservation: Option<Reservation>,
    pub patch: Option<CounterPatch>,
    pub last_message: Option<LastMessage>,
    pub last_verdict: Option<LastVerdict>,
    pub reviewed: Option<Reviewed>,
    /// Why a reviewer gave up in this round. Others can claim the seat.
    pub gave_up: Option<String>,
    /// When the seat was last claimed, freed or voted.
    pub since: Timestamp,
    /// Why the reviewer must respond to the proposer or an operator.
    pub asked_reviewer: Option<Asked>,
    /// Why the proposer must respond to this seat's reviewer.
    pub asked_proposer: Option<Asked>,
    /// How often the two sides have answered each other in this round: with a message, by returning the seat to the queue,
    /// or by deciding a counter-patch.
    pub exchanges: u32,
    /// Messages that this seat's reviewer can read: of its discussion, to all seats, of operators.
    pub messages: u32,
    /// How many of them there were when a reviewer last wrote or gave a verdict from this seat.
    pub messages_seen: u32,
    /// The version of the review at which a reviewer last wrote or gave a verdict from this seat.
    pub last_act: Option<u64>,
    /// The round of that version.
    pub last_act_round: Option<u32>,
    pub superseded: Option<Superseded>,
}

impl Seat {
    /// A free seat. `@ada` is a seat for ada alone.
    pub fn new(persona: impl Into<String>, since: Timestamp) -> Self {
        let persona = persona.into();
        let assigned = persona.strip_prefix('@').map(str::to_owned);
        Self { persona, assigned, since, ..Self::default() }
    }

    /// The counter-patch that the proposer has not answered yet.
    pub fn pending_patch(&self) -> Option<&CounterPatch> {
        self.patch.as_ref().filter(|patch| patch.status == PatchStatus::Pending)
    }

    /// Neither claimed nor voted. The seat may still be reserved.
    pub fn is_free(&self) -> bool {
        self.claim.is_none() && self.vote.is_none()
    }

    pub fn is_held_by(&self, reviewer: &str) -> bool {
        self.claim.as_ref().is_some_and(|claim| is_same_identity(&claim.by, reviewer))
    }

    /// The only reviewer that can claim the seat at `tick`: the one that is asked to look again, for example an operator
    /// that took the seat over, else the one it was requested for.
    pub fn reserved_at(&self, tick: Tick) -> Option<&str> {
        let reservation = self.reservation.as_ref().filter(|reservation| reservation.until > tick);
        reservation.map(|reservation| reservation.reviewer.as_str()).or(self.assigned.as_deref())
    }

    /// Whether only `reviewer` can claim the seat, as long as its reservation lasts.
    pub fn is_reserved_for(&self, reviewer: &str) -> bool {
        self.reserved_for().is_some_and(|name| is_same_identity(name, reviewer))
    }

    /// The only reviewer that can claim the seat, as long as its reservation lasts.
    pub fn reserved_for(&self) -> Option<&str> {
        self.reservation.as_ref().map(|reservation| reservation.reviewer.as_str()).or(self.assigned.as_deref())
    }
}
