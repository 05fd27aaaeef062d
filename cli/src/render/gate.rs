//! Renders decisions of the gate as text and as JSON.

use super::clipped;
use domain::{
    review::Status,
    text::{count, escape},
};
use gate::{
    Approval, ApprovedReview, Candidate, Decision, Difference, Exemption, MAX_COMMITS, NearMiss, Outcome,
    RefusalReason, ReviewedContent, SeatVote, SkipReason,
};
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write as _;

/// How many refused commits are reported in full; the rest are counted.
const MAX_REFUSED: usize = 5;
const MAX_FILES: usize = 3;
const SUBJECT_CHARS: usize = 60;
const NAME_CHARS: usize = 60;
const REASON_CHARS: usize = 160;
const PATH_CHARS: usize = 100;

/// The answer and, if it is no, the near misses and the next step.
pub(crate) fn report(decisions: &[Decision]) -> String {
    let refused: Vec<_> = decisions.iter().filter(|decision| !decision.passes()).collect();
    let mut out = String::new();
    if decisions.is_empty() {
        return "yes: nothing to approve\n".to_owned();
    }
    if refused.is_empty() {
        for decision in decisions {
            let _ = writeln!(out, "yes: {}", describe(decision));
        }
        return out;
    }
    let is_later =
        |decision: &Decision| matches!(decision.outcome, Outcome::NotExamined(SkipReason::EarlierUnapproved));
    let (later, examined): (Vec<&Decision>, Vec<_>) = refused.iter().copied().partition(|decision| is_later(decision));
    for decision in examined.iter().take(MAX_REFUSED) {
        let _ = writeln!(out, "no: {}", describe(decision));
        if let Outcome::Unapproved(near_misses) = &decision.outcome {
            for near_miss in near_misses {
                let _ = writeln!(out, "  {}", describe_near_miss(near_miss));
            }
        }
    }
    if let Some(more) = examined.len().checked_sub(MAX_REFUSED).filter(|more| *more > 0) {
        let _ = writeln!(out, "no: {} not approved", count(more, "more commit"));
    }
    if !later.is_empty() {
        let _ = writeln!(out, "  not examined: {}", count(later.len(), "later commit"));
    }
    let _ = writeln!(out, "next: {}", next_step(&refused));
    out
}

/// One decision in one line.
pub(crate) fn describe(decision: &Decision) -> String {
    let name = name(&decision.candidate);
    match &decision.outcome {
        Outcome::Approved(approval) if approval.commits > 1 => format!(
            "{name} is one of {} commits that {} approved together ({})",
            approval.commits,
            approval.review.number,
            approvers(approval)
        ),
        Outcome::Approved(approval) => {
            format!("{name} was approved in {} ({})", approval.review.number, approvers(approval))
        }
        Outcome::Exempt(Exemption::NoChange) => format!("{name} has no net effect"),
        Outcome::Exempt(Exemption::CleanMerge) => format!("{name} is a merge without manual changes"),
        Outcome::Exempt(Exemption::ExemptFiles) => format!("{name} changes only exempt files"),
        Outcome::Exempt(Exemption::NotRequired) => format!("{name} needs no approval by the project's settings"),
        Outcome::Unapproved(_) => format!("{name} is not approved"),
        Outcome::Refused(RefusalReason::NotACommit) => {
            let id = decision.candidate.commit.as_deref().unwrap_or_default();
            format!("{} is not a commit, and only commits can be approved", short_id(id))
        }
        Outcome::Refused(RefusalReason::NotReceipts) => {
            "refs/notes/countersign may contain nothing but receipts in git notes".to_owned()
        }
        Outcome::Refused(RefusalReason::LosesReceipts) => {
            "the push would remove receipts from refs/notes/countersign, which keeps every receipt".to_owned()
        }
        Outcome::Refused(RefusalReason::MergesUnapproved(id)) => {
            format!("{name} is a clean merge, but it brings commit {}, which is not approved", short_id(id))
        }
        Outcome::Refused(RefusalReason::InsideSeries) => {
            format!("{name} was accepted only together with later commits, and cannot be the end of a branch or tag")
        }
        Outcome::NotExamined(SkipReason::EarlierUnapproved) => {
            format!("{name} was not examined, because an earlier commit is not approved")
        }
        Outcome::NotExamined(SkipReason::TooManyCommits) => {
            format!("{name} is the last of more than {MAX_COMMITS} commits; at most {MAX_COMMITS} are examined at once")
        }
    }
}

pub(crate) fn name(candidate: &Candidate) -> String {
    match &candidate.commit {
        None => "the staged change".to_owned(),
        Some(id) => format!("commit {} ({})", short_id(id), clipped(&candidate.subject, SUBJECT_CHARS)),
    }
}

