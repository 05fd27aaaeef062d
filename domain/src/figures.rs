//! What one review adds to the running figures of the statistics. The store adds the difference that each change makes, so
//! the running figures are always the sum over all reviews.

use crate::{
    finding::{DisputeOutcome, Finding, FindingFate, Severity},
    review::{Category, Review, Status},
    time::Timestamp,
    verdict::{ReviewMetrics, Verdict},
};
use std::collections::BTreeMap;
const MS_PER_DAY: i64 = 86_400_000;

/// Sums, each at the place that its name has in a list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sums<const N: usize>([i64; N]);

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Sums<N> {
    pub const fn new(values: [i64; N]) -> Self {
        Self(values)
    }

    pub const fn values(&self) -> &[i64; N] {
        &self.0
    }

    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0)
    }

    /// Adds `other` as often as `times` says, which may be negative.
    pub fn add(&mut self, other: &Self, times: i64) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum += value * times;
        }
    }
}

/// The submissions that a figure is about: of one day, project and category.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cohort {
    pub day: Day,
    pub project: Option<String>,
    pub category: Option<Category>,
}

impl Cohort {
    pub fn of(review: &Review) -> Self {
        Self { day: Day::of(review.created_at), project: review.proposer.project.clone(), category: review.category }
    }
}

/// Days since 1970, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i64);

impl Day {
    pub const fn of(at: Timestamp) -> Self {
        Self(at.0.div_euclid(MS_PER_DAY))
    }

    pub const fn start(self) -> Timestamp {
        Timestamp(self.0 * MS_PER_DAY)
    }
}

/// As 2026-11-18.
impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", jiff::Timestamp::from(self.start()).strftime("%F"))
    }
}

/// The statuses that a review leaves again.
const PASSING: usize = Status::ALL.len() - 1;

/// A sum over reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewSum {
    Reviews,
    Escalated,
    Approved,
    Rejected,
    Cancelled,
    ApprovedInFirstRound,
    AutoRejections,
    /// Reviews in this status now.
    Now(Status),
    /// Reviews that were ever in this status. From here on not for `closed`.
    Entered(Status),
    /// Milliseconds of stays that have ended.
    SpentMs(Status),
    /// When the stays that have not ended began, in milliseconds since 1970.
    SinceMs(Status),
}

const NOW: usize = 7;
const ENTERED: usize = NOW + Status::ALL.len();
const SPENT: usize = ENTERED + PASSING;
const SINCE: usize = SPENT + PASSING;

pub type ReviewSums = Sums<{ SINCE + PASSING }>;

impl ReviewSum {
    const fn index(self) -> usize {
        match self {
            Self::Reviews => 0,
            Self::Escalated => 1,
            Self::Approved => 2,
            Self::Rejected => 3,
            Self::Cancelled => 4,
            Self::ApprovedInFirstRound => 5,
            Self::AutoRejections => 6,
            Self::Now(status) => NOW + status as usize,
            Self::Entered(status) => ENTERED + status as usize,
            Self::SpentMs(status) => SPENT + status as usize,
            Self::SinceMs(status) => SINCE + status as usize,
        }
    }
}

impl ReviewSums {
    /// The names of the sums, in their order.
    pub fn names() -> Vec<String> {
        let single =
            ["reviews", "escalated", "approved", "rejected", "cancelled", "approved_in_first_round", "auto_rejections"];
        let (all, passing) = (Status::ALL, &Status::ALL[..PASSING]);
        let of_status = |ending: &'static str| move |status: &Status| format!("{status}_{ending}");
        let mut names: Vec<String> = single.map(str::to_owned).into();
        names.extend(all.iter().map(of_status("now")));
        names.extend(passing.iter().map(of_status("entered")));
        names.extend(passing.iter().map(of_status("spent_ms")));
        names.extend(passing.iter().map(of_status("since_ms")));
        names
    }

    pub const fn get(&self, sum: ReviewSum) -> i64 {
        self.0[sum.index()]
    }

    pub const fn count(&mut self, sum: ReviewSum, value: i64) {
        self.0[sum.index()] += value;
    }

