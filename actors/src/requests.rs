//! What the doors may ask, already parsed: whole types, known enums, no wire format.

use domain::{
    consensus::PolicyRequest,
    finding::NewFinding,
    ids::ReviewId,
    priority::Priority,
    query::EventOrder,
    review::{Category, Proposer, Review, Role, Status, TargetKind},
    verdict::{ReviewMetrics, Verdict},
};
use git::ClientRepo;
use std::{sync::Arc, time::Duration};
use store::{EventFilter, FindingFilter, Page, ReviewListRow};

/// Names a call, so that a repeat of it is recognised.
#[derive(Debug, Clone)]
pub enum RequestKey {
    /// The caller's own.
    Given(String),
    /// The id a client gave the call; it begins with the client's name.
    OfClient(String),
}

impl RequestKey {
    /// One text for both kinds, which never meet.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Given(key) => format!("key:{key}"),
            Self::OfClient(id) => id,
        }
    }
}

/// A first submission.
#[derive(Debug, Clone)]
pub struct NewProposal {
    /// A `project` left out means the repository of `workplace`, or else the broker's own.
    pub proposer: Proposer,
    /// Where the proposer works, as far as that is known.
    pub workplace: Option<ClientRepo>,
    pub category: Option<Category>,
    /// Left out: what the identity says.
    pub priority: Option<Priority>,
    pub intent: String,
    pub description: Option<String>,
    pub diff: Option<String>,
    /// What the diff is against; left out: the project's HEAD now.
    pub base: Option<String>,
    /// Where to take the diff from, instead of `diff` and `base`.
    pub target: Option<TargetRequest>,
    pub skip_diff_validation: bool,
    /// One seat for each; empty: as the operator's settings say.
    pub personas: Vec<String>,
    pub policy: PolicyRequest,
    /// The same key gives the same review again.
    pub key: Option<RequestKey>,
}

/// Commits to be reviewed, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRequest {
    pub kind: TargetKind,
    pub name: String,
    /// What they are compared with; never with a range, which says so itself.
    pub base: Option<String>,
}

impl TargetRequest {
    /// The argument its name came in.
    pub(crate) const fn field(&self) -> &'static str {
        match self.kind {
            TargetKind::Branch => "target.branch",
            TargetKind::Commit => "target.commit",
            TargetKind::Range => "target.range",
        }
    }
}

/// A further round. What is `None` stays as it was.
#[derive(Debug, Clone)]
pub struct Revision {
    pub proposer_id: Option<String>,
    pub intent: String,
    pub description: Option<String>,
    pub diff: Option<String>,
    pub base: Option<String>,
    /// As in a [`NewProposal`]. Left out together with `diff` and `base`: the branch of the round before, as it is now.
    pub target: Option<TargetRequest>,
    pub skip_diff_validation: Option<bool>,
    pub key: Option<RequestKey>,
}

/// What a submission came to. The content is there to be shown; it is read by its hash.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub review: Arc<Review>,
    pub content: Arc<domain::content::Content>,
    /// Which of the operator's rules asked for which personas, where the proposer named none.
    pub panel_because: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct VerdictRequest {
    pub reviewer_id: Option<String>,
    pub claim_generation: Option<u32>,
    pub content_hash: Option<String>,
    pub verdict: Verdict,
    pub reason: Option<String>,
    pub summary: Option<String>,
    pub metrics: Option<ReviewMetrics>,
    pub counter_patch: Option<String>,
    /// Issues and suggestions.
    pub findings: Vec<NewFinding>,
}

/// Which findings.
#[derive(Debug, Clone, Default)]
pub struct FindingQuery {
    pub review: Option<ReviewId>,
    /// Its `review` is filled in from the one above.
    pub filter: FindingFilter,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Which events of the log.
#[derive(Debug, Clone)]
pub struct HistoryQuery {
    pub review: Option<ReviewId>,
    /// Its `review` is filled in from the one above.
    pub filter: EventFilter,
    pub order: EventOrder,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// A claim given back, named as in a verdict.
#[derive(Debug, Clone)]
pub struct Release {
    pub reviewer_id: Option<String>,
    pub claim_generation: Option<u32>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone)]
pub struct MessageRequest {
    pub role: Role,
    pub caller_id: Option<String>,
    pub persona: Option<String>,
    pub body: String,
    pub metadata: Option<serde_json::Value>,
}

/// What a message came to.
#[derive(Debug, Clone)]
pub struct Spoken {
    pub review: Arc<Review>,
    pub as_what: SpokenAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpokenAs {
    /// The id of the message: an old one, if this repeats it.
    Message(u64),
    /// It began with a decision.
    Verdict(Verdict),
}

/// Which reviews, for whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ListQuery {
    pub status: Option<Status>,
    pub category: Option<Category>,
    /// Empty: all projects.
    pub projects: Vec<String>,
    /// Only reviews that have no project; not together with `projects`.
    pub without_project: bool,
    /// Who asks for what is pending: hides what is reserved for somebody else, and adds what others have begun where a
    /// seat is free for the caller.
    pub caller_id: Option<String>,
    /// Hides what the caller proposed itself as well, which it could not claim.
    pub for_work: bool,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// A page of the list and the version to wait from.
#[derive(Debug, Clone)]
pub struct Listing {
    pub page: Arc<Page<ReviewListRow>>,
    /// The sequence number of the last event this page knows of.
    pub version: u64,
    pub timed_out: bool,
}

/// How long a call may wait, and from where. The waiting call ends when its future is dropped.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    pub since: Option<u64>,
    /// `None`: the configured default.
    pub timeout: Option<Duration>,
}

/// A review, and whether the wait for it ended without news.
#[derive(Debug, Clone)]
pub struct Seen {
    pub review: Arc<Review>,
    pub timed_out: bool,
}
