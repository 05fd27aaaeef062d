//! The trailer `Countersigned`: a line in the commit message that points people to the approving review. Anyone can write
//! one, so it proves nothing.

use std::ffi::OsStr;
use std::path::Path;

use git::UserRepo;
use serde::Serialize;

use crate::{ApprovedReview, Decision, GateError};

const TRAILER_KEY: &str = "Countersigned";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trailer {
    pub review: String,
    pub content_hash: String,
    /// The tree of the commit that the trailer was written for.
    pub tree: String,
    /// For example `codex-r1 (general), ada (security)`.
    pub reviewers: String,
}

impl Trailer {
    /// `None` if no review approved the candidate.
    pub fn from_decision(decision: &Decision) -> Option<Self> {
        Some(Self::new(&decision.approval()?.review, &decision.candidate.tree))
    }

    /// The trailer of a commit with this tree.
    pub fn new(review: &ApprovedReview, tree: &str) -> Self {
        let name = |reviewer: &str, persona: &str| format!("{} ({})", sanitize(reviewer), sanitize(persona));
        let reviewers: Vec<_> = review.approvals().map(|vote| name(&vote.reviewer, &vote.persona)).collect();
        Self {
            review: review.number.to_string(),
            content_hash: review.content_hash.0.clone(),
            tree: tree.to_owned(),
            reviewers: reviewers.join(", "),
        }
    }

    /// The trailers in the message of a commit.
    pub async fn list(repo: &UserRepo, commit: &str) -> Result<Vec<Self>, GateError> {
        let format = format!("--format=%(trailers:key={TRAILER_KEY},valueonly,unfold)");
        let trailers = repo.git(["rev-list", "--no-walk", "--no-commit-header", &format, commit]).await?;
        Ok(trailers.lines().filter_map(Self::parse).collect())
    }

    /// Commits of HEAD that may have a trailer. `limit` is an option of `git rev-list`.
    pub(crate) async fn list_commits(repo: &UserRepo, limit: &str) -> Result<Vec<String>, GateError> {
        let grep = format!("--grep=^{TRAILER_KEY}: ");
        let commits = repo.git(["rev-list", limit, &grep, "HEAD"]).await?;
        Ok(commits.lines().map(str::to_owned).collect())
    }

    /// Parses `R-12 sha256:… tree:… by codex-r1 (general), ada (security)`.
    fn parse(value: &str) -> Option<Self> {
        let (fields, reviewers) = value.trim().split_once(" by ").unwrap_or((value.trim(), ""));
        let mut fields = fields.split_whitespace();
        let review = fields.next()?.to_owned();
        let field = |prefix: &str| fields.clone().find_map(|field| field.strip_prefix(prefix)).map(str::to_owned);
        Some(Self { review, content_hash: field("sha256:")?, tree: field("tree:")?, reviewers: reviewers.to_owned() })
    }

    /// The line of the commit message.
    pub fn to_line(&self) -> String {
        let Self { review, content_hash, tree, reviewers } = self;
        format!("{TRAILER_KEY}: {review} sha256:{content_hash} tree:{tree} by {reviewers}")
    }

    /// Adds the trailer to the commit message in `file`. Replaces an earlier one.
    pub async fn add_to_message(&self, repo: &UserRepo, file: &Path) -> Result<(), GateError> {
        let trailer = self.to_line();
        let options = ["interpret-trailers", "--in-place", "--if-exists", "replace", "--trailer", &trailer];
        let file = std::path::absolute(file).map_err(|error| GateError::Receipt(error.to_string()))?;
        repo.git(options.iter().map(OsStr::new).chain([file.as_os_str()])).await?;
        Ok(())
    }

    /// Adds the trailer to the message of HEAD. Staged changes stay staged.
    pub async fn amend_head(&self, repo: &UserRepo) -> Result<(), GateError> {
        let message = repo.git(["rev-list", "--no-walk", "--no-commit-header", "--format=%B", "HEAD"]).await?;
        let trailer = self.to_line();
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
    use super::Trailer;

    #[test]
    fn a_trailer_survives_formatting_and_parsing() {
        let trailer = Trailer {
            review: "R-12".into(),
            content_hash: "ab".into(),
            tree: "cd".into(),
            reviewers: "codex-r1 (general), by me (security)".into(),
        };
        let line = trailer.to_line();
        assert_eq!(line, "Countersigned: R-12 sha256:ab tree:cd by codex-r1 (general), by me (security)");
        assert_eq!(Trailer::parse(line.strip_prefix("Countersigned: ").unwrap()), Some(trailer));
        assert_eq!(Trailer::parse("yes"), None);
    }
}
