//! Computes what changed between two rounds of a review, as a diff.

use super::{
    Submissions,
    content_preparation::{parse_diff, too_large},
};
use crate::error::BrokerError;
use domain::{content::Content, diff::DiffSummary, review::Review};
use git::GitError;

/// The difference between two contents, in the form of a content.
#[derive(Debug, Clone)]
pub struct Changes {
    /// Its diff leads from the files of the first content to those of the second. Its description is `None` if it did
    /// not change.
    pub content: Content,
    pub bases: Bases,
}

/// The bases of the two diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bases {
    Same,
    /// The diff then also contains the changes between the bases.
    Different,
    /// Neither content has a diff.
    None,
}

impl Submissions {
    pub(crate) async fn changes(&self, review: &Review, from: &Content, to: &Content) -> Result<Changes, BrokerError> {
        let unchanged = Content {
            intent: to.intent.clone(),
            description: to.description.clone().filter(|_| from.description != to.description),
            base_commit: to.base_commit.clone(),
            ..Content::default()
        };
        if from.diff.is_none() && to.diff.is_none() {
            return Ok(Changes { content: unchanged, bases: Bases::None });
        }
        // A round without a diff has the files of the other round's base.
        let base = |this: &Content, other: &Content| match this.diff {
            Some(_) => this.base_commit.clone(),
            None => other.base_commit.clone(),
        };
        let (old, new) = (base(from, to), base(to, from));
        let bases = if old == new { Bases::Same } else { Bases::Different };
        if bases == Bases::Same && from.diff == to.diff {
            return Ok(Changes { content: Content { diff: Some(String::new()), ..unchanged }, bases });
        }
        let repository = self.repository(review)?;
        let (from, to) = ((old.as_deref(), from.diff.as_deref()), (new.as_deref(), to.diff.as_deref()));
        let comparing = async { repository.diff_contents(from, to).await.map_err(cannot_compare) };
        let text = self.shared.until_shutdown(Box::pin(comparing)).await?;
        let (DiffSummary { files, flags, note, .. }, text) = parse_diff(text).await?;
        let diff_note = note.filter(|_| !text.is_empty());
        Ok(Changes { content: Content { diff: Some(text), files, flags, diff_note, ..unchanged }, bases })
    }
}

fn cannot_compare(error: GitError) -> BrokerError {
    let problem = if let GitError::DoesNotApply { message } = error {
        format!("one of the two diffs does not apply to its base, so there are no files to compare: {message}")
    } else if matches!(error, GitError::UnknownBase { .. }) {
        format!("the base of one of the two diffs is gone, so there are no files to compare: {error}")
    } else {
        return too_large(error);
    };
    BrokerError::InvalidArgument { field: "since_round", problem }
}
