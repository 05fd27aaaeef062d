//! The steps of the demo: a change with two bugs is proposed, reviewed, revised, approved and committed.

use super::{
    Narrator,
    sandbox::{FILE, Sandbox},
};
use crate::{
    Failure,
    client::rest::Remote,
    render::{rows, text},
};
use serde_json::{Value, json};

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
}

impl Scenario<'_> {
    pub(super) async fn play(&self) -> Result<(), Failure> {
        let broker = self.sandbox.remote()?;
        let review = self.propose(&broker).await?;
        let issue = Issue { severity: "high", glyph: '▲', title: "A discount over 100 % panics" };
        self.request_changes(&broker, &review, issue, "One input makes it panic.", None).await?;
        self.revise(&broker, &review).await?;
        let issue = Issue { severity: "medium", glyph: '●', title: "A total over 42,949,672 overflows" };
        let fixed = self.sandbox.diff_that_adds(COUNTER_PATCHED).await?;
        self.request_changes(
            &broker,
            &review,
            issue,
            "One input still overflows. Here is a version that does not.",
            Some(&fixed),
        )
        .await?;
        self.accept(&broker, &review).await?;
        self.approve(&broker, &review).await?;
        self.land(&broker, &review).await
    }

    async fn propose(&self, broker: &Remote) -> Result<String, Failure> {
        let diff = self.sandbox.diff_that_adds(PROPOSED).await?;
        let proposal = json!({
            "intent": INTENT, "agent_type": "demo", "agent_role": "proposer", "phase": "1", "proposer_id": BUILDER,
            "category": "code_change", "diff": diff,
        });
        let answer = broker.call("create_review", proposal).await?;
        let review = text(&answer, "number");
        self.narrator.step(BUILDER, &format!("proposes {review}: {INTENT}"), &added(&diff)).await?;
        Ok(review)
    }

    async fn request_changes(
        &self,
        broker: &Remote,
        review: &str,
        issue: Issue,
        reason: &str,
        counter_patch: Option<&str>,
    ) -> Result<(), Failure> {
        let claim = self.claim(broker, review).await?;
        self.narrator.step(REVIEWER, &format!("claims {review}; the diff applies"), &[]).await?;
        let raised = json!({
            "title": issue.title, "severity": issue.severity, "type": "bug", "file": FILE,
            "line_start": BUGGY_LINE, "line_end": BUGGY_LINE, "description": "The result does not fit into a u32.",
        });
        let verdict = json!({
            "review_id": review, "verdict": "changes_requested", "reviewer_id": REVIEWER, "reason": reason,
            "claim_generation": claim["claim_generation"], "issues": [raised], "counter_patch": counter_patch,
        });
        broker.call("submit_verdict", verdict).await?;
        let ids = self.open_issues(broker, review).await?;
        let id = ids.iter().max().map(String::as_str).unwrap_or_default();
        let mut lines = vec![format!("{} {id} {FILE}:{BUGGY_LINE} {}", issue.glyph, issue.title)];
        let offered = counter_patch.map(|diff| ["with a counter-patch:".to_owned()].into_iter().chain(added(diff)));
        lines.extend(offered.into_iter().flatten());
        self.narrator.step(REVIEWER, &format!("requests changes: {reason}"), &lines).await
    }

    async fn revise(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let body = "Callers check it, but a second check costs nothing.";
        let message = json!({ "review_id": review, "sender_role": "proposer", "body": body, "caller_id": BUILDER });
        broker.call("add_message", message).await?;
        self.narrator.step(BUILDER, &format!("answers: {body}"), &[]).await?;
        let diff = self.sandbox.diff_that_adds(REVISED).await?;
        let revision = json!({ "review_id": review, "intent": INTENT, "diff": diff, "proposer_id": BUILDER });
        broker.call("create_review", revision).await?;
        self.narrator.step(BUILDER, &format!("revises {review}: round 2"), &added(&diff)).await
    }

    async fn accept(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        broker.call("accept_counter_patch", json!({ "review_id": review })).await?;
        self.narrator.step(BUILDER, "accepts the counter-patch, which is now under review", &[]).await
    }

    async fn open_issues(&self, broker: &Remote, review: &str) -> Result<Vec<String>, Failure> {
        let issues = broker.call("list_issues", json!({ "review_id": review, "status": "open" })).await?;
        Ok(rows(&issues, "issues").iter().map(|issue| text(issue, "issue_id")).collect())
    }

    /// The reviewer still holds its seat. The content hash names what it has read.
    async fn approve(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let proposal = broker.call("get_proposal", json!({ "review_id": review })).await?;
        let open = self.open_issues(broker, review).await?;
        for issue in &open {
            let fixed = json!({
                "review_id": review, "issue_id": issue, "status": "fixed", "role": "reviewer", "caller_id": REVIEWER,
                "note": "no input makes it fail",
            });
            broker.call("update_issue", fixed).await?;
        }
        if !open.is_empty() {
            self.narrator.step(REVIEWER, &format!("marks {} as fixed", open.join(" and ")), &[]).await?;
        }
        let verdict = json!({
            "review_id": review, "verdict": "approved", "reviewer_id": REVIEWER,
            "content_hash": proposal["content_hash"],
        });
        broker.call("submit_verdict", verdict).await?;
        let hash: String = text(&proposal, "content_hash").chars().take(12).collect();
        let tree: String = text(&proposal, "tree_id").chars().take(12).collect();
        let lines = [format!("approved content {hash}…, which produces the tree {tree}…")];
        self.narrator.step(REVIEWER, &format!("approves {review}"), &lines).await
    }

    async fn land(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let proposal = broker.call("get_proposal", json!({ "review_id": review })).await?;
        let diff = proposal["diff"].as_str().unwrap_or_default();
        let commit = self.sandbox.commit(diff, INTENT).await?;
        broker.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await?;
        self.narrator
            .step(BUILDER, &format!("commits exactly the approved change as {commit} and closes {review}"), &[])
            .await
    }

    async fn claim(&self, broker: &Remote, review: &str) -> Result<Value, Failure> {
        broker.call("claim_review", json!({ "review_id": review, "reviewer_id": REVIEWER })).await
    }
}

/// The added lines of a diff.
fn added(diff: &str) -> Vec<String> {
    let lines = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    lines.filter(|line| line.len() > 1).map(str::to_owned).collect()
}
