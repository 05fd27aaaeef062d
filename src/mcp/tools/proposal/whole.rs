//! A diff for a program: whole, and without what is said beside it. It may be long, so it is never copied.

use super::{Asked, Shown, Stop, Texts, Which, bad_cursor};
use crate::mcp::{args::GetProposal, refusal::Refused, tools::Call};
use bytes::Bytes;
use domain::{
    content::{Content, ContentHash},
    ids::ReviewNumber,
};
use std::{borrow::Cow, sync::Arc};

pub(crate) struct Whole {
    pub number: ReviewNumber,
    pub version: u64,
    pub round: u32,
    pub hash: ContentHash,
    pub agent_type: String,
    content: Arc<Content>,
    file: Option<String>,
}

impl Whole {
    pub(crate) fn intent(&self) -> &str {
        &self.content.intent
    }

    /// A part of the text that the broker has in memory anyway, wherever there is such a part.
    pub(crate) fn diff(&self) -> Result<Bytes, Refused> {
        let all = Bytes::from_owner(Diff(Arc::clone(&self.content)));
        let diff = match &self.file {
            None => all,
            Some(file) => match Texts::of_file(&self.content, file)?.diff {
                Cow::Borrowed(part) => all.slice_ref(part.as_bytes()),
                Cow::Owned(parts) => parts.into(),
            },
        };
        match diff.is_empty() {
            false => Ok(diff),
            true => Err(Refused::new("no_diff", "there is no diff here: the proposal is a text, or nothing changed")),
        }
    }
}

struct Diff(Arc<Content>);

impl AsRef<[u8]> for Diff {
    fn as_ref(&self) -> &[u8] {
        self.0.diff.as_deref().unwrap_or_default().as_bytes()
    }
}

pub(in crate::mcp::tools) async fn whole(args: GetProposal, call: &Call<'_>) -> Result<Whole, Stop> {
    let which = Which::read(args.content.as_deref())?;
    let caller = call.who.speaks_as("caller_id", args.caller_id)?;
    if args.cursor.is_some() {
        return Err(bad_cursor().into());
    }
    let id = call.resolve(&args.review_id).await?;
    let GetProposal { round, file, since_round: since, .. } = args;
    let review = call.server.broker.review(id).await?;
    let round = round.unwrap_or(review.round.number);
    let offered = call.server.broker.last_counter_patch(id, round, None).await?.is_some();
    let asked = Asked { round: Some(round), which, since, caller, ..Asked::default() };
    let shown = Shown::find(&review, round, &asked, offered, call.server).await?;
    Ok(Whole {
        number: review.number,
        version: review.version,
        round,
        hash: shown.hash.clone(),
        agent_type: review.proposer.agent_type.clone(),
        content: shown.into_content(),
        file,
    })
}