    /// What this review adds.
    pub fn of(review: &Review) -> Self {
        let mut sums = Self::default();
        sums.count(ReviewSum::Reviews, 1);
        sums.count(ReviewSum::Escalated, i64::from(review.escalated.is_some()));
        sums.count(ReviewSum::Now(review.status), 1);
        if let Some(outcome) = outcome(review) {
            sums.count(outcome, 1);
            let is_first = outcome == ReviewSum::Approved && review.round.number == 1;
            sums.count(ReviewSum::ApprovedInFirstRound, i64::from(is_first));
        }
        for (status, spent) in Status::ALL.iter().zip(review.times.spent_ms) {
            let is_now = review.status == *status;
            sums.count(ReviewSum::Entered(*status), i64::from(is_now || spent > 0));
            sums.count(ReviewSum::SpentMs(*status), spent);
            sums.count(ReviewSum::SinceMs(*status), if is_now { review.status_since.0 } else { 0 });
        }
        sums
    }
}

/// How a review ended, closed or not. Only an approved review has an approved hash, and it keeps it when it is closed.
fn outcome(review: &Review) -> Option<ReviewSum> {
    if review.cancel_reason.is_some() {
        return Some(ReviewSum::Cancelled);
    }
    match review.status {
        Status::Closed if review.approved_hash.is_some() => Some(ReviewSum::Approved),
        Status::Approved => Some(ReviewSum::Approved),
        Status::Rejected | Status::Closed => Some(ReviewSum::Rejected),
        Status::Pending | Status::Claimed | Status::InReview | Status::ChangesRequested | Status::Cancelled => None,
    }
}

crate::string_enum! {
    /// A value that each review has at most once, and whose distribution is counted.
    Measure {
        Rounds = "rounds",
        FirstClaim = "first_claim",
        FirstVerdict = "first_verdict",
        Decision = "decision",
        Close = "close",
    }
}

impl Measure {
    /// The value for this review. All but the rounds are milliseconds since its submission.
    pub fn of(self, review: &Review) -> Option<i64> {
        let times = &review.times;
        let at = match self {
            Self::Rounds => return Some(i64::from(review.round.number)),
            Self::FirstClaim => times.first_claimed_at,
            Self::FirstVerdict => times.first_verdict_at,
            Self::Decision => times.decided_at,
            Self::Close => times.closed_at,
        };
        at.map(|at| (at.0 - review.created_at.0).max(0))
    }

    /// The values that are counted together with `value`: times that agree in their two leading digits.
    pub const fn rounded(self, value: i64) -> i64 {
        if matches!(self, Self::Rounds) {
            return value;
        }
        let mut unit = 1;
        while value / unit >= 100 {
            unit *= 10;
        }
        // 995 becomes 1,000, which has two leading digits as well.
        (value + unit / 2) / unit * unit
    }
}

/// Sums over verdicts of reviewers and over findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkSum {
    /// Reviews with a verdict: counted at the first one of the review, of its persona in the review, and of its reviewer.
    Reviews,
    ReviewsOfPersona,
    ReviewsOfReviewer,
    Given(Verdict),
    /// Votes whose claim is known, and the milliseconds between the two.
    TimedVotes,
    VoteMs,
    InputTokens,
    OutputTokens,
    CostMicroUsd,
    /// Verdicts that report a cost.
    WithCost,
    Suggestions,
    /// Votes for which a review was approved or rejected, and those among them that say the same as the outcome.
    JudgedVotes,
    AgreeingVotes,
    /// Issues that were disputed, and how the last dispute of each ended.
    Disputes,
    DisputesUpheld,
    DisputesRejected,
    Issues(Severity, FindingFate),
}

const GIVEN: usize = 15;
const ISSUES: usize = GIVEN + Verdict::ALL.len();

const WORK_SUMS: usize = ISSUES + Severity::ALL.len() * FindingFate::ALL.len();

pub type WorkSums = Sums<WORK_SUMS>;

