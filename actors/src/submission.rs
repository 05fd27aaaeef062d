//! Submissions and verdicts: the slow half of a call, which parses diffs and runs git. It runs in the caller's task or
//! one of its own, so it holds no mailbox and no transaction.

mod drafts;
mod findings;
pub(crate) mod front_matter;
mod panel;
mod round_diff;

pub use round_diff::{Bases, Changes};

use crate::{
    Shared,
    error::BrokerError,
    gateway::{CommandPayload, Reviews},
    projects::Projects,
    requests::{DraftRequest, NewProposal, Submitted, VerdictRequest},
    review::CommandOutcome,
    size_limits,
};
use domain::{
    content::{Content, digest_json},
    default_panel::ChosenPanel,
    finding::FindingNumber,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{Command, Draft, GiveVerdict, OfferedPatch, Proposal, Proposer, Refusal, Revise, check_needed},
};
use drafts::PreparedDraft;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};
use uuid::Uuid;

/// Prepares submissions and verdicts and sends them to their review.
pub(crate) struct Submissions {
    pub(crate) shared: Arc<Shared>,
    pub(crate) projects: Projects,
    pub(crate) reviews: Reviews,
    /// The last number of a review. Each number is given out once, even if the command that asked for it fails.
    pub(crate) last_review: AtomicI64,
    /// The last number of a finding.
    pub(crate) last_finding: AtomicI64,
}

impl Submissions {
    pub(crate) async fn create(&self, proposal: NewProposal) -> Result<Submitted, BrokerError> {
        self.shared.check_texts(&proposal.texts()).await?;
        // Another call with this key may create the review in the meantime.
        retry_if_moved(|| self.try_create(proposal.clone())).await
    }

    async fn try_create(&self, proposal: NewProposal) -> Result<Submitted, BrokerError> {
        let NewProposal { proposer, client_repo, category, priority, mut draft, personas, policy } = proposal;
        let settings = &self.shared.settings;
        let named = panel::named(personas)?;
        let project = self.projects.name_for(proposer.project.as_deref(), client_repo.as_ref())?;
        let request_key = draft.request_key.take();
        let id = review_id(project.as_deref(), request_key.as_deref());
        let preparing = Box::pin(self.prepare_first(project.as_deref(), id, request_key.is_some(), draft));
        let (PreparedDraft { content, draft }, first_content) = self.shared.until_shutdown(preparing).await?;
        let ChosenPanel { personas, reasons } = match named {
            Some(personas) => ChosenPanel { personas, reasons: Vec::new() },
            None => settings.panel.choose(category, &content.files),
        };
        let policy = panel::policy(policy, personas.len(), settings.max_rounds)?;
        let command = Command::Propose(Box::new(Proposal {
            id,
            number: ReviewNumber(self.last_review.fetch_add(1, Relaxed) + 1),
            priority: priority.unwrap_or_else(|| Priority::infer(&proposer)),
            proposer: Proposer { project, ..proposer },
            category,
            personas,
            policy,
            draft: Draft { request_key, ..draft },
            first_content,
        }));
        let (submitted, is_new) = self.submit(id, command, content, None).await?;
        // A repeat keeps the panel of the first call, even if the settings have changed.
        Ok(Submitted { panel_because: if is_new { reasons } else { Vec::new() }, ..submitted })
    }

    /// `expected_version`: the version that the review must have, if any.
    pub(crate) async fn revise(
        &self,
        id: ReviewId,
        proposer_id: Option<String>,
        draft: DraftRequest,
        expected_version: Option<u64>,
    ) -> Result<Submitted, BrokerError> {
        self.shared.check_texts(&draft.texts(proposer_id.as_ref())).await?;
        // The active content may change while the revision is completed from it.
        retry_if_moved(|| self.try_revise(id, proposer_id.clone(), draft.clone(), expected_version)).await
    }

    async fn try_revise(
        &self,
        id: ReviewId,
        proposer_id: Option<String>,
        mut draft: DraftRequest,
        expected_version: Option<u64>,
    ) -> Result<Submitted, BrokerError> {
        let review = self.shared.find_review(id).await?;
        let request_key = draft.request_key.take();
        let repeats = request_key.is_some() && request_key == review.round.request_key;
        let preparing = Box::pin(self.prepare_next(&review, draft, repeats));
        let PreparedDraft { content, draft } = self.shared.until_shutdown(preparing).await?;
        let command = Command::Revise(Revise {
            proposer_id,
            completes: review.round.content_hash.clone(),
            draft: Draft { request_key, ..draft },
            anchors: self.shared.until_shutdown(self.reanchor_findings(&review, &content)).await?,
        });
        let (submitted, _) = self.submit(id, command, content, expected_version).await?;
        Ok(submitted)
    }

