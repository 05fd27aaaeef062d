//! Runs the steps of `countersign demo`: propose a change with two bugs, review it, revise it, approve it and commit
//! it.

use super::{
    Narrator,
    agents::Agent,
    demo_environment::{PRICE_FILE, Sandbox},
};
use crate::{CliError, client::Client};
use api::{
    operation::{AcceptCounterPatch, CloseReview, GetProposal},
    proposals::{ProposalRequest, ProposalResponse},
    reviews::{CloseReviewRequest, CounterPatchRequest, CreateReviewRequest},
    verdicts::VerdictRequest,
};
use domain::{finding::RawFinding, review::Role, text::truncate, verdict::Verdict};

const BUILDER: &str = "builder";
const REVIEWER: &str = "reviewer";

/// Panics when the percentage is over 100.
const PROPOSED: &str = "
/// The total after a discount in percent.
pub fn discounted(total: u32, percent: u32) -> u32 {
    total * (100 - percent) / 100
}
";

/// Overflows for a large total.
const REVISED: &str = "
/// The total after a discount of at most 100 percent.
pub fn discounted(total: u32, percent: u32) -> u32 {
    total * (100 - percent.min(100)) / 100
}
";

const COUNTER_PATCHED: &str = "
/// The total after a discount of at most 100 percent.
pub fn discounted(total: u32, percent: u32) -> u32 {
    let kept = 100 - u64::from(percent.min(100));
    (u64::from(total) * kept / 100) as u32
}
";

/// The line of both bugs in the proposed file.
const BUGGY_LINE: u32 = 8;

const INTENT: &str = "Take a discount off the total";

struct Issue {
    severity: &'static str,
    glyph: char,
    title: &'static str,
}

pub(super) struct Scenario<'a> {
    pub sandbox: &'a Sandbox,
    pub narrator: &'a Narrator,
    pub broker: &'a Client,
}

impl<'a> Scenario<'a> {
    pub(super) async fn play(&self) -> Result<(), CliError> {
        let review = self.propose().await?;
        let issue = Issue { severity: "high", glyph: '▲', title: "A discount over 100 % panics" };
        self.request_changes(&review, issue, "One input makes it panic.", None).await?;
        self.revise(&review).await?;
        let issue = Issue { severity: "medium", glyph: '●', title: "A total over 42,949,672 overflows" };
        let fixed = self.sandbox.diff_that_adds(COUNTER_PATCHED).await?;
        self.request_changes(
            &review,
            issue,
            "One input still overflows. Here is a version that does not.",
            Some(&fixed),
        )
        .await?;
        self.accept(&review).await?;
        self.approve(&review).await?;
        self.land(&review).await
    }

