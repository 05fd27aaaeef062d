//! What is played: a change with a fault in it, found, discussed, fixed and signed.

use super::{
    Narrator,
    sandbox::{FILE, Sandbox},
};
use crate::cli::{
    Failure,
    remote::Remote,
    render::{rows, text},
};
use serde_json::{Value, json};

const BUILDER: &str = "builder";
const REVIEWER: &str = "second-mind";

/// Panics when the percentage is over 100.
const PROPOSED: &str = "
/// The total with so many percent taken off.
pub fn discounted(total: u32, percent: u32) -> u32 {
    total * (100 - percent) / 100
}
";

/// Panics when the total is a large one.
const REVISED: &str = "
/// The total with so many percent taken off: at most all of it.
pub fn discounted(total: u32, percent: u32) -> u32 {
    total * (100 - percent.min(100)) / 100
}
";

const COUNTER_PATCHED: &str = "
/// The total with so many percent taken off: at most all of it.
pub fn discounted(total: u32, percent: u32) -> u32 {
    let kept = 100 - u64::from(percent.min(100));
    (u64::from(total) * kept / 100) as u32
}
";

/// Where the faults stand in the proposed file.
const FAULTY_LINE: u32 = 8;

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
        self.request_changes(&broker, &review, issue, "One input breaks it.", None).await?;
        self.revise(&broker, &review).await?;
        let issue = Issue { severity: "medium", glyph: '●', title: "A total over 42,949,672 overflows" };
        let fixed = self.sandbox.diff_that_adds(COUNTER_PATCHED).await?;
        self.request_changes(&broker, &review, issue, "Nearly. Take my version?", Some(&fixed)).await?;
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
        self.narrator.step(REVIEWER, &format!("claims {review}; git says that it applies"), &[]).await?;
        let raised = json!({
            "title": issue.title, "severity": issue.severity, "type": "bug", "file": FILE,
            "line_start": FAULTY_LINE, "line_end": FAULTY_LINE, "description": "The result is not a u32 then.",
        });
        let verdict = json!({
            "review_id": review, "verdict": "changes_requested", "reviewer_id": REVIEWER, "reason": reason,
            "claim_generation": claim["claim_generation"], "issues": [raised], "counter_patch": counter_patch,
        });
        broker.call("submit_verdict", verdict).await?;
        let ids = self.open_issues(broker, review).await?;
        let id = ids.iter().max().map(String::as_str).unwrap_or_default();
        let mut lines = vec![format!("{} {id} {FILE}:{FAULTY_LINE} {}", issue.glyph, issue.title)];
        let offered = counter_patch.map(|diff| ["with a counter-patch:".to_owned()].into_iter().chain(added(diff)));
        lines.extend(offered.into_iter().flatten());
        self.narrator.step(REVIEWER, &format!("requests changes: {reason}"), &lines).await
    }

    async fn revise(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let words = "Callers check it, but you are right: it costs nothing here.";
        let message = json!({ "review_id": review, "sender_role": "proposer", "body": words, "caller_id": BUILDER });
        broker.call("add_message", message).await?;
        self.narrator.step(BUILDER, &format!("answers: {words}"), &[]).await?;
        let diff = self.sandbox.diff_that_adds(REVISED).await?;
        let revision = json!({ "review_id": review, "intent": INTENT, "diff": diff, "proposer_id": BUILDER });
        broker.call("create_review", revision).await?;
        self.narrator.step(BUILDER, &format!("revises {review}: round 2"), &added(&diff)).await
    }

    async fn accept(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        broker.call("accept_counter_patch", json!({ "review_id": review })).await?;
        self.narrator.step(BUILDER, "accepts the counter-patch: it is now what is under review", &[]).await
    }

    async fn open_issues(&self, broker: &Remote, review: &str) -> Result<Vec<String>, Failure> {
        let issues = broker.call("list_issues", json!({ "review_id": review, "status": "open" })).await?;
        Ok(rows(&issues, "issues").iter().map(|issue| text(issue, "issue_id")).collect())
    }

    /// It still holds its seat; the hash says which content it has read.
    async fn approve(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let proposal = broker.call("get_proposal", json!({ "review_id": review })).await?;
        let settled = self.open_issues(broker, review).await?;
        for issue in &settled {
            let fixed = json!({
                "review_id": review, "issue_id": issue, "status": "fixed", "role": "reviewer", "caller_id": REVIEWER,
                "note": "no input breaks it any more",
            });
            broker.call("update_issue", fixed).await?;
        }
        if !settled.is_empty() {
            self.narrator.step(REVIEWER, &format!("reads it, and finds {} fixed", settled.join(" and ")), &[]).await?;
        }
        let verdict = json!({
            "review_id": review, "verdict": "approved", "reviewer_id": REVIEWER,
            "content_hash": proposal["content_hash"],
        });
        broker.call("submit_verdict", verdict).await?;
        let hash: String = text(&proposal, "content_hash").chars().take(12).collect();
        let tree: String = text(&proposal, "tree_id").chars().take(12).collect();
        let lines = [format!("signed: content {hash}…, which makes the tree {tree}…")];
        self.narrator.step(REVIEWER, &format!("approves {review}"), &lines).await
    }

    async fn land(&self, broker: &Remote, review: &str) -> Result<(), Failure> {
        let proposal = broker.call("get_proposal", json!({ "review_id": review })).await?;
        let diff = proposal["diff"].as_str().unwrap_or_default();
        let commit = self.sandbox.commit(diff, INTENT).await?;
        broker.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await?;
        self.narrator
            .step(BUILDER, &format!("commits {commit}, exactly what was approved, and closes {review}"), &[])
            .await
    }

    async fn claim(&self, broker: &Remote, review: &str) -> Result<Value, Failure> {
        broker.call("claim_review", json!({ "review_id": review, "reviewer_id": REVIEWER })).await
    }
}

/// The lines that a diff adds, as they are shown.
fn added(diff: &str) -> Vec<String> {
    let lines = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    lines.filter(|line| line.len() > 1).map(str::to_owned).collect()
}