pub(crate) fn short_id(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

fn approvers(approval: &Approval) -> String {
    let names = approval.review.approvals().map(|vote| {
        let (reviewer, persona) = (clipped(&vote.reviewer, NAME_CHARS), escape(&vote.persona).into_owned());
        let at = vote.at.to_zoned(TimeZone::system());
        format!("{reviewer} ({persona}) at {}", at.strftime("%Y-%m-%d %H:%M"))
    });
    match names.collect::<Vec<_>>() {
        names if names.is_empty() => "no named approver".to_owned(),
        names => names.join(", "),
    }
}

pub(crate) fn describe_near_miss(near_miss: &NearMiss) -> String {
    let (review, difference) = match near_miss {
        NearMiss::Review { review, difference } => (review, difference),
        NearMiss::Receipt(fault) => return clipped(&fault.to_string(), REASON_CHARS),
    };
    let number = review.number;
    match difference {
        Difference::None => format!("{number} is exactly this change, but {}", describe_status(review)),
        Difference::Files(files) if review.approved => {
            format!("{number} approved this change except for {}", list_files(files))
        }
        Difference::Files(files) => {
            format!("{number} is this change except for {}; {}", list_files(files), describe_status(review))
        }
        Difference::DoesNotApply if review.approved => {
            format!("{number} approved another change of these files, which does not apply here")
        }
        Difference::DoesNotApply => format!("{number} changes the same files; {}", describe_status(review)),
    }
}

pub(crate) fn describe_status(review: &ReviewedContent) -> String {
    let reason = match &review.reason {
        Some(reason) => format!(": {}", clipped(reason.lines().next().unwrap_or_default(), REASON_CHARS)),
        None => String::new(),
    };
    let status = match review.status {
        Status::Pending => "is still pending".to_owned(),
        Status::Claimed | Status::InReview => "is still being reviewed".to_owned(),
        Status::ChangesRequested => format!("changes were requested{reason}"),
        Status::Approved => "is approved".to_owned(),
        Status::Rejected => format!("was rejected{reason}"),
        Status::Cancelled => "was cancelled".to_owned(),
        Status::Closed if review.approved => "was approved and closed".to_owned(),
        Status::Closed => "was closed without an approval".to_owned(),
    };
    match (review.approved_before, review.status == Status::ChangesRequested) {
        (true, true) => format!("it was approved once, and then {status}"),
        (true, false) => format!("it was approved, then revised, and {status}"),
        (false, true) => status,
        (false, false) => format!("it {status}"),
    }
}

fn list_files(files: &[String]) -> String {
    let names: Vec<_> = files.iter().take(MAX_FILES).map(|file| clipped(file, PATH_CHARS)).collect();
    match files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", names.join(", ")),
        None => names.join(", "),
    }
}

/// The command to run next. Several commits are best reviewed together.
fn next_step(refused: &[&Decision]) -> String {
    match refused {
        [Decision { candidate, outcome: Outcome::Unapproved(near_misses) }] => {
            next_step_for_one(candidate, near_misses)
        }
        [Decision { outcome: Outcome::Refused(reason), .. }] => next_step_after_refusal(reason),
        [first, .., last] => match (first.candidate.parents.first(), &last.candidate.commit) {
            (Some(from), Some(to)) => format!("countersign request --range {}..{}", short_id(from), short_id(to)),
            (Some(_) | None, _) => "countersign request".to_owned(),
        },
        [Decision { outcome: Outcome::NotExamined(SkipReason::TooManyCommits), .. }] => {
            format!("split the commits into parts of at most {MAX_COMMITS}")
        }
        [_] | [] => "countersign request".to_owned(),
    }
}

fn next_step_after_refusal(reason: &RefusalReason) -> String {
    match reason {
        RefusalReason::NotACommit => "tag a commit instead".to_owned(),
        RefusalReason::NotReceipts | RefusalReason::LosesReceipts => {
            "git fetch REMOTE refs/notes/countersign, then git notes --ref=countersign merge -s cat_sort_uniq FETCH_HEAD"
                .to_owned()
        }
        RefusalReason::MergesUnapproved(id) => format!("countersign request --commit {}", short_id(id)),
        RefusalReason::InsideSeries => "build on the last of those commits".to_owned(),
    }
}

fn next_step_for_one(candidate: &Candidate, near_misses: &[NearMiss]) -> String {
    let request = || match &candidate.commit {
        None => "countersign request --staged".to_owned(),
        Some(id) => format!("countersign request --commit {}", short_id(id)),
    };
    let review = match near_misses.first() {
        Some(NearMiss::Review { review, difference: Difference::None }) => review,
        Some(NearMiss::Receipt(_)) => return next_step_for_receipt(candidate),
        Some(NearMiss::Review { .. }) | None => return request(),
    };
    let number = review.number;
    match review.status {
        Status::Pending | Status::Claimed | Status::InReview => format!("countersign wait {number}"),
        Status::ChangesRequested => format!("countersign show {number}, then countersign resubmit {number}"),
        Status::Approved | Status::Rejected | Status::Cancelled | Status::Closed => request(),
    }
}

