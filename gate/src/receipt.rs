//! Reads and writes receipts: records in the repository of which review approved a commit.
//!
//! A note (`refs/notes/countersign`, one line of JSON) leaves the commit unchanged. A trailer is part of the commit
//! message and is pushed with it. Neither is a proof, because anyone can write one; only the database proves an
//! approval.

use std::ffi::OsStr;
use std::path::Path;

use git::UserRepo;
use serde::{Deserialize, Serialize};

use crate::{Candidate, Decision, GateError, ReviewedContent};

const NOTES_REF: &str = "--ref=refs/notes/countersign";
const TRAILER_KEY: &str = "Countersigned";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub review: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_id: Option<String>,
    pub content_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// The tree of the commit that the receipt was written for.
    pub tree: String,
    #[serde(default)]
    pub reviewers: Vec<ReceiptReviewer>,
    /// The commit that a note is attached to.
    #[serde(skip)]
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptReviewer {
    pub id: String,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl Receipt {
    /// `None` if no review approved the candidate.
    pub fn from_decision(decision: &Decision) -> Option<Self> {
        Some(Self::new(&decision.approval()?.review, &decision.candidate))
    }

    /// The receipt of a candidate that is the approved content of a review.
    pub fn new(review: &ReviewedContent, candidate: &Candidate) -> Self {
        let reviewers = review.approvers.iter().map(|approver| ReceiptReviewer {
            id: approver.reviewer.clone(),
            persona: approver.persona.clone(),
            at: Some(approver.at.to_string()),
        });
        Self {
            review: review.number.to_string(),
            review_id: Some(review.review_id.to_string()),
            content_hash: review.content_hash.0.clone(),
            patch_id: review.patch_id.clone(),
            tree: candidate.tree.clone(),
            reviewers: reviewers.collect(),
            commit: candidate.commit.clone(),
        }
    }

    /// The receipts of a commit, from its note and from its message.
    pub async fn list(repo: &UserRepo, commit: &str) -> Result<Vec<Self>, GateError> {
        let note = repo.try_git(["notes", NOTES_REF, "show", commit]).await?;
        let mut receipts = Vec::new();
        if note.success {
            receipts.extend(note.text().lines().filter_map(|line| serde_json::from_str(line).ok()));
        }
        let format = format!("--format=%(trailers:key={TRAILER_KEY},valueonly,unfold)");
        let trailers = repo.git(["rev-list", "--no-walk", "--no-commit-header", &format, commit]).await?;
        receipts.extend(trailers.lines().filter_map(Self::parse_trailer));
        Ok(receipts)
    }

    /// Commits that may have a receipt. `limit` is an option of `git rev-list`.
    pub(crate) async fn list_commits(repo: &UserRepo, limit: &str) -> Result<Vec<String>, GateError> {
        let notes = repo.try_git(["notes", NOTES_REF, "list"]).await?.text();
        let with_note = notes.lines().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned);
        let grep = format!("--grep=^{TRAILER_KEY}: ");
        let with_trailer = repo.git(["rev-list", limit, &grep, "HEAD"]).await?;
        Ok(with_note.chain(with_trailer.lines().map(str::to_owned)).collect())
    }

    /// Parses `R-12 sha256:… tree:… by codex-r1 (general), ada (security)`.
    fn parse_trailer(value: &str) -> Option<Self> {
        let (fields, reviewers) = value.trim().split_once(" by ").unwrap_or((value.trim(), ""));
        let mut fields = fields.split_whitespace();
        let review = fields.next()?.to_owned();
        let field = |prefix: &str| fields.clone().find_map(|field| field.strip_prefix(prefix)).map(str::to_owned);
        let reviewers = reviewers.split(", ").filter_map(|reviewer| {
            let (id, persona) = reviewer.strip_suffix(')')?.rsplit_once(" (")?;
            Some(ReceiptReviewer { id: id.to_owned(), persona: persona.to_owned(), at: None })
        });
        Some(Self {
            review,
            review_id: None,
            content_hash: field("sha256:")?,
            patch_id: None,
            tree: field("tree:")?,
            reviewers: reviewers.collect(),
            commit: None,
        })
    }

    pub fn to_trailer(&self) -> String {
        let name = |reviewer: &ReceiptReviewer| format!("{} ({})", sanitize(&reviewer.id), sanitize(&reviewer.persona));
        let reviewers = self.reviewers.iter().map(name).collect::<Vec<_>>().join(", ");
        format!("{TRAILER_KEY}: {} sha256:{} tree:{} by {reviewers}", self.review, self.content_hash, self.tree)
    }

    /// Attaches the receipt to its commit as a note.
    pub async fn write_note(&self, repo: &UserRepo) -> Result<(), GateError> {
        let missing = || GateError::Receipt("a note needs a commit".to_owned());
        let commit = self.commit.as_deref().ok_or_else(missing)?;
        let text = serde_json::to_string(self).map_err(|error| GateError::Receipt(error.to_string()))?;
        repo.git(["notes", NOTES_REF, "add", "--force", "--message", &text, commit]).await?;
        Ok(())
    }

    /// Adds the trailer to the commit message in `file`. Replaces an earlier one.
    pub async fn add_to_message(&self, repo: &UserRepo, file: &Path) -> Result<(), GateError> {
        let trailer = self.to_trailer();
        let options = ["interpret-trailers", "--in-place", "--if-exists", "replace", "--trailer", &trailer];
        let file = std::path::absolute(file).map_err(|error| GateError::Receipt(error.to_string()))?;
        repo.git(options.iter().map(OsStr::new).chain([file.as_os_str()])).await?;
        Ok(())
    }

    /// Adds the trailer to the message of HEAD. Staged changes stay staged.
    pub async fn amend_head(&self, repo: &UserRepo) -> Result<(), GateError> {
        let message = repo.git(["rev-list", "--no-walk", "--no-commit-header", "--format=%B", "HEAD"]).await?;
        let trailer = self.to_trailer();
        let options = ["interpret-trailers", "--if-exists", "replace", "--trailer", &trailer];
        let message = repo.git_with_input(options, format!("{message}\n").as_bytes()).await?;
        let amend = ["commit", "--amend", "--only", "--no-verify", "--quiet", "--file", "-"];
        repo.git_with_input(amend, message.stdout()).await?;
        Ok(())
    }
}

/// Replaces characters of a caller-chosen name that would break the trailer.
fn sanitize(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || c == '(' || c == ')' || c == ',' { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Receipt, ReceiptReviewer};

    #[test]
    fn a_trailer_survives_formatting_and_parsing() {
        let reviewer = |id: &str, persona: &str| ReceiptReviewer { id: id.into(), persona: persona.into(), at: None };
        let receipt = Receipt {
            review: "R-12".into(),
            review_id: None,
            content_hash: "ab".into(),
            patch_id: None,
            tree: "cd".into(),
            reviewers: vec![reviewer("codex-r1", "general"), reviewer("by me", "security")],
            commit: None,
        };
        let trailer = receipt.to_trailer();
        assert_eq!(trailer, "Countersigned: R-12 sha256:ab tree:cd by codex-r1 (general), by me (security)");
        assert_eq!(Receipt::parse_trailer(trailer.strip_prefix("Countersigned: ").unwrap()), Some(receipt));
        assert_eq!(Receipt::parse_trailer("yes"), None);
    }
}
