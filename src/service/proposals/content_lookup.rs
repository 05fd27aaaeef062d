//! Chooses which content of a review a call returns: of which round, before or after an accepted counter-patch, or only
//! what changed since an earlier round. Diffs may be large, so callers that read a whole one share it instead of
//! copying it.

use super::{Texts, bad_cursor, check_round};
use crate::service::{
    Call, CallError,
    error::error_body,
    review_view::{ReviewView, RoundContents},
};
use actors::{Bases, Broker, BrokerError, Changes};
use api::{
    ErrorBody, ErrorCode,
    proposals::{ContentChoice, ProposalRequest},
};
use bytes::Bytes;
use domain::{
    content::{Content, ContentHash},
    ids::ReviewNumber,
    review::ReviewTarget,
};
use std::{borrow::Cow, sync::Arc};

pub(in crate::service) struct ChosenContent {
    pub(in crate::service) hash: ContentHash,
    /// The content that the round was submitted with, if a counter-patch replaced it.
    pub(super) submitted: Option<ContentHash>,
    /// Where the diff was read from.
    pub(super) target: Option<Box<ReviewTarget>>,
    pub(super) since: Option<RoundDiff>,
    full: Arc<Content>,
}

impl ChosenContent {
    /// `has_patch`: a counter-patch was offered in the round, so it may have been accepted.
    pub(in crate::service) async fn find(
        review: &ReviewView,
        round: u32,
        request: &ProposalRequest,
        has_patch: bool,
        broker: &Broker,
    ) -> Result<Self, CallError> {
        let (active, submitted, target) = contents_of(review, round, has_patch).await?;
        broker.check_name("content_hash", request.content_hash.as_ref().map(|hash| &hash.0))?;
        // A hash alone chooses one of the two.
        let is_submitted = request.content_hash.is_some() && request.content_hash == submitted;
        let default = if is_submitted { ContentChoice::Submitted } else { ContentChoice::Active };
        // The target belongs to the submitted content.
        let (hash, target) = match (request.content.unwrap_or(default), &submitted) {
            (ContentChoice::Submitted, Some(submitted)) => (submitted.clone(), target),
            (ContentChoice::Active, Some(_)) => (active, None),
            (ContentChoice::Submitted | ContentChoice::Active, None) => (active, target),
        };
        if let Some(given) = request.content_hash.as_ref().filter(|given| **given != hash) {
            return Err(stale_content(given, &hash).into());
        }
        let full = broker.content(&hash).await?;
        let since = match request.since_round {
            Some(from) => Some(RoundDiff::load(review, from, round, &full, broker).await?),
            None => None,
        };
        Ok(Self { hash, submitted, target, since, full })
    }

    /// The whole content, or what changed since an earlier round.
    pub(in crate::service) fn content(&self) -> &Content {
        self.since.as_ref().map_or(&self.full, |since| &since.content)
    }

    pub(super) fn into_content(self) -> Arc<Content> {
        self.since.map_or(self.full, |since| Arc::new(since.content))
    }
}

fn stale_content(given: &ContentHash, current: &ContentHash) -> ErrorBody {
    let error = format!("content_hash: the requested content is {current}, not {given}; read the review again");
    let body = ErrorBody::new(ErrorCode::StaleContent, error).with("field", "content_hash");
    body.with("given", given.0.clone()).with("current", current.0.clone())
}

type Contents = (ContentHash, Option<ContentHash>, Option<Box<ReviewTarget>>);

/// The active content of a round, the submitted content if a counter-patch replaced it, and the target of the submitted
/// content.
async fn contents_of(review: &ReviewView, round: u32, has_patch: bool) -> Result<Contents, CallError> {
    let (number, last) = (review.number, review.round.number);
    if round == last && !has_patch {
        return Ok((review.round.content_hash.clone(), None, review.round.target.clone()));
    }
    let contents = review.round_contents(round).await?;
    let RoundContents { active, submitted, target } =
        contents.ok_or(BrokerError::NoSuchRound { number, round, last })?;
    let submitted = submitted.filter(|submitted| *submitted != active);
    Ok((active, submitted, target))
}

pub(super) struct RoundDiff {
    pub(super) content: Content,
    pub(super) note: Option<String>,
}

