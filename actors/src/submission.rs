//! Prepares proposals, revisions and verdicts before they are sent to the review's actor: parses diffs and lets git
//! check them. This is slow, so it runs in tasks outside the actors and blocks neither a mailbox nor a transaction.

mod content_preparation;
mod conventions;
mod diff_between_rounds;
mod finding_locations;
mod proposal_files;
pub(crate) mod verdict_in_message;

pub(crate) use conventions::ConventionsCache;
pub use diff_between_rounds::{Bases, Changes};

use crate::{
    Shared,
    error::BrokerError,
    gateway::{CommandPayload, Reviews},
    input_validation::{self, invalid, proposal_texts, submission_texts, verdict_texts},
    registered_projects::Projects,
    review::CommandOutcome,
};
use content_preparation::Draft;
use domain::identity::is_same_identity;
use domain::{
    consensus::{Policy, PolicyRequest, Rule, RuleName},
    content::{CreateReviewRequest, digest_json},
    default_panel::MAX_SEATS,
    diff::AffectedFile,
    finding::{FindingNumber, NewFinding},
    ids::{ReviewId, ReviewNumber},
    persona::{MAX_PERSONA_NAME_CHARS, Personas, is_persona_name},
    priority::Priority,
    review::{
        Command, GiveVerdict, OfferedPatch, Propose, Proposed, Proposer, Refusal, Review, Revise, Round, check_needed,
        distinct_personas,
    },
    verdict::VerdictRequest,
};
use git::{ClientRepo, Repository};
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};
use uuid::Uuid;

/// The longest `policy.max_minutes`: one week.
const MAX_MINUTES: u32 = 7 * 24 * 60;
/// The highest `policy.max_cost_usd`.
const MAX_COST_USD: f64 = 1000.0;

/// Prepares submissions and verdicts and sends them to their review.
pub(crate) struct Submissions {
    pub(crate) shared: Arc<Shared>,
    pub(crate) projects: Projects,
    pub(crate) reviews: Reviews,
    /// The last number of a review. Each number is given out once, even if the command that asked for it fails.
    pub(crate) last_review: AtomicI64,
    /// The last number of a finding.
    pub(crate) last_finding: AtomicI64,
    pub(crate) conventions: ConventionsCache,
}

impl Submissions {
    /// Creates a review. Without a project of the proposer the repository of `client_repo` decides, or else the broker's
    /// own project.
    pub(crate) async fn create(
        &self,
        proposer: &Proposer,
        client_repo: Option<&ClientRepo>,
        request: &CreateReviewRequest,
    ) -> Result<CommandOutcome, BrokerError> {
        self.shared.check_texts(&proposal_texts(proposer, request)).await?;
        // Another call with this key may create the review in the meantime.
        retry_if_moved(|| self.try_create(proposer, client_repo, request)).await
    }

    async fn try_create(
        &self,
        proposer: &Proposer,
        client_repo: Option<&ClientRepo>,
        request: &CreateReviewRequest,
    ) -> Result<CommandOutcome, BrokerError> {
        let settings = &self.shared.settings;
        let named = named_seats(request)?;
        for reviewer in request.reviewers.iter().flatten() {
            check_persona_or_person("reviewers", reviewer, &settings.personas)?;
        }
        if named
            .iter()
            .flatten()
            .any(|seat| seat.strip_prefix('@').is_some_and(|name| is_same_identity(name, proposer.identity())))
        {
            return Err(invalid(
                "reviewers",
                "a proposer cannot review its own proposal; name another reviewer".into(),
            ));
        }
        if request.priority.is_some() && !settings.choose_priority {
            let problem = "not allowed: this broker infers it (reviews.choose_priority = false); omit it";
            return Err(invalid("priority", problem.to_owned()));
        }
        let project = self.projects.name_for(proposer.project.as_deref(), client_repo)?;
        let id = review_id(project.as_deref(), request.idempotency_key.as_deref());
        let preparing = Box::pin(self.prepare_first(project.as_deref(), id, request));
        let (Draft { content, round }, first_content) = self.shared.until_shutdown(preparing).await?;
        let required = settings.panel.required(request.category, &content.files);
        let mut personas = named.unwrap_or_else(|| settings.panel.choose(request.category, &content.files).personas);
        // A caller may add seats, but never remove those that the operator requires.
        personas.extend(required.iter().filter(|persona| !personas.contains(persona)).cloned().collect::<Vec<_>>());
        let proposed = Proposed {
            id,
            policy: policy(request.policy.unwrap_or_default(), personas.len(), settings.max_rounds)?,
            number: ReviewNumber(self.last_review.fetch_add(1, Relaxed) + 1),
            priority: request.priority.unwrap_or_else(|| Priority::infer(proposer, request.category)),
            proposer: Proposer { project, ..proposer.clone() },
            category: request.category,
            personas,
            round: Round {
                request_key: request.idempotency_key.clone(),
                change_note: request.change_note.clone(),
                required: required.into(),
                ..round
            },
        };
        let payload = CommandPayload { content: Some(content), ..CommandPayload::default() };
        self.reviews.apply(id, Command::Propose(Box::new(Propose { proposed, first_content })), payload).await
    }

