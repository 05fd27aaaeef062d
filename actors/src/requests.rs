//! Request and response types of the [`Broker`](crate::Broker), independent of any wire format.

use domain::{
    consensus::PolicyRequest,
    finding::NewFinding,
    priority::Priority,
    review::{Category, Proposer, Review, Status, TargetName},
    verdict::{ReviewMetrics, Verdict},
};
use git::ClientRepo;
use std::{sync::Arc, time::Duration};
use store::Page;

/// The content of a submission. A revision keeps what is `None`.
#[derive(Debug, Clone)]
pub struct DraftRequest {
    pub intent: String,
    pub description: Option<String>,
    pub diff: Option<String>,
    /// The commit that the diff applies to; default: the project's HEAD.
    pub base: Option<String>,
    /// Where to take the diff from, instead of `diff` and `base`. A revision without target, diff and base takes the
    /// branch of the round before at its current head.
    pub target: Option<TargetName>,
    pub skip_diff_validation: Option<bool>,
    /// Names the call. A repeated key returns the review or round that the first call submitted.
    pub request_key: Option<String>,
}

/// A first submission.
#[derive(Debug, Clone)]
pub struct NewProposal {
    /// Without a `project` the repository of `client_repo` decides, or else the broker's own project.
    pub proposer: Proposer,
    /// The repository that the proposer works in, if known.
    pub client_repo: Option<ClientRepo>,
    pub category: Option<Category>,
    /// Default: derived from the proposer, see [`Priority::infer`].
    pub priority: Option<Priority>,
    pub draft: DraftRequest,
    /// One seat per persona; empty: as the settings say.
    pub personas: Vec<String>,
    pub policy: PolicyRequest,
}

/// The result of a submission.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub review: Arc<Review>,
    pub content: Arc<domain::content::Content>,
    /// The rules of the settings that chose the personas, if the proposal names none.
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

/// Filters of a list of reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ListQuery {
    pub status: Option<Status>,
    /// Several statuses, newest first; empty: only `status` matters.
    pub statuses: Vec<Status>,
    pub branch: Option<String>,
    /// Only reviews that this identity proposed or holds a seat of.
    pub participant: Option<String>,
    pub category: Option<Category>,
    /// Empty: all projects.
    pub projects: Vec<String>,
    /// Only reviews that have no project; not together with `projects`.
    pub without_project: bool,
    /// The caller, for a list of pending reviews: hides reviews reserved for another reviewer, and adds reviews in
    /// progress with a seat free for the caller.
    pub caller_id: Option<String>,
    /// Also hides the caller's own proposals, which it cannot claim.
    pub for_work: bool,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// A page of the list and the version to wait from.
#[derive(Debug, Clone)]
pub struct Listing {
    pub page: Arc<Page<Review>>,
    /// The sequence number of the last event this page knows of.
    pub version: u64,
    pub timed_out: bool,
}

/// How long a call may wait, and for changes after which version. Dropping the future ends the wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    pub since: Option<u64>,
    /// `None`: the configured default.
    pub timeout: Option<Duration>,
}

/// A review, and whether the wait ended without a change.
#[derive(Debug, Clone)]
pub struct WaitResult {
    pub review: Arc<Review>,
    pub timed_out: bool,
}