/// A receipt is written where the database is.
fn next_step_for_receipt(candidate: &Candidate) -> String {
    let id = short_id(candidate.commit.as_deref().unwrap_or_default());
    format!("countersign receipt {id} where it was approved, then git push REMOTE refs/notes/countersign")
}

/// The answer of `gate --json`.
pub(crate) fn gate_answer(decisions: &[Decision]) -> impl Serialize {
    let refused: Vec<_> = decisions.iter().filter(|decision| !decision.passes()).collect();
    let changes: Vec<_> = decisions.iter().map(change_answer).collect();
    let mut answer = json!({ "answer": yes_or_no(refused.is_empty()), "changes": changes });
    if !refused.is_empty() {
        answer["next"] = next_step(&refused).into();
    }
    answer
}

/// The answer of `gate --json` if the gate could not tell.
pub(crate) fn unknown_answer(message: &str) -> impl Serialize {
    json!({ "answer": "unknown", "message": message, "changes": [] })
}

pub(crate) fn yes_or_no(passes: bool) -> &'static str {
    if passes { "yes" } else { "no" }
}

fn change_answer(decision: &Decision) -> impl Serialize {
    let Candidate { commit, parents, tree, .. } = &decision.candidate;
    let answer = yes_or_no(decision.passes());
    let mut change =
        json!({ "answer": answer, "message": describe(decision), "commit": commit, "parents": parents, "tree": tree });
    let because = match &decision.outcome {
        Outcome::Approved(approval) => {
            change["review"] = json!(approved_review(&approval.review));
            change["commits"] = approval.commits.into();
            "approved"
        }
        Outcome::Exempt(Exemption::NoChange) => "empty",
        Outcome::Exempt(Exemption::CleanMerge) => "merge",
        Outcome::Exempt(Exemption::ExemptFiles) => "exempt",
        Outcome::Exempt(Exemption::NotRequired) => "not_required",
        Outcome::Refused(RefusalReason::NotACommit) => "not_a_commit",
        Outcome::Refused(RefusalReason::MergesUnapproved(_)) => "merges_unapproved",
        Outcome::Refused(RefusalReason::InsideSeries) => "inside_series",
        Outcome::Refused(RefusalReason::NotReceipts) => "not_receipts",
        Outcome::Refused(RefusalReason::LosesReceipts) => "loses_receipts",
        Outcome::Unapproved(near_misses) => {
            change["nearest"] = near_misses.iter().map(|near_miss| json!(near_miss_answer(near_miss))).collect();
            return change;
        }
        Outcome::NotExamined(SkipReason::EarlierUnapproved) => "after_no",
        Outcome::NotExamined(SkipReason::TooManyCommits) => "too_many",
    };
    change["because"] = because.into();
    change
}

fn approved_review(review: &ApprovedReview) -> impl Serialize {
    let approver =
        |vote: &SeatVote| json!({ "reviewer_id": vote.reviewer, "persona": vote.persona, "at": vote.at.to_string() });
    json!({
        "number": review.number.to_string(),
        "review_id": review.id,
        "content_hash": review.content_hash,
        "patch_id": review.patch_id,
        "tree_id": review.tree,
        "base": review.base,
        "project": review.project,
        "approvers": review.approvals().map(approver).collect::<Vec<_>>(),
    })
}

fn near_miss_answer(near_miss: &NearMiss) -> impl Serialize {
    let (review, difference) = match near_miss {
        NearMiss::Review { review, difference } => (review, difference),
        NearMiss::Receipt(_) => return json!({ "how": "receipt", "message": describe_near_miss(near_miss) }),
    };
    let how = match difference {
        Difference::None => "exactly",
        Difference::Files(_) => "except",
        Difference::DoesNotApply => "does_not_apply",
    };
    let mut answer = json!({
        "number": review.number.to_string(),
        "review_id": review.review_id,
        "status": review.status,
        "approved": review.approved,
        "how": how,
        "message": describe_near_miss(near_miss),
    });
    if let Difference::Files(files) = difference {
        answer["files"] = json!(files);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::list_files;

    #[test]
    fn a_few_files_are_named_and_the_rest_counted() {
        let files: Vec<String> = ["a", "b\u{1b}", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(list_files(&files[..1]), "a");
        assert_eq!(list_files(&files), "a, b\\u{1b}, c and 2 more");
    }
}
