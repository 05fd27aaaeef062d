//! The demo's scripted proposers and reviewers: short functions for the calls that real agents make.

use crate::{CliError, client::Client};
use api::{
    claims::{ClaimRequest, ClaimResponse},
    issues::{ListIssuesRequest, UpdateIssueRequest},
    messages::MessageRequest,
    operation::{AddMessage, ClaimReview, CreateReview, ListIssues, SubmitVerdict, UpdateIssue},
    reviews::CreateReviewRequest,
    verdicts::VerdictRequest,
};
use domain::{
    credential::Authority,
    finding::{FindingStatus, RawFinding, RequestedStatus},
    review::Category,
    verdict::Verdict,
};

/// One agent under its own name.
pub(super) struct Agent<'a> {
    pub broker: &'a Client,
    pub name: &'static str,
}

impl Agent<'_> {
    /// Proposes a change and returns the number of the review, such as R-1.
    pub(super) async fn propose(&self, intent: &str, request: CreateReviewRequest) -> Result<String, CliError> {
        let request = CreateReviewRequest {
            intent: Some(intent.to_owned()),
            agent_type: Some("demo".to_owned()),
            agent_role: Some("proposer".to_owned()),
            phase: Some("1".to_owned()),
            proposer_id: Some(self.name.to_owned()),
            category: request.category.or(Some(Category::CodeChange)),
            ..request
        };
        Ok(self.broker.execute::<CreateReview>(&request).await?.head.number.to_string())
    }

    /// Submits the next round.
    pub(super) async fn revise(&self, review: &str, request: CreateReviewRequest) -> Result<(), CliError> {
        let request = CreateReviewRequest {
            review_id: Some(review.to_owned()),
            proposer_id: Some(self.name.to_owned()),
            ..request
        };
        self.broker.execute::<CreateReview>(&request).await?;
        Ok(())
    }

    /// Claims the first free seat, or the one of the persona.
    pub(super) async fn claim(&self, review: &str, persona: Option<&str>) -> Result<ClaimResponse, CliError> {
        let request = ClaimRequest {
            review_id: review.to_owned(),
            reviewer_id: Some(self.name.to_owned()),
            persona: persona.map(str::to_owned),
        };
        self.broker.execute::<ClaimReview>(&request).await
    }

    /// Gives a verdict; `request` holds everything but the name and the reason.
    pub(super) async fn vote(&self, reason: &str, request: VerdictRequest) -> Result<(), CliError> {
        let request = VerdictRequest {
            reviewer_id: Some(self.name.to_owned()),
            reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
            ..request
        };
        self.broker.execute::<SubmitVerdict>(&request).await?;
        Ok(())
    }

    pub(super) async fn request_changes(
        &self,
        review: &str,
        reason: &str,
        issues: Vec<RawFinding>,
    ) -> Result<(), CliError> {
        let verdict = VerdictRequest::new(review, Verdict::ChangesRequested);
        self.vote(reason, VerdictRequest { issues: Some(issues), ..verdict }).await
    }

    /// Writes to the reviewers as the proposer; `persona` selects one of several seats.
    pub(super) async fn say(&self, review: &str, persona: Option<&str>, body: &str) -> Result<(), CliError> {
        let message = MessageRequest {
            review_id: review.to_owned(),
            sender_role: Some(Authority::Proposer),
            body: body.to_owned(),
            persona: persona.map(str::to_owned),
            caller_id: Some(self.name.to_owned()),
            ..Default::default()
        };
        self.broker.execute::<AddMessage>(&message).await?;
        Ok(())
    }

    /// Marks an issue as fixed, as a reviewer.
    pub(super) async fn mark_fixed(&self, review: &str, issue: &str, note: &str) -> Result<(), CliError> {
        let request = UpdateIssueRequest {
            review_id: review.to_owned(),
            issue_id: issue.to_owned(),
            status: RequestedStatus::Fixed,
            note: Some(note.to_owned()),
            duplicate_of: None,
            role: Some(Authority::Reviewer),
            caller_id: Some(self.name.to_owned()),
        };
        self.broker.execute::<UpdateIssue>(&request).await?;
        Ok(())
    }

    /// The ids and titles of the open issues.
    pub(super) async fn open_issues(&self, review: &str) -> Result<Vec<(String, String)>, CliError> {
        let request = ListIssuesRequest {
            review_id: Some(review.to_owned()),
            status: Some(FindingStatus::Open),
            ..Default::default()
        };
        let issues = self.broker.execute::<ListIssues>(&request).await?.issues;
        Ok(issues.into_iter().map(|issue| (issue.issue_id, issue.title)).collect())
    }
}
