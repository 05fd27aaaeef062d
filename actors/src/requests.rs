//! Requests and responses of the [`Broker`](crate::Broker): typed, without a wire format.

use crate::limits::{Limits, Text};
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
use store::{EventFilter, FindingFilter, Page};

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
    pub target: Option<TargetRequest>,
    pub skip_diff_validation: Option<bool>,
    /// A repeated key returns the review or round that the first call submitted.
    pub key: Option<RequestKey>,
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

/// A further round.
#[derive(Debug, Clone)]
pub struct Revision {
    pub proposer_id: Option<String>,
    pub draft: DraftRequest,
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

/// The result of adding a message.
#[derive(Debug, Clone)]
pub struct MessageResult {
    pub review: Arc<Review>,
    pub recorded_as: RecordedAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedAs {
    /// The id of the message: an old one, if this repeats it.
    Message(u64),
    /// The message began with a decision and counts as this verdict.
    Verdict(Verdict),
}

/// Filters of a list of reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ListQuery {
    pub status: Option<Status>,
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

impl DraftRequest {
    fn texts(&self) -> Vec<Text<'_>> {
        let (target, base) = match &self.target {
            Some(target) => (Text::name(target.field(), Some(&target.name)), target.base.as_deref()),
            None => (Text::name("target", None), None),
        };
        let key = match &self.key {
            Some(RequestKey::Given(key)) => Text::name("idempotency_key", Some(key)),
            Some(RequestKey::OfClient(key)) => Text::unlimited("idempotency_key", Some(key)),
            None => Text::name("idempotency_key", None),
        };
        vec![
            Text::intent(&self.intent),
            Text::name("base", self.base.as_deref()),
            target,
            Text::name("target.base", base),
            key,
            Text::prose("description", self.description.as_deref()),
            Text::diff("diff", self.diff.as_deref()),
        ]
    }
}

impl NewProposal {
    pub(crate) fn texts(&self) -> Vec<Text<'_>> {
        let proposer = &self.proposer;
        let mut texts = self.draft.texts();
        texts.extend([
            Text::name("agent_type", Some(&proposer.agent_type)),
            Text::name("agent_role", Some(&proposer.agent_role)),
            Text::name("phase", Some(&proposer.phase)),
            Text::name("plan", proposer.plan.as_deref()),
            Text::name("task", proposer.task.as_deref()),
            Text::name("project", proposer.project.as_deref()),
            Text::name("proposer_id", proposer.proposer_id.as_deref()),
        ]);
        texts
    }
}

impl Revision {
    pub(crate) fn texts(&self) -> Vec<Text<'_>> {
        let mut texts = self.draft.texts();
        texts.push(Text::name("proposer_id", self.proposer_id.as_deref()));
        texts
    }
}

impl VerdictRequest {
    pub(crate) fn texts(&self, limits: &Limits) -> Vec<Text<'_>> {
        let model = self.metrics.as_ref().and_then(|metrics| metrics.model.as_deref());
        let mut texts = vec![
            Text::name("reviewer_id", self.reviewer_id.as_deref()),
            Text::name("content_hash", self.content_hash.as_deref()),
            Text::name("metrics.model", model),
            Text::prose("reason", self.reason.as_deref()),
            Text::prose("summary", self.summary.as_deref()),
        ];
        texts.extend(self.findings.iter().flat_map(|finding| Text::of_finding(finding, limits)));
        texts.push(Text::diff("counter_patch", self.counter_patch.as_deref()));
        texts
    }
}

impl MessageRequest {
    /// `metadata` is the request's, as JSON text.
    pub(crate) fn texts<'a>(&'a self, metadata: Option<&'a str>) -> [Text<'a>; 4] {
        [
            Text::name("caller_id", self.caller_id.as_deref()),
            Text::name("persona", self.persona.as_deref()),
            Text::required_prose("body", Some(&self.body)),
            Text::metadata(metadata),
        ]
    }
}
