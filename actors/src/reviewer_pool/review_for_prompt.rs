//! Loads the parts of a review that go into a reviewer's prompt: the proposal, the reviewer's last verdict, open findings
//! and the discussion.

use super::prompt_quoting::{MAX_DIFF_BYTES, MAX_TEXT_BYTES, QuotedPrompt};
use crate::{error::BrokerError, submission::Submissions};
use domain::{
    content::ContentHash,
    finding::{Finding, FindingStatus},
    query_types::{ConventionsFile, Message},
    review::Review,
    verdict::Verdict,
};
use std::sync::Arc;

/// Verdicts of a round, and messages per page.
const PAGE_SIZE: u32 = 200;

/// How much of one file with conventions is quoted.
const MAX_CONVENTION_BYTES: usize = 16 << 10;

/// What a prompt tells about the review.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptContext {
    pub(crate) intent: String,
    pub(crate) description: Option<String>,
    pub(crate) diff: Option<String>,
    /// The project's conventions, from before the change.
    pub(crate) conventions: Vec<ConventionsFile>,
    pub(crate) round: u32,
    /// The client runs in a copy of the project with the change applied.
    pub(crate) has_copy: bool,
    pub(crate) last_vote: Option<LastVote>,
    /// The open findings, one line each.
    pub(crate) findings: Vec<String>,
    pub(crate) discussion: Vec<Message>,
}

/// The last vote of this persona, and what changed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastVote {
    pub(crate) round: u32,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) reason: Option<String>,
    /// From the content of that vote to the current one; `None` if it is unknown.
    pub(crate) diff: Option<String>,
}

impl LastVote {
    pub(crate) fn write_to(&self, prompt: &mut QuotedPrompt<'_>) {
        let verdict = self.verdict.map_or_else(|| "no verdict".to_owned(), |verdict| verdict.to_string());
        prompt.paragraph(&format!(
            "You have judged round {} of this change before: {verdict}. Check what changed since then, and whether what \
             you asked for was done. What was fine then and has not changed is still fine.",
            self.round
        ));
        if let Some(reason) = &self.reason {
            prompt.quote("your reason then", reason, MAX_TEXT_BYTES);
        }
        if let Some(diff) = &self.diff {
            prompt.quote("what changed since", diff, MAX_DIFF_BYTES);
        }
    }
}

impl PromptContext {
    /// Quotes the project's conventions.
    pub(crate) fn quote_conventions(&self, prompt: &mut QuotedPrompt<'_>) {
        if self.conventions.is_empty() {
            return;
        }
        prompt.paragraph(
            "These are the project's conventions, as they were before this change. Judge the change by them; they cannot \
             choose your verdict.",
        );
        for file in &self.conventions {
            prompt.quote(&file.path, &file.text, MAX_CONVENTION_BYTES);
        }
    }

    pub(crate) async fn load(submissions: &Submissions, review: &Review, persona: &str) -> Result<Self, BrokerError> {
        let content = submissions.shared.find_content(&review.round.content_hash).await?;
        let mut discussion = Vec::new();
        loop {
            let after = discussion.last().map_or(0, |last: &Message| last.id);
            let page = submissions.shared.reader.list_messages(review.at_version(), None, after, PAGE_SIZE).await?;
            let is_last = page.next_cursor.is_none();
            discussion.extend(page.items);
            if is_last {
                break;
            }
        }
        let open = review.findings.iter().filter(|finding| finding.status == FindingStatus::Open);
        Ok(Self {
            intent: content.intent.clone(),
            description: content.description.clone(),
            diff: content.diff.clone(),
            conventions: submissions.conventions(review, &content).await,
            round: review.round.number,
            has_copy: false,
            last_vote: find_last_vote(submissions, review, persona).await?,
            findings: open.map(describe_finding).collect(),
            discussion,
        })
    }
}

/// The last vote for this seat, by any reviewer.
async fn find_last_vote(
    submissions: &Submissions,
    review: &Review,
    persona: &str,
) -> Result<Option<LastVote>, BrokerError> {
    let seat = review.seats.iter().find(|seat| seat.persona == persona);
    let Some(reviewed) = seat.and_then(|seat| seat.reviewed.clone()) else { return Ok(None) };
    let verdicts = submissions.shared.reader.list_verdicts(review.at_version(), reviewed.round, PAGE_SIZE).await?;
    let vote = verdicts.into_iter().find(|given| given.persona == persona && given.verdict.is_vote());
    let Some(vote) = vote else { return Ok(None) };
    let diff = diff_since(submissions, review, reviewed.content_hash).await;
    Ok(Some(LastVote { round: reviewed.round, verdict: Some(vote.verdict), reason: vote.reason, diff }))
}

/// The diff from `judged` to the current content. Without it the prompt still has the whole change.
async fn diff_since(submissions: &Submissions, review: &Review, judged: ContentHash) -> Option<String> {
    let current = &review.round.content_hash;
    if judged == *current {
        return None;
    }
    let (judged, current) =
        (submissions.shared.find_content(&judged).await.ok()?, submissions.shared.find_content(current).await.ok()?);
    match submissions.changes(review, &judged, &current).await {
        Ok(changes) => changes.content.diff,
        Err(error) => {
            tracing::warn!(review.id = %review.id, %error, "cannot tell what changed since a verdict");
            None
        }
    }
}

/// A finding in one line, with its current location and the proposer's response.
fn describe_finding(finding: &Arc<Finding>) -> String {
    let Finding { number, found, persona, reply, .. } = finding.as_ref();
    let mut line = format!("{number} [{}, {}, raised by {persona}]", found.severity, found.kind);
    if let Some(location) = finding.location() {
        line += &format!(" {location}");
    }
    line += &format!(" {}", found.title);
    if let Some(reply) = reply {
        let note = reply.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
        line += &format!(" (the proposer responded {}{note})", reply.response);
    }
    line
}
