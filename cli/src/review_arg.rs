//! The review argument: the review that is named, else the only one that fits.

use crate::{
    CliError,
    identity::{Caller, Side},
    render::{clipped, rows, text},
    terminal,
};
use anyhow::anyhow;
use git::UserRepo;
use serde_json::{Value, json};

/// Newest reviews that are searched.
const LOOKED_AT: usize = 500;
/// Reviews of the caller whose branch is looked up.
const ASKED: usize = 50;
const INTENT_COLUMNS: usize = 50;

const ENDED: [&str; 3] = ["rejected", "cancelled", "closed"];

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReviewArg {
    /// R-12, 12, an id or the beginning of one [default: the only open review of this branch, or of yours]
    #[arg(value_name = "REVIEW")]
    review: Option<String>,
}

/// Writes `12` as `R-12`. A longer number may be the beginning of an id.
pub(crate) fn id(given: &str) -> String {
    let is_number = (1..8).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("R-{given}") } else { given.to_owned() }
}

impl ReviewArg {
    /// The review for a caller in this role.
    pub(crate) async fn find(&self, caller: &Caller, side: Side) -> Result<String, CliError> {
        self.find_for(caller, Some(side)).await
    }

    /// The review for a caller that only reads.
    pub(crate) async fn find_any(&self, caller: &Caller) -> Result<String, CliError> {
        self.find_for(caller, None).await
    }

    async fn find_for(&self, caller: &Caller, side: Option<Side>) -> Result<String, CliError> {
        match &self.review {
            Some(given) => Ok(id(given)),
            None => guess(caller, side).await,
        }
    }
}

async fn guess(caller: &Caller, side: Option<Side>) -> Result<String, CliError> {
    let mut fit: Vec<Value> = newest(caller).await?;
    fit.retain(|row| !ENDED.iter().any(|ended| row["status"] == *ended));
    let (proposes, reviews) = (side != Some(Side::Reviewer), side != Some(Side::Proposer));
    fit.retain(|row| proposes && caller.has_proposed(row) || reviews && caller.holds(row));
    if proposes && fit.len() > 1 {
        let of_branch = of_branch(caller, &fit).await?;
        if !of_branch.is_empty() {
            fit = of_branch;
        }
    }
    let who = caller.name()?;
    let what = match side {
        Some(Side::Proposer) => "has proposed",
        Some(Side::Reviewer) => "holds",
        None => "has proposed or holds",
    };
    match fit.as_slice() {
        [] => Err(CliError::usage(anyhow!("which review? {who} {what} no open one; `countersign list` shows all"))),
        [only] => {
            let intent = clipped(only["intent"].as_str().unwrap_or_default(), INTENT_COLUMNS);
            terminal::remark(&format!("{}: {intent}", text(only, "number")));
            Ok(text(only, "number"))
        }
        several => {
            let numbers: Vec<_> = several.iter().take(10).map(|row| text(row, "number")).collect();
            Err(CliError::usage(anyhow!("which review? {who} {what} {}", numbers.join(", "))))
        }
    }
}

async fn newest(caller: &Caller) -> Result<Vec<Value>, CliError> {
    let mut page = caller.remote.pages("list_reviews", json!({}), "reviews", LOOKED_AT).await?;
    Ok(page["reviews"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// The reviews of this branch, with their status.
async fn of_branch(caller: &Caller, reviews: &[Value]) -> Result<Vec<Value>, CliError> {
    let Some(branch) = UserRepo::at(caller.dir.clone()).current_branch().await? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for row in reviews.iter().filter(|row| row["has_diff"] == true).take(ASKED) {
        let review = caller.call("get_review_status", json!({ "review_id": row["review_id"] })).await?;
        if is_of(&review, &branch) {
            found.push(review);
        }
    }
    Ok(found)
}

fn is_of(review: &Value, branch: &str) -> bool {
    review["target"]["kind"] == "branch" && review["target"]["name"] == branch
}

/// The caller's reviews of this branch, open or not, newest first.
pub(crate) async fn own_of_branch(caller: &Caller) -> Result<Vec<Value>, CliError> {
    let mut own = newest(caller).await?;
    own.retain(|row| caller.has_proposed(row));
    of_branch(caller, &own).await
}

/// The review that an issue was raised in.
pub(crate) async fn of_issue(caller: &Caller, issue: &str) -> Result<String, CliError> {
    let arguments = json!({ "include_suggestions": true });
    let page = caller.remote.pages("list_issues", arguments, "issues", usize::MAX).await?;
    let found = rows(&page, "issues").iter().find(|row| row["issue_id"] == *issue);
    let unknown = || anyhow!("no issue {issue}; run `countersign issues`");
    Ok(found.map(|row| text(row, "number")).ok_or_else(unknown)?)
}

#[cfg(test)]
mod tests {
    use super::id;

    #[test]
    fn a_short_number_is_a_review_and_a_long_one_the_beginning_of_an_id() {
        assert_eq!(["12", "R-12", "12345678", "a1b2"].map(id), ["R-12", "R-12", "12345678", "a1b2"]);
    }
}
