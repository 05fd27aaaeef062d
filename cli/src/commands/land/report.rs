//! What `land` did with each review, as text and as JSON.

use super::short;
use crate::render::{
    clipped,
    gate::{describe_status, report as gate_report},
};
use domain::text::{count, escape};
use gate::{LandingRefusal, ReviewedContent};
use serde::Serialize;
use serde_json::json;

const INTENT_CHARS: usize = 60;
const MESSAGE_CHARS: usize = 300;

pub(super) struct Report {
    pub rows: Vec<Row>,
    pub is_queue: bool,
}

/// One review.
pub(super) struct Row {
    pub review: ReviewedContent,
    pub branch: Option<String>,
    pub work: Work,
    /// The folders whose files followed the branch.
    pub working_trees: Vec<String>,
    pub closed: bool,
    /// Why the review could not be closed.
    pub open_because: Option<String>,
    pub pushed_to: Option<String>,
    /// What failed after the commit had landed.
    pub problems: Vec<String>,
    /// What failed and can be left so.
    pub remarks: Vec<String>,
}

pub(super) enum Work {
    Landed { commit: String, parent: String, tree: String },
    HadLanded(String),
    WouldLand { parent: String, tree: String },
    Refused(Refusal),
}

pub(super) enum Refusal {
    Gate(LandingRefusal),
    NoBranch(String),
    WorkingTree(String),
    /// The branch moved whenever a commit was ready.
    Moving,
}

impl Work {
    /// The commit in which the change has landed.
    pub(super) fn commit(&self) -> Option<&str> {
        match self {
            Self::Landed { commit, .. } | Self::HadLanded(commit) => Some(commit),
            Self::WouldLand { .. } | Self::Refused(_) => None,
        }
    }

    fn outcome(&self) -> &'static str {
        match self {
            Self::Landed { .. } => "landed",
            Self::HadLanded(_) => "had_landed",
            Self::WouldLand { .. } => "would_land",
            Self::Refused(_) => "refused",
        }
    }
}

impl Refusal {
    /// The reason in one word.
    fn code(&self) -> &'static str {
        match self {
            Self::Gate(LandingRefusal::NotApproved) => "not_approved",
            Self::Gate(LandingRefusal::NoDiff) => "no_diff",
            Self::Gate(LandingRefusal::OtherProject) => "other_project",
            Self::Gate(LandingRefusal::DoesNotApply(_)) => "does_not_apply",
            Self::Gate(LandingRefusal::NoEffect) => "no_effect",
            Self::Gate(LandingRefusal::Gate(_)) => "gate",
            Self::NoBranch(_) => "no_branch",
            Self::WorkingTree(_) => "working_tree",
            Self::Moving => "branch_moved",
        }
    }

    fn message(&self, review: &ReviewedContent, branch: &str) -> String {
        match self {
            Self::Gate(LandingRefusal::NotApproved) => format!("not approved: {}", describe_status(review)),
            Self::Gate(LandingRefusal::NoDiff) => "it has no diff, so there is nothing to land".to_owned(),
            Self::Gate(LandingRefusal::OtherProject) => match &review.proposer.project {
                Some(project) => format!("it belongs to the project {}, not to this repository", escape(project)),
                None => "it belongs to another repository".to_owned(),
            },
            Self::Gate(LandingRefusal::DoesNotApply(message)) => {
                format!("it no longer applies to {branch}: {}", clipped(message, MESSAGE_CHARS))
            }
            Self::Gate(LandingRefusal::NoEffect) => {
                format!("{branch} has this change already, but no commit of it is the approved content")
            }
            Self::Gate(LandingRefusal::Gate(decision)) => {
                let answer = gate_report(std::slice::from_ref(decision));
                format!("the gate would refuse the commit: {}", clipped(answer.trim(), MESSAGE_CHARS))
            }
            Self::NoBranch(message) | Self::WorkingTree(message) => escape(message).into_owned(),
            Self::Moving => format!("{branch} moved again and again while the commit was made"),
        }
    }

    fn next(&self, review: &ReviewedContent) -> Option<String> {
        let number = review.number;
        match self {
            Self::Gate(LandingRefusal::NotApproved) => Some(format!("countersign show {number}")),
            Self::Gate(LandingRefusal::DoesNotApply(_)) => {
                Some(format!("rebase the change, then countersign resubmit {number}"))
            }
            Self::Gate(LandingRefusal::NoEffect) => Some(format!("countersign close {number}")),
            Self::Moving => Some(format!("countersign land {number}")),
            Self::Gate(LandingRefusal::NoDiff | LandingRefusal::OtherProject | LandingRefusal::Gate(_))
            | Self::NoBranch(_)
            | Self::WorkingTree(_) => None,
        }
    }
}