impl WorkSum {
    const fn index(self) -> usize {
        match self {
            Self::Reviews => 0,
            Self::ReviewsOfPersona => 1,
            Self::ReviewsOfReviewer => 2,
            Self::TimedVotes => 3,
            Self::VoteMs => 4,
            Self::InputTokens => 5,
            Self::OutputTokens => 6,
            Self::CostMicroUsd => 7,
            Self::WithCost => 8,
            Self::Suggestions => 9,
            Self::JudgedVotes => 10,
            Self::AgreeingVotes => 11,
            Self::Disputes => 12,
            Self::DisputesUpheld => 13,
            Self::DisputesRejected => 14,
            Self::Given(verdict) => GIVEN + verdict as usize,
            Self::Issues(severity, fate) => ISSUES + severity as usize * FindingFate::ALL.len() + fate as usize,
        }
    }
}

impl WorkSums {
    /// The names of the sums, in their order.
    pub fn names() -> Vec<String> {
        let single = [
            "reviews",
            "reviews_of_persona",
            "reviews_of_reviewer",
            "timed_votes",
            "vote_ms",
            "input_tokens",
            "output_tokens",
            "cost_micro_usd",
            "with_cost",
            "suggestions",
            "judged_votes",
            "agreeing_votes",
            "disputes",
            "disputes_upheld",
            "disputes_rejected",
        ];
        let mut names: Vec<String> = single.map(str::to_owned).into();
        names.extend(Verdict::ALL.iter().map(|verdict| format!("{verdict}_given")));
        for severity in Severity::ALL {
            names.extend(FindingFate::ALL.iter().map(|fate| format!("{severity}_{fate}_issues")));
        }
        names
    }

    pub const fn get(&self, sum: WorkSum) -> i64 {
        self.0[sum.index()]
    }

    pub const fn count(&mut self, sum: WorkSum, value: i64) {
        self.0[sum.index()] += value;
    }

    /// Counts a review unless an earlier verdict counted it. `earlier`: how many earlier verdicts the review has, how many of
    /// the same persona, and how many of the same reviewer.
    pub const fn count_reviews(&mut self, earlier: [i64; 3]) {
        let [of_review, of_persona, of_reviewer] = earlier;
        self.count(WorkSum::Reviews, (of_review == 0) as i64);
        self.count(WorkSum::ReviewsOfPersona, (of_persona == 0) as i64);
        self.count(WorkSum::ReviewsOfReviewer, (of_reviewer == 0) as i64);
    }

    /// What a verdict adds, apart from the counts of reviews. `claimed_at`: when its seat was claimed.
    pub fn of_verdict(
        verdict: Verdict,
        claimed_at: Option<Timestamp>,
        at: Timestamp,
        metrics: Option<&ReviewMetrics>,
    ) -> Self {
        let mut sums = Self::default();
        sums.count(WorkSum::Given(verdict), 1);
        if let Some(claimed_at) = claimed_at.filter(|_| verdict.is_vote()) {
            sums.count(WorkSum::TimedVotes, 1);
            sums.count(WorkSum::VoteMs, (at.0 - claimed_at.0).max(0));
        }
        if let Some(metrics) = metrics {
            let tokens = |tokens: Option<u64>| tokens.and_then(|tokens| i64::try_from(tokens).ok()).unwrap_or_default();
            sums.count(WorkSum::InputTokens, tokens(metrics.input_tokens));
            sums.count(WorkSum::OutputTokens, tokens(metrics.output_tokens));
            sums.count(WorkSum::CostMicroUsd, i64::try_from(metrics.cost_micro_usd()).unwrap_or_default());
            sums.count(WorkSum::WithCost, i64::from(metrics.cost_usd.is_some()));
        }
        sums
    }

    /// What a finding adds.
    pub fn of_finding(finding: &Finding) -> Self {
        let mut sums = Self::default();
        if !finding.found.is_issue {
            sums.count(WorkSum::Suggestions, 1);
            return sums;
        }
        sums.count(WorkSum::Issues(finding.found.severity, finding.fate()), 1);
        if let Some(outcome) = finding.dispute() {
            sums.count(WorkSum::Disputes, 1);
            sums.count(WorkSum::DisputesUpheld, i64::from(outcome == DisputeOutcome::Upheld));
            sums.count(WorkSum::DisputesRejected, i64::from(outcome == DisputeOutcome::Rejected));
        }
        sums
    }