impl RoundDiff {
    /// What changed from round `from` to `to`, a content of `round`.
    pub(super) async fn load(
        review: &ReviewView,
        from: u32,
        round: u32,
        to: &Content,
        broker: &Broker,
    ) -> Result<Self, CallError> {
        let (number, last) = (review.number, review.round.number);
        let unknown = || {
            let error = BrokerError::NoSuchRound { number, round: from, last };
            error_body(&error).with("field", "since_round")
        };
        let contents = review.round_contents(from).await?.ok_or_else(unknown)?;
        if from > round {
            let problem = format!("is {from}, after the requested round {round}; give an earlier one");
            return Err(ErrorBody::invalid("since_round", &problem).into());
        }
        let before = broker.content(&contents.active).await?;
        let Changes { content, bases } = broker.changes(review, &before, to).await?;
        let note = note(from, round, &content, bases);
        Ok(Self { content, note })
    }
}

/// What a counter-patch changes in the content that round `from` was submitted with.
pub(super) async fn changed_by_patch(
    review: &ReviewView,
    from: u32,
    patch: String,
    broker: &Broker,
) -> Result<String, CallError> {
    let (active, submitted, _) = contents_of(review, from, true).await?;
    let before = broker.content(&submitted.unwrap_or(active)).await?;
    let after = Content { diff: Some(patch), ..Content::clone(&before) };
    let Changes { content, .. } = broker.changes(review, &before, &after).await?;
    Ok(content.diff.unwrap_or_default())
}

fn note(from: u32, round: u32, content: &Content, bases: Bases) -> Option<String> {
    let is_unchanged = content.diff.as_deref().is_none_or(str::is_empty);
    let description = if content.description.is_some() { "changed, returned in full" } else { "unchanged" };
    match bases {
        Bases::None => Some(format!("Neither round {from} nor round {round} has a diff. Description: {description}.")),
        Bases::Same | Bases::Different if is_unchanged => {
            Some(format!("The resulting files are those of round {from}. Description: {description}."))
        }
        Bases::Same => None,
        Bases::Different => Some(format!(
            "Rounds {from} and {round} are based on different commits. The diff compares the resulting files, so it \
             also holds what changed between the bases."
        )),
    }
}

#[derive(Debug)]
pub(crate) struct FullDiff {
    pub number: ReviewNumber,
    pub version: u64,
    pub round: u32,
    pub hash: ContentHash,
    pub agent_type: String,
    /// The caller named the content by its hash, so every later call returns this diff as well.
    pub never_changes: bool,
    content: Arc<Content>,
    file: Option<String>,
}

impl FullDiff {
    pub(crate) fn intent(&self) -> &str {
        &self.content.intent
    }

    /// The diff, as a slice of the content in memory where possible.
    pub(crate) fn diff(&self) -> Result<Bytes, ErrorBody> {
        let all = Bytes::from_owner(DiffBytes(Arc::clone(&self.content)));
        let diff = match &self.file {
            None => all,
            Some(file) => match Texts::of_file(&self.content, file)?.diff {
                Cow::Borrowed(part) => all.slice_ref(part.as_bytes()),
                Cow::Owned(parts) => parts.into(),
            },
        };
        match diff.is_empty() {
            false => Ok(diff),
            true => {
                let error = "there is no diff: the proposal is only text, or nothing changed";
                Err(ErrorBody::new(ErrorCode::NoDiff, error))
            }
        }
    }
}

struct DiffBytes(Arc<Content>);

impl AsRef<[u8]> for DiffBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.diff.as_deref().unwrap_or_default().as_bytes()
    }
}

pub(in crate::service) async fn full_diff(call: &Call<'_>, request: ProposalRequest) -> Result<FullDiff, CallError> {
    call.authz.identity_for("caller_id", request.caller_id.clone())?;
    if request.cursor.is_some() {
        return Err(bad_cursor().into());
    }
    let id = call.resolve(&request.review_id).await?;
    let review = ReviewView::load(&call.broker, id, request.at).await?;
    let round = request.round.unwrap_or(review.round.number);
    check_round(&review, round)?;
    let has_patch = review.last_counter_patch(round, None).await?.is_some();
    let chosen = ChosenContent::find(&review, round, &request, has_patch, &call.broker).await?;
    Ok(FullDiff {
        number: review.number,
        version: review.version,
        round,
        hash: chosen.hash.clone(),
        agent_type: review.proposer.agent_type.clone(),
        // The content of a round stays after the next one has begun.
        never_changes: request.content_hash.is_some() && request.since_round.is_none_or(|from| from < round),
        content: chosen.into_content(),
        file: request.file,
    })
}
