//! What comes nearest to a change that nobody has approved, and what to do about it.

use super::{
    judge::{Judge, Relation, paths_of},
    landing::Landing,
};
use crate::cli::render::clipped;
use domain::review::Status;
use std::collections::BTreeSet;
use store::read_only::ReviewedContent;

/// Enough to see which part is covered by what.
const MAX_NEAR: usize = 3;
const MAX_FILES: usize = 3;
const REASON_CHARS: usize = 160;
const PATH_CHARS: usize = 100;

/// A review that touches some of the same files.
#[derive(Debug)]
pub(in crate::cli) struct Near {
    pub case: ReviewedContent,
    pub how: How,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum How {
    /// It is this change to the byte, but its approval does not stand.
    Exactly,
    /// It is this change except for these files.
    Except(Vec<String>),
    /// It does not apply to what this change stands on.
    DoesNotApply,
}

pub(super) async fn nearest(judge: &mut Judge, landing: &Landing) -> anyhow::Result<Vec<Near>> {
    let paths: BTreeSet<String> = judge.paths(landing).await?.into_iter().collect();
    let mut ranked: Vec<_> = judge
        .touched()
        .await?
        .iter()
        .filter_map(|touched| {
            let theirs = paths_of(touched);
            let shared = theirs.intersection(&paths).count();
            let strange = theirs.union(&paths).count() - shared;
            (shared > 0).then_some((strange, std::cmp::Reverse(touched.number.0), touched.number))
        })
        .collect();
    ranked.sort_unstable();
    let mut near = Vec::new();
    for (.., number) in ranked {
        let Some(case) = judge.ledger.find_reviewed_content(number).await? else { continue };
        let how = match judge.relate(&case, landing).await? {
            Relation::Differs(files) if files.is_empty() => How::Exactly,
            Relation::Differs(files) => How::Except(files),
            Relation::DoesNotApply => How::DoesNotApply,
            Relation::Elsewhere => continue,
        };
        near.push(Near { case, how });
        if near.len() == MAX_NEAR {
            break;
        }
    }
    near.sort_by_key(|near| near.how != How::Exactly);
    Ok(near)
}

impl Near {
    pub(in crate::cli) fn words(&self) -> String {
        let number = &self.case.number;
        match &self.how {
            How::Exactly => format!("{number} is exactly this change, but {}", standing(&self.case)),
            How::Except(files) if self.case.approved => {
                format!("{number} approved this change except for {}", listed(files))
            }
            How::Except(files) => {
                format!("{number} is this change except for {}; and {}", listed(files), standing(&self.case))
            }
            How::DoesNotApply if self.case.approved => {
                format!("{number} approved another change of these files, which does not apply here")
            }
            How::DoesNotApply => format!("{number} touches the same files; {}", standing(&self.case)),
        }
    }
}

/// Why its approval does not count, in words.
fn standing(case: &ReviewedContent) -> String {
    let reason = match &case.reason {
        Some(reason) => format!(": {}", clipped(reason.lines().next().unwrap_or_default(), REASON_CHARS)),
        None => String::new(),
    };
    let now = match case.status {
        Status::Pending => "is still pending".to_owned(),
        Status::Claimed | Status::InReview => "is still being reviewed".to_owned(),
        Status::ChangesRequested => format!("changes were requested{reason}"),
        Status::Approved => "is approved".to_owned(),
        Status::Rejected => format!("was rejected{reason}"),
        Status::Cancelled => "was cancelled".to_owned(),
        Status::Closed if case.approved => "was approved and closed".to_owned(),
        Status::Closed => "was closed without an approval".to_owned(),
    };
    match (case.approved_before, case.status == Status::ChangesRequested) {
        (true, true) => format!("it was approved once, and then {now}"),
        (true, false) => format!("it was approved, then revised, and {now}"),
        (false, true) => now,
        (false, false) => format!("it {now}"),
    }
}

fn listed(files: &[String]) -> String {
    let names: Vec<_> = files.iter().take(MAX_FILES).map(|file| clipped(file, PATH_CHARS)).collect();
    match files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names.join(", ")),
        None => names.join(", "),
    }
}

/// The command that leads on from here.
pub(in crate::cli) fn next_step(landing: &Landing, near: &[Near]) -> String {
    let Some(Near { case, how: How::Exactly }) = near.first() else { return request(landing) };
    let number = &case.number;
    match case.status {
        Status::Pending | Status::Claimed | Status::InReview => format!("countersign wait {number}"),
        Status::ChangesRequested => format!("countersign show {number}, then countersign resubmit {number}"),
        Status::Approved | Status::Rejected | Status::Cancelled | Status::Closed => request(landing),
    }
}

fn request(landing: &Landing) -> String {
    match &landing.commit {
        None => "countersign request --staged".to_owned(),
        Some(id) => format!("countersign request --commit {}", super::landing::short(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_few_files_are_named_and_the_rest_counted() {
        let files: Vec<String> = ["a", "b\u{1b}", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(listed(&files[..1]), "a");
        assert_eq!(listed(&files), "a, b\\u{1b}, c and 2 more");
    }
}
