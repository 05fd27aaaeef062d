//! A whole diff for programs, without pages. Diffs may be large, so the text is not copied.

use super::{ChosenContent, Texts, bad_cursor};
use crate::service::{Call, CallError, check_round};
use api::{ErrorBody, ErrorCode, proposals::ProposalRequest};
use bytes::Bytes;
use domain::{
    content::{Content, ContentHash},
    ids::ReviewNumber,
};
use std::{borrow::Cow, sync::Arc};

#[derive(Debug)]
pub(crate) struct FullDiff {
    pub number: ReviewNumber,
    pub version: u64,
    pub round: u32,
    pub hash: ContentHash,
    pub agent_type: String,
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
    let review = call.broker.review(id).await?;
    let round = request.round.unwrap_or(review.round.number);
    check_round(&review, round)?;
    let has_patch = call.broker.reader().find_last_counter_patch(review.number, round, None).await?.is_some();
    let chosen = ChosenContent::find(&review, round, &request, has_patch, &call.broker).await?;
    Ok(FullDiff {
        number: review.number,
        version: review.version,
        round,
        hash: chosen.hash.clone(),
        agent_type: review.proposer.agent_type.clone(),
        content: chosen.into_content(),
        file: request.file,
    })
}