    /// What the vote of a seat adds once the review is approved or rejected.
    const fn of_judged_vote(vote: Verdict, outcome: ReviewSum) -> Self {
        let mut sums = Self::new([0; WORK_SUMS]);
        let agrees = matches!(
            (vote, outcome),
            (Verdict::Approved, ReviewSum::Approved) | (Verdict::Rejected, ReviewSum::Rejected)
        );
        sums.count(WorkSum::JudgedVotes, 1);
        sums.count(WorkSum::AgreeingVotes, agrees as i64);
        sums
    }
}

/// Who gave verdicts and raised findings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worker {
    pub persona: String,
    pub reviewer: String,
}

/// How many reviews have a value, and the sum of these values before they were rounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    pub reviews: i64,
    pub total: i64,
}

/// The figures of a cohort, or what changes in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    pub reviews: ReviewSums,
    /// By measure and rounded value.
    pub distributions: BTreeMap<(Measure, i64), Counted>,
    pub work: BTreeMap<Worker, WorkSums>,
}

impl Figures {
    /// Adds the figures of the review itself as often as `times` says.
    pub fn add_review(&mut self, review: &Review, times: i64) {
        self.reviews.add(&ReviewSums::of(review), times);
        for measure in Measure::ALL {
            if let Some(value) = measure.of(review) {
                self.add_counted((*measure, measure.rounded(value)), Counted { reviews: times, total: value * times });
            }
        }
        // The vote of an earlier round is not compared: it was about another content.
        let Some(outcome @ (ReviewSum::Approved | ReviewSum::Rejected)) = outcome(review) else { return };
        for seat in &review.seats {
            if let (Some(vote), Some(claim)) = (seat.vote, &seat.claim) {
                let worker = Worker { persona: seat.persona.clone(), reviewer: claim.by.clone() };
                self.work.entry(worker).or_default().add(&WorkSums::of_judged_vote(vote, outcome), times);
            }
        }
    }

    pub fn add_finding(&mut self, finding: &Finding, times: i64) {
        let worker = Worker { persona: finding.persona.clone(), reviewer: finding.by.clone() };
        self.work.entry(worker).or_default().add(&WorkSums::of_finding(finding), times);
    }

    pub fn add(&mut self, other: &Self) {
        self.reviews.add(&other.reviews, 1);
        for (value, counted) in &other.distributions {
            self.add_counted(*value, *counted);
        }
        for (worker, sums) in &other.work {
            self.work.entry(worker.clone()).or_default().add(sums, 1);
        }
    }

    fn add_counted(&mut self, value: (Measure, i64), added: Counted) {
        let counted = self.distributions.entry(value).or_default();
        counted.reviews += added.reviews;
        counted.total += added.total;
    }

    /// Removes what is zero.
    pub fn retain_changes(&mut self) {
        self.distributions.retain(|_, counted| *counted != Counted::default());
        self.work.retain(|_, sums| !sums.is_zero());
    }
}

#[cfg(test)]
mod tests {
    use super::{Measure, ReviewSums, WorkSums};

    #[test]
    fn a_rounded_time_has_two_digits() {
        let rounded = |ms| Measure::Decision.rounded(ms);
        assert_eq!(
            [0, 7, 99, 104, 105, 995, 30_667, 86_400_000].map(rounded),
            [0, 7, 99, 100, 110, 1_000, 31_000, 86_000_000]
        );
        for ms in 1..200_000 {
            assert!((rounded(ms) - ms).abs() * 20 <= ms, "{ms} is rounded to {}", rounded(ms));
        }
        assert_eq!(Measure::Rounds.rounded(123), 123);
    }

    #[test]
    fn each_sum_has_a_name() {
        assert_eq!(ReviewSums::names().len(), ReviewSums::default().values().len());
        assert_eq!(WorkSums::names().len(), WorkSums::default().values().len());
    }
}
