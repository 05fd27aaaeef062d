//! What a gate says, for people and for programs.

use super::{
    judge::{Answer, Approval, Judgement, Needless, Unseen},
    landing::Landing,
    nearest::{How, Near, next_step},
    range::MAX_COMMITS,
};
use crate::cli::render::clipped;
use domain::text::escape;
use domain::time::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Refused commits that are told in full; the rest is counted.
pub(super) const MAX_TOLD: usize = 5;
const NAME_CHARS: usize = 60;

/// The answer and, where it is no, what is nearest and what to do next.
pub(in crate::cli) fn told(judged: &[Judgement]) -> String {
    let refused: Vec<_> = judged.iter().filter(|judged| !judged.passes()).collect();
    let mut out = String::new();
    match (refused.as_slice(), judged) {
        ([], []) => out.push_str("yes: there is nothing to approve\n"),
        ([], _) => judged.iter().for_each(|judged| {
            let _ = writeln!(out, "yes: {}", line(judged));
        }),
        (refused, _) => {
            let (unseen, seen): (Vec<&Judgement>, Vec<_>) =
                refused.iter().copied().partition(|judged| is_after_no(judged));
            for judged in seen.iter().take(MAX_TOLD) {
                let _ = writeln!(out, "no: {}", line(judged));
                if let Answer::Unapproved(near) = &judged.answer {
                    near.iter().for_each(|near| {
                        let _ = writeln!(out, "  {}", near.words());
                    });
                }
            }
            if seen.len() > MAX_TOLD {
                let _ = writeln!(out, "no: {} more commits are not approved", seen.len() - MAX_TOLD);
            }
            if !unseen.is_empty() {
                let _ = writeln!(out, "  commits after it that were not looked at: {}", unseen.len());
            }
            let _ = writeln!(out, "next: {}", next(refused));
        }
    }
    out
}

fn is_after_no(judged: &Judgement) -> bool {
    matches!(judged.answer, Answer::Unseen(Unseen::AfterNo))
}

/// Several commits are best asked for as one.
fn next(refused: &[&Judgement]) -> String {
    match refused {
        [Judgement { landing, answer: Answer::Unapproved(near) }] => next_step(landing, near),
        [first, .., last] => {
            let end = |landing: &Landing| landing.commit.clone().unwrap_or_default();
            let (from, to) = (first.landing.parents.first().cloned(), end(&last.landing));
            match from {
                Some(from) => {
                    let (from, to) = (super::landing::short(&from), super::landing::short(&to));
                    format!("countersign request --range {from}..{to}")
                }
                None => "countersign request".to_owned(),
            }
        }
        [Judgement { answer: Answer::Unseen(Unseen::TooMany), .. }] => {
            format!("bring them in parts of at most {MAX_COMMITS} commits")
        }
        [_] | [] => "countersign request".to_owned(),
    }
}

/// One change in one line.
pub(in crate::cli) fn line(judged: &Judgement) -> String {
    let name = judged.landing.name();
    match &judged.answer {
        Answer::Approved(approval) if approval.commits > 1 => {
            format!(
                "{name} is one of {} that {} approved as one ({})",
                approval.commits,
                approval.case.number,
                by(approval)
            )
        }
        Answer::Approved(approval) => format!("{name} is what {} approved ({})", approval.case.number, by(approval)),
        Answer::Needless(Needless::Empty) => format!("{name} changes nothing"),
        Answer::Needless(Needless::Merge) => format!("{name} is the merge that git makes by itself"),
        Answer::Needless(Needless::Exempt) => format!("{name} touches only exempt files"),
        Answer::Unapproved(_) => format!("{name} is not approved"),
        Answer::Unseen(Unseen::AfterNo) => format!("{name} was not looked at, since one before it is not approved"),
        Answer::Unseen(Unseen::TooMany) => {
            format!("{name} is the last of more than {MAX_COMMITS}, which are not looked at at once")
        }
    }
}

fn by(approval: &Approval) -> String {
    let names = approval.case.approvers.iter().map(|approver| {
        let at = moment(approver.at);
        let (reviewer, persona) = (clipped(&approver.reviewer, NAME_CHARS), escape(&approver.persona).into_owned());
        format!("{reviewer} ({persona}) at {at}")
    });
    match names.collect::<Vec<_>>() {
        names if names.is_empty() => "by nobody who is named".to_owned(),
        names => names.join(", "),
    }
}

fn moment(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.0.to_string(),
    }
}

pub(in crate::cli) fn as_json(judged: &[Judgement]) -> Value {
    let yes = judged.iter().all(Judgement::passes);
    let refused: Vec<_> = judged.iter().filter(|judged| !judged.passes()).collect();
    let mut whole = json!({
        "answer": if yes { "yes" } else { "no" },
        "changes": judged.iter().map(change).collect::<Vec<_>>(),
    });
    if !yes {
        whole["next"] = next(&refused).into();
    }
    whole
}

fn change(judged: &Judgement) -> Value {
    let Landing { commit, parents, tree, .. } = &judged.landing;
    let mut change = json!({
        "commit": commit, "parents": parents, "tree": tree, "words": line(judged),
        "answer": if judged.passes() { "yes" } else { "no" },
    });
    match &judged.answer {
        Answer::Approved(approval) => {
            change["because"] = "approved".into();
            change["review"] = review(approval);
            change["commits"] = approval.commits.into();
        }
        Answer::Needless(Needless::Empty) => change["because"] = "empty".into(),
        Answer::Needless(Needless::Merge) => change["because"] = "merge".into(),
        Answer::Needless(Needless::Exempt) => change["because"] = "exempt".into(),
        Answer::Unapproved(near) => change["nearest"] = near.iter().map(near_json).collect(),
        Answer::Unseen(Unseen::AfterNo) => change["because"] = "after_no".into(),
        Answer::Unseen(Unseen::TooMany) => change["because"] = "too_many".into(),
    }
    change
}

/// What was approved, by whom and when.
pub(in crate::cli) fn review(approval: &Approval) -> Value {
    let case = &approval.case;
    let approvers = case.approvers.iter().map(|approver| {
        let at = jiff::Timestamp::from_millisecond(approver.at.0).map(|at| at.to_string()).ok();
        json!({ "reviewer_id": approver.reviewer, "persona": approver.persona, "at": at })
    });
    json!({
        "number": case.number.to_string(), "review_id": case.id.to_string(), "status": case.status.as_str(),
        "content_hash": case.content_hash, "patch_id": case.patch_id, "tree_id": case.tree_id, "base": case.base,
        "project": case.project, "approvers": approvers.collect::<Vec<_>>(),
    })
}

fn near_json(near: &Near) -> Value {
    let mut value = json!({
        "number": near.case.number.to_string(), "review_id": near.case.id.to_string(),
        "status": near.case.status.as_str(), "approved": near.case.approved, "words": near.words(),
    });
    match &near.how {
        How::Exactly => value["how"] = "exactly".into(),
        How::Except(files) => {
            value["how"] = "except".into();
            value["files"] = files.clone().into();
        }
        How::DoesNotApply => value["how"] = "does_not_apply".into(),
    }
    value
}