impl Row {
    pub(super) fn new(review: ReviewedContent) -> Self {
        Self {
            review,
            branch: None,
            work: Work::Refused(Refusal::Moving),
            working_trees: Vec::new(),
            closed: false,
            open_because: None,
            pushed_to: None,
            problems: Vec::new(),
            remarks: Vec::new(),
        }
    }

    fn passes(&self) -> bool {
        !matches!(self.work, Work::Refused(_)) && self.problems.is_empty()
    }

    fn message(&self) -> String {
        let branch = escape(self.branch.as_deref().unwrap_or("the branch")).into_owned();
        match &self.work {
            Work::Landed { commit, .. } => format!("landed on {branch} as {}", short(commit)),
            Work::HadLanded(commit) => format!("has already landed on {branch} as {}", short(commit)),
            Work::WouldLand { parent, .. } => format!("would land on {branch} after {}", short(parent)),
            Work::Refused(refusal) => refusal.message(&self.review, &branch),
        }
    }

    fn next(&self) -> Option<String> {
        match &self.work {
            Work::Refused(refusal) => refusal.next(&self.review),
            work @ (Work::Landed { .. } | Work::HadLanded(_) | Work::WouldLand { .. }) => {
                let commit = work.commit().filter(|_| self.open_because.is_some())?;
                Some(format!("countersign close {} --landed-as {commit}", self.review.number))
            }
        }
    }

    fn to_text(&self) -> String {
        let (number, intent) = (self.review.number, clipped(&self.review.intent, INTENT_CHARS));
        let mut out = match self.work {
            Work::Refused(_) => format!("{number}: {}\n", self.message()),
            Work::Landed { .. } | Work::HadLanded(_) | Work::WouldLand { .. } => {
                format!("{number}: {} ({intent})\n", self.message())
            }
        };
        if let Some(why) = &self.open_because {
            out.push_str(&format!("  the review stays open: {}\n", clipped(why, MESSAGE_CHARS)));
        }
        if let Some(remote) = &self.pushed_to {
            out.push_str(&format!("  pushed to {}\n", escape(remote)));
        }
        for problem in self.problems.iter().chain(&self.remarks) {
            out.push_str(&format!("  {}\n", clipped(problem, MESSAGE_CHARS)));
        }
        if let Some(next) = self.next() {
            out.push_str(&format!("next: {next}\n"));
        }
        out
    }

    fn to_answer(&self) -> impl Serialize {
        let mut answer = json!({
            "number": self.review.number.to_string(),
            "review_id": self.review.review_id,
            "outcome": self.work.outcome(),
            "message": self.message(),
            "branch": self.branch,
            "commit": self.work.commit(),
            "closed": self.closed,
            "working_trees": self.working_trees,
            "pushed_to": self.pushed_to,
            "problems": self.problems,
            "remarks": self.remarks,
        });
        match &self.work {
            Work::Landed { parent, tree, .. } | Work::WouldLand { parent, tree } => {
                answer["parent"] = parent.as_str().into();
                answer["tree"] = tree.as_str().into();
            }
            Work::Refused(refusal) => answer["because"] = refusal.code().into(),
            Work::HadLanded(_) => {}
        }
        if let Some(next) = self.next() {
            answer["next"] = next.into();
        }
        answer
    }
}

impl Report {
    /// Whether every review has landed, or would.
    pub(super) fn passes(&self) -> bool {
        self.rows.iter().all(Row::passes)
    }

    pub(super) fn to_text(&self) -> String {
        let mut out: String = self.rows.iter().map(Row::to_text).collect();
        if self.is_queue {
            let refused = self.rows.iter().filter(|row| !row.passes()).count();
            out.push_str(&match (self.rows.len(), refused) {
                (0, _) => "no approved review waits to land\n".to_owned(),
                (all, 0) => format!("{}, none refused\n", count(all, "review")),
                (all, refused) => format!("{}, {refused} refused or with a problem\n", count(all, "review")),
            });
        }
        out
    }

    /// The answer of `land --json`: of one review, or of the queue.
    pub(super) fn to_answer(&self) -> impl Serialize {
        let rows: Vec<_> = self.rows.iter().map(|row| json!(row.to_answer())).collect();
        match rows.as_slice() {
            [row] if !self.is_queue => row.clone(),
            _ => json!({ "reviews": rows }),
        }
    }
}