    /// Sends a submission. Returns `false` if it repeats an earlier one; the content is then the active one.
    async fn submit(
        &self,
        id: ReviewId,
        command: Command,
        content: Arc<Content>,
        expected_version: Option<u64>,
    ) -> Result<(Submitted, bool), BrokerError> {
        let payload = CommandPayload { content: Some(Arc::clone(&content)), expected_version, patch: None };
        let CommandOutcome { review, changed, .. } = self.reviews.apply(id, command, payload).await?;
        let content = if changed { content } else { self.shared.find_content(&review.round.content_hash).await? };
        Ok((Submitted { review, content, panel_because: Vec::new() }, changed))
    }

    /// Checks a verdict, grounds its findings in the files and sends it.
    pub(crate) async fn give_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let limits = &self.shared.settings.limits;
        self.shared.check_texts(&request.texts(limits)).await?;
        size_limits::check_findings(limits, &request.findings)?;
        size_limits::check_metrics(request.metrics.as_ref())?;
        if let Some(patch) = &request.counter_patch {
            self.refuse_flagged_patch(patch).await?;
        }
        let attempt = || self.try_verdict(id, request.clone(), expected_version);
        // The findings may be checked against a content that is no longer active.
        if request.findings.is_empty() { attempt().await } else { retry_if_moved(attempt).await }
    }

    async fn try_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let digest = request.digest();
        let patch: Option<Arc<str>> = request.counter_patch.map(Into::into);
        let mut verdict = GiveVerdict {
            by: request.reviewer_id,
            generation: request.claim_generation,
            content_hash: request.content_hash,
            verdict: request.verdict,
            reason: request.reason,
            summary: request.summary,
            metrics: request.metrics,
            patch: patch.as_ref().map(|_| OfferedPatch { check: None }),
            findings: None,
            digest,
        };
        if !request.findings.is_empty() {
            let review = self.shared.find_review(id).await?;
            // A verdict that will be refused does not need its files read.
            check_needed(&review, &Command::GiveVerdict(verdict.clone()), self.shared.clock.now())?;
            let seat = review.claimed_seat(verdict.by.as_deref(), verdict.generation).map(|(_, seat, _)| seat);
            let grounding = Box::pin(self.ground_findings(&review, seat, request.findings));
            verdict.findings = Some(self.shared.until_shutdown(grounding).await?);
        }
        let payload = CommandPayload { content: None, patch, expected_version };
        self.reviews.apply(id, Command::GiveVerdict(verdict), payload).await
    }

    /// Reserves consecutive numbers for `count` findings.
    fn finding_numbers(&self, count: usize) -> impl Iterator<Item = FindingNumber> + use<> {
        let first = self.last_finding.fetch_add(count as i64, Relaxed) + 1;
        (first..).take(count).map(FindingNumber)
    }
}

impl VerdictRequest {
    /// Fingerprint by which a repeated verdict is recognised: everything the reviewer says, without its name, its claim
    /// and its metrics.
    fn digest(&self) -> String {
        let Self { verdict, reason, summary, content_hash, counter_patch, findings, .. } = self;
        digest_json(&(verdict, reason, summary, content_hash, counter_patch, findings))
    }
}

/// Repeats a call once if the content that it was prepared from is no longer active.
async fn retry_if_moved<T, F>(call: impl Fn() -> F) -> Result<T, BrokerError>
where
    F: Future<Output = Result<T, BrokerError>>,
{
    match call().await {
        Err(BrokerError::Refused(Refusal::ContentMoved)) => call().await,
        answer => answer,
    }
}

/// The id of a new review. With a request key it is derived from the key, so that a repeat reaches the review of the
/// first call without a table of keys.
fn review_id(project: Option<&str>, request_key: Option<&str>) -> ReviewId {
    const NAMESPACE: Uuid = Uuid::from_u128(0x5e0f_91b3_7f6e_4c58_9a1d_3c92_60c1_77aa);
    let Some(key) = request_key else { return ReviewId(Uuid::new_v4()) };
    let project = project.unwrap_or_default();
    ReviewId(Uuid::new_v5(&NAMESPACE, format!("{project}\0{key}").as_bytes()))
}