    /// Starts the next round of a review. `expected_version`: the version that the review must have, if any.
    pub(crate) async fn revise(
        &self,
        id: ReviewId,
        request: &CreateReviewRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        self.shared.check_texts(&submission_texts(request)).await?;
        // The active content may change while the revision is completed from it.
        retry_if_moved(|| self.try_revise(id, request, expected_version)).await
    }

    async fn try_revise(
        &self,
        id: ReviewId,
        request: &CreateReviewRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let review = self.shared.find_review(id).await?;
        let request_key = request.idempotency_key.clone();
        let repeats = request_key.is_some() && request_key == review.round.request_key;
        let preparing = Box::pin(self.prepare_next(&review, request, repeats));
        let Draft { content, round } = self.shared.until_shutdown(preparing).await?;
        let required = self.shared.settings.panel.required(review.category, &content.files);
        let command = Command::Revise(Revise {
            proposer_id: request.proposer_id.clone(),
            completes: review.round.content_hash.clone(),
            round: Round { request_key, change_note: request.change_note.clone(), required: required.into(), ..round },
            anchors: self.shared.until_shutdown(self.reanchor_findings(&review, &content)).await?,
        });
        let payload = CommandPayload { content: Some(content), expected_version, patch: None };
        self.reviews.apply(id, command, payload).await
    }

    /// Checks a verdict, grounds its findings in the files and sends it.
    pub(crate) async fn give_verdict(
        &self,
        id: ReviewId,
        request: &VerdictRequest,
        findings: &[NewFinding],
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let limits = &self.shared.settings.limits;
        self.shared.check_texts(&verdict_texts(request, findings, limits)).await?;
        input_validation::check_findings(limits, findings)?;
        input_validation::check_metrics(request.metrics.as_ref())?;
        input_validation::check_signature(request)?;
        let files = match &request.counter_patch {
            Some(patch) => self.patch_files(patch).await?,
            None => Vec::new(),
        };
        let attempt = || self.try_verdict(id, request, findings, &files, expected_version);
        // The findings may be checked against a content that is no longer active.
        if findings.is_empty() { attempt().await } else { retry_if_moved(attempt).await }
    }

    async fn try_verdict(
        &self,
        id: ReviewId,
        request: &VerdictRequest,
        findings: &[NewFinding],
        patch_files: &[AffectedFile],
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let patch: Option<Arc<str>> = request.counter_patch.as_deref().map(Into::into);
        let mut verdict = GiveVerdict {
            by: request.reviewer_id.clone(),
            generation: request.claim_generation,
            content_hash: request.content_hash.clone(),
            verdict: request.verdict,
            reason: request.reason.clone(),
            summary: request.summary.clone(),
            metrics: request.metrics.clone(),
            patch: patch.as_ref().map(|_| OfferedPatch { check: None, files: patch_files.to_vec() }),
            findings: None,
            signature: request.signature.clone(),
            digest: verdict_digest(request, findings),
        };
        if !findings.is_empty() {
            let review = self.shared.find_review(id).await?;
            // A verdict that will be refused does not need its files read.
            check_needed(&review, &Command::GiveVerdict(verdict.clone()), self.shared.clock.now())?;
            let seat = review.claimed_seat(verdict.by.as_deref(), verdict.generation).map(|(_, seat, _)| seat);
            let grounding = Box::pin(self.ground_findings(&review, seat, findings.to_vec()));
            verdict.findings = Some(self.shared.until_shutdown(grounding).await?);
        }
        let payload = CommandPayload { content: None, patch, expected_version };
        self.reviews.apply(id, Command::GiveVerdict(verdict), payload).await
    }

    /// The repository of the review's project.
    pub(crate) fn repository(&self, review: &Review) -> Result<Repository, BrokerError> {
        self.projects.repository(review.proposer.project.as_deref())
    }

    /// Reserves consecutive numbers for `count` findings.
    fn finding_numbers(&self, count: usize) -> impl Iterator<Item = FindingNumber> + use<> {
        let first = self.last_finding.fetch_add(count as i64, Relaxed) + 1;
        (first..).take(count).map(FindingNumber)
    }
}