    fn builder(&self) -> Agent<'a> {
        Agent { broker: self.broker, name: BUILDER }
    }

    fn reviewer(&self) -> Agent<'a> {
        Agent { broker: self.broker, name: REVIEWER }
    }

    async fn propose(&self) -> Result<String, CliError> {
        let diff = self.sandbox.diff_that_adds(PROPOSED).await?;
        let request = CreateReviewRequest { diff: Some(diff.clone()), ..Default::default() };
        let review = self.builder().propose(INTENT, request).await?;
        self.narrator.step(BUILDER, &format!("proposes {review}: {INTENT}"), &added(&diff)).await?;
        Ok(review)
    }

    async fn request_changes(
        &self,
        review: &str,
        issue: Issue,
        reason: &str,
        counter_patch: Option<&str>,
    ) -> Result<(), CliError> {
        let claim = self.reviewer().claim(review, None).await?;
        self.narrator.step(REVIEWER, &format!("claims {review}; the diff applies"), &[]).await?;
        let finding = RawFinding {
            kind: Some("bug".to_owned()),
            severity: Some(issue.severity.to_owned()),
            file: Some(PRICE_FILE.to_owned()),
            line_start: Some(BUGGY_LINE),
            line_end: Some(BUGGY_LINE),
            title: issue.title.to_owned(),
            description: Some("The result does not fit into a u32.".to_owned()),
            ..Default::default()
        };
        let verdict = VerdictRequest {
            claim_generation: Some(claim.claim_generation),
            issues: Some(vec![finding]),
            counter_patch: counter_patch.map(str::to_owned),
            ..VerdictRequest::new(review, Verdict::ChangesRequested)
        };
        self.reviewer().vote(reason, verdict).await?;
        let open = self.reviewer().open_issues(review).await?;
        let id = open.iter().map(|(id, _)| id.as_str()).max().unwrap_or_default();
        let mut lines = vec![format!("{} {id} {PRICE_FILE}:{BUGGY_LINE} {}", issue.glyph, issue.title)];
        let offered = counter_patch.map(|diff| ["with a counter-patch:".to_owned()].into_iter().chain(added(diff)));
        lines.extend(offered.into_iter().flatten());
        self.narrator.step(REVIEWER, &format!("requests changes: {reason}"), &lines).await
    }

    async fn revise(&self, review: &str) -> Result<(), CliError> {
        let body = "Callers check it, but a second check costs nothing.";
        self.builder().say(review, None, body).await?;
        self.narrator.step(BUILDER, &format!("answers: {body}"), &[]).await?;
        let diff = self.sandbox.diff_that_adds(REVISED).await?;
        let revision = CreateReviewRequest { diff: Some(diff.clone()), ..Default::default() };
        self.builder().revise(review, revision).await?;
        self.narrator.step(BUILDER, &format!("revises {review}: round 2"), &added(&diff)).await
    }

    async fn accept(&self, review: &str) -> Result<(), CliError> {
        let request = CounterPatchRequest { review_id: review.to_owned(), ..Default::default() };
        self.broker.execute::<AcceptCounterPatch>(&request).await?;
        self.narrator.step(BUILDER, "accepts the counter-patch, which is now under review", &[]).await
    }

    /// The seat is reserved for the reviewer. The content hash names what it has read.
    async fn approve(&self, review: &str) -> Result<(), CliError> {
        self.reviewer().claim(review, None).await?;
        let proposal = self.proposal(review).await?;
        let open: Vec<_> = self.reviewer().open_issues(review).await?.into_iter().map(|(id, _)| id).collect();
        for issue in &open {
            self.reviewer().mark_fixed(review, issue, "no input makes it fail").await?;
        }
        if !open.is_empty() {
            self.narrator.step(REVIEWER, &format!("marks {} as fixed", open.join(" and ")), &[]).await?;
        }
        let verdict = VerdictRequest {
            content_hash: Some(proposal.content_hash.to_string()),
            ..VerdictRequest::new(review, Verdict::Approved)
        };
        self.reviewer().vote("", verdict).await?;
        let tree =
            proposal.details.as_ref().and_then(|details| details.state.diff.tree_id.as_deref()).unwrap_or_default();
        let (hash, tree) = (truncate(&proposal.content_hash.0, 12), truncate(tree, 12));
        let lines = [format!("approved content {hash}…, which produces the tree {tree}…")];
        self.narrator.step(REVIEWER, &format!("approves {review}"), &lines).await
    }

    async fn land(&self, review: &str) -> Result<(), CliError> {
        let proposal = self.proposal(review).await?;
        let diff = proposal.diff.as_deref().unwrap_or_default();
        let commit = self.sandbox.commit(diff, INTENT).await?;
        let request = CloseReviewRequest {
            review_id: review.to_owned(),
            closer_role: Some(Role::Proposer),
            ..Default::default()
        };
        self.broker.execute::<CloseReview>(&request).await?;
        self.narrator
            .step(BUILDER, &format!("commits exactly the approved change as {commit} and closes {review}"), &[])
            .await
    }

    async fn proposal(&self, review: &str) -> Result<ProposalResponse, CliError> {
        let request = ProposalRequest { review_id: review.to_owned(), ..Default::default() };
        self.broker.execute::<GetProposal>(&request).await
    }
}

/// The added lines of a diff.
fn added(diff: &str) -> Vec<String> {
    let lines = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    lines.filter(|line| line.len() > 1).map(str::to_owned).collect()
}