/// Fingerprint by which a repeated verdict is recognised: everything the reviewer says, without its name, its claim and
/// its metrics.
fn verdict_digest(request: &VerdictRequest, findings: &[NewFinding]) -> String {
    let VerdictRequest { verdict, reason, summary, content_hash, counter_patch, signature, .. } = request;
    match signature {
        None => digest_json(&(verdict, reason, summary, content_hash, counter_patch, findings)),
        Some(signed) => digest_json(&(verdict, reason, summary, content_hash, counter_patch, findings, signed)),
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

/// The named seats without duplicates; `None` if the caller names none.
fn named_seats(request: &CreateReviewRequest) -> Result<Option<Vec<String>>, BrokerError> {
    let (field, names) = match (&request.reviewers, &request.personas) {
        (Some(_), Some(_)) => {
            return Err(invalid("personas", "not allowed with reviewers, which names the seats".into()));
        }
        (Some(reviewers), None) => ("reviewers", reviewers.as_slice()),
        (None, personas) => ("personas", personas.as_deref().unwrap_or_default()),
    };
    if names.is_empty() {
        return Ok(None);
    }
    for name in names {
        check_seat_name(field, name, field == "reviewers")?;
    }
    let seats = distinct_personas(names.to_vec());
    if seats.len() > MAX_SEATS {
        return Err(invalid(field, format!("are {} different ones; allowed are 1 to {MAX_SEATS}", seats.len())));
    }
    Ok(Some(seats))
}

/// A reviewer is a configured persona, or one person or agent with `@`.
pub(crate) fn check_persona_or_person(
    field: &'static str,
    given: &str,
    personas: &Personas,
) -> Result<(), BrokerError> {
    if given.starts_with('@') || personas.contains_key(given) {
        return Ok(());
    }
    let known = personas.keys().cloned().collect();
    Err(BrokerError::UnknownPersona { field, given: given.to_owned(), known })
}

/// Checks the name of a seat: a persona or, if `is_directed`, also `@` and the name of a reviewer.
pub(crate) fn check_seat_name(field: &'static str, given: &str, is_directed: bool) -> Result<(), BrokerError> {
    let name = given.strip_prefix('@').filter(|_| is_directed).unwrap_or(given);
    let chars = name.chars().count();
    if chars > MAX_PERSONA_NAME_CHARS {
        return Err(BrokerError::TooLong { field, actual: chars, limit: MAX_PERSONA_NAME_CHARS, unit: "characters" });
    }
    if !is_persona_name(name) {
        let directed = if is_directed { ", or @ and such a name" } else { "" };
        let problem = format!(
            "{given:?} is not a valid name; allowed: 1 to {MAX_PERSONA_NAME_CHARS} of a-z A-Z 0-9 . _ -{directed}"
        );
        return Err(invalid(field, problem));
    }
    Ok(())
}

/// The policy for a number of seats. `max_rounds` is the configured maximum.
fn policy(asked: PolicyRequest, seats: usize, max_rounds: u32) -> Result<Policy, BrokerError> {
    let rule = match (asked.rule.unwrap_or(RuleName::RequireAll), asked.min_approvals) {
        (RuleName::MinApprovals, Some(n)) if n >= 1 && n as usize <= seats => Rule::MinApprovals(n),
        (RuleName::MinApprovals, Some(n)) => {
            let problem = format!("is {n}; allowed is 1 to {seats}, the number of seats");
            return Err(invalid("policy.min_approvals", problem));
        }
        (RuleName::MinApprovals, None) => {
            let problem = format!("is needed with rule min_approvals: 1 to {seats}, the number of seats");
            return Err(invalid("policy.min_approvals", problem));
        }
        (rule, Some(_)) => {
            let problem = format!("only with rule min_approvals, not with {rule}");
            return Err(invalid("policy.min_approvals", problem));
        }
        (RuleName::RequireAll, None) => Rule::RequireAll,
        (RuleName::Majority, None) => Rule::Majority,
    };
    let max_rounds = match asked.max_rounds {
        None => max_rounds,
        Some(rounds) if (1..=max_rounds).contains(&rounds) => rounds,
        Some(rounds) => {
            let problem = format!(
                "is {rounds}; allowed is 1 to {max_rounds}: a proposal may lower reviews.max_rounds, not raise it"
            );
            return Err(invalid("policy.max_rounds", problem));
        }
    };
    if let Some(minutes) = asked.max_minutes.filter(|minutes| !(1..=MAX_MINUTES).contains(minutes)) {
        return Err(invalid("policy.max_minutes", format!("is {minutes}; allowed is 1 to {MAX_MINUTES}")));
    }
    let max_cost_micro_usd = match asked.max_cost_usd {
        None => None,
        Some(cost) if (0.01..=MAX_COST_USD).contains(&cost) => Some((cost * 1e6).round() as u64),
        Some(cost) => {
            return Err(invalid("policy.max_cost_usd", format!("is {cost}; allowed is 0.01 to {MAX_COST_USD}")));
        }
    };
    Ok(Policy {
        rule,
        max_rounds,
        // With one reviewer its verdict decides alone.
        block_on_critical: asked.block_on_critical.unwrap_or(seats > 1),
        ungrounded_blocks: asked.ungrounded_blocks.unwrap_or(true),
        max_minutes: asked.max_minutes,
        max_cost_micro_usd,
    })
}

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
