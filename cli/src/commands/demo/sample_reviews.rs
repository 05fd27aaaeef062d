//! The sample reviews that `countersign demo --serve` creates for the page, one in each state that a user can see.

use super::{
    Narrator,
    agents::Agent,
    demo_environment::{PRICE_FILE, Sandbox},
};
use crate::{CliError, client::Client};
use api::{
    reviews::{CreateReviewRequest, TargetRequest},
    verdicts::VerdictRequest,
};
use domain::{
    consensus::PolicyRequest,
    finding::RawFinding,
    review::Category,
    verdict::{ReviewMetrics, Verdict},
};

const README: &str = include_str!("sample_repository/README.md");
const STORAGE_FILE: &str = "src/storage.rs";
const STORAGE_1: &str = include_str!("sample_repository/storage_round_1.rs");
const STORAGE_2: &str = include_str!("sample_repository/storage_round_2.rs");
const STORAGE_COUNTER_PATCH: &str = include_str!("sample_repository/storage_counter_patch.rs");
const CHECKOUT_FILE: &str = "src/checkout.rs";
const CHECKOUT: &str = include_str!("sample_repository/checkout_with_card.rs");
const CARD: &str = include_str!("sample_repository/card.rs");
const PLAN: &str = include_str!("sample_repository/plan.md");

const FORMAT_PRICE: &str = "
/// The price with two decimals, such as `12.05`.
pub fn format_price(cents: u32) -> String {
    format!(\"{}.{:02}\", cents / 100, cents % 100)
}
";

pub(super) struct Scenes<'a> {
    pub sandbox: &'a Sandbox,
    pub narrator: &'a Narrator,
    pub broker: &'a Client,
}

impl<'a> Scenes<'a> {
    pub(super) async fn play(&self) -> Result<(), CliError> {
        self.approved().await?;
        self.plan().await?;
        self.does_not_apply().await?;
        self.escalated().await?;
        self.in_discussion().await?;
        self.panel().await?;
        self.waiting().await
    }

    fn agent(&self, name: &'static str) -> Agent<'a> {
        Agent { broker: self.broker, name }
    }

    async fn step(&self, who: &str, did: &str) -> Result<(), CliError> {
        self.narrator.step(who, did, &[]).await
    }

    /// Approved, and not closed yet.
    async fn approved(&self) -> Result<(), CliError> {
        let intent = "Print prices with two decimals";
        let prices = self.sandbox.read(PRICE_FILE)? + FORMAT_PRICE;
        let diff = self.sandbox.diff(&[(PRICE_FILE, &prices)]).await?;
        let request = CreateReviewRequest { diff: Some(diff), ..Default::default() };
        let review = self.agent("builder").propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}")).await?;
        let reviewer = self.agent("ada");
        reviewer.claim(&review, None).await?;
        let suggestion = RawFinding {
            title: "Say in the name that it takes cents".to_owned(),
            suggestion: Some("pub fn format_cents(cents: u32) -> String {".to_owned()),
            ..on_line("low", PRICE_FILE, &prices, "pub fn format_price")
        };
        let verdict = VerdictRequest {
            suggestions: Some(vec![suggestion]),
            metrics: Some(cost(0.03)),
            ..VerdictRequest::new(&review, Verdict::Approved)
        };
        reviewer.vote("Tried with 0, 5 and 1205 cents.", verdict).await?;
        self.step("ada", &format!("approves {review}")).await
    }

    /// A plan without a diff. Its reviewer has commented on lines of it and still holds the seat.
    async fn plan(&self) -> Result<(), CliError> {
        let intent = "Plan: orders survive a crash";
        let request = CreateReviewRequest {
            category: Some(Category::PlanReview),
            description: Some(PLAN.to_owned()),
            ..Default::default()
        };
        let review = self.agent("planner").propose(intent, request).await?;
        self.step("planner", &format!("proposes {review}: {intent}")).await?;
        let reviewer = self.agent("ada");
        reviewer.claim(&review, None).await?;
        let finding = RawFinding {
            kind: Some("bug".to_owned()),
            description: Some("Give each order an id, and let the export skip ids that it has seen.".to_owned()),
            title: "An order must not be exported twice".to_owned(),
            ..on_plan("high", "an order is exported twice")
        };
        let verdict = VerdictRequest { issues: Some(vec![finding]), ..VerdictRequest::new(&review, Verdict::Comment) };
        reviewer.vote("I am through with the steps; the format of the journal comes next.", verdict).await?;
        self.step("ada", &format!("comments on a line of {review} and reads on")).await
    }

    /// Sent back by the broker.
    async fn does_not_apply(&self) -> Result<(), CliError> {
        let intent = "Prices are in dollars";
        let diff = include_str!("sample_repository/does_not_apply.diff");
        let request = CreateReviewRequest { diff: Some(diff.to_owned()), ..Default::default() };
        let review = self.agent("builder").propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}")).await?;
        self.agent("bo").claim(&review, None).await?;
        self.step("broker", &format!("sends {review} back: its diff does not apply")).await
    }

    /// Changes were requested in the last allowed round, so it waits for a person.
    async fn escalated(&self) -> Result<(), CliError> {
        let intent = "Remove the prices of the first shop";
        let diff = self.sandbox.diff(&[("src/legacy_prices.rs", "")]).await?;
        let request = CreateReviewRequest {
            diff: Some(diff),
            policy: Some(PolicyRequest { max_rounds: Some(1), ..Default::default() }),
            ..Default::default()
        };
        let review = self.agent("builder").propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}")).await?;
        let reviewer = self.agent("cleo");
        reviewer.claim(&review, None).await?;
        let reason = "Old receipts still name these products. Who decides that they are no longer printed?";
        reviewer.request_changes(&review, reason, Vec::new()).await?;
        self.step("cleo", &format!("requests changes; {review} now waits for a person")).await
    }

    /// The second round, with open findings, an answer and a counter-patch.
    async fn in_discussion(&self) -> Result<(), CliError> {
        let (intent, branch) = ("Keep the cart between visits", "cart-storage");
        let readme = format!("{README}- `src/storage.rs` carts in files\n");
        let first = [(STORAGE_FILE, STORAGE_1), ("README.md", readme.as_str())];
        self.sandbox.commit_on_branch(branch, "Keep carts in files", &first).await?;
        let description = "A customer who comes back finds the cart as it was.\n\nEach cart is one file.".to_owned();
        let request = CreateReviewRequest {
            target: Some(TargetRequest { branch: Some(branch.to_owned()), ..Default::default() }),
            description: Some(description),
            ..Default::default()
        };
        let (builder, reviewer) = (self.agent("builder"), self.agent("bo"));
        let review = builder.propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}")).await?;

        reviewer.claim(&review, None).await?;
        let outside = RawFinding {
            kind: Some("security".to_owned()),
            title: "A customer's name can leave the folder".to_owned(),
            description: Some("The name `../../etc/cron.d/x` writes **outside** of the folder.".to_owned()),
            confidence: Some(0.9),
            ..on_line("high", STORAGE_FILE, STORAGE_1, "self.folder.join")
        };
        let hidden = RawFinding {
            kind: Some("bug".to_owned()),
            title: "An unreadable cart looks like an empty one".to_owned(),
            description: Some("The next save then overwrites it.".to_owned()),
            ..on_line("medium", STORAGE_FILE, STORAGE_1, "unwrap_or_default")
        };
        reviewer.request_changes(&review, "Two inputs lose or leak data.", vec![outside, hidden]).await?;
        self.step("bo", &format!("requests changes of {review}: two findings")).await?;

        builder
            .say(&review, None, "Names come from the login, so they have only letters. The second one is right.")
            .await?;
        self.sandbox.commit_on_branch(branch, "Do not hide errors", &[(STORAGE_FILE, STORAGE_2)]).await?;
        let note = "`load` returns the error.".to_owned();
        builder.revise(&review, CreateReviewRequest { change_note: Some(note), ..Default::default() }).await?;
        self.step("builder", &format!("answers and revises {review}: round 2")).await?;

        reviewer.claim(&review, None).await?;
        for (id, title) in reviewer.open_issues(&review).await? {
            if title.contains("unreadable") {
                reviewer.mark_fixed(&review, &id, "an error is an error now").await?;
            }
        }
        let half = RawFinding {
            kind: Some("bug".to_owned()),
            title: "A crash while saving leaves half a cart".to_owned(),
            ..on_line("medium", STORAGE_FILE, STORAGE_2, "fs::write")
        };
        let better = [(STORAGE_FILE, STORAGE_COUNTER_PATCH), ("README.md", readme.as_str())];
        let verdict = VerdictRequest {
            issues: Some(vec![half]),
            counter_patch: Some(self.sandbox.diff(&better).await?),
            metrics: Some(cost(0.18)),
            ..VerdictRequest::new(&review, Verdict::ChangesRequested)
        };
        let reason = "The login of partners allows any name. This version handles both findings.";
        reviewer.vote(reason, verdict).await?;
        self.step("bo", &format!("requests changes of {review} again and offers a counter-patch")).await
    }

    /// Three personas: one has voted against it, one for it, one is reading. The branch has moved since.
    async fn panel(&self) -> Result<(), CliError> {
        let (intent, branch) = ("Accept payment by card", "card-payments");
        let changes = [("src/card.rs", CARD), (CHECKOUT_FILE, CHECKOUT)];
        self.sandbox.commit_on_branch(branch, "Accept payment by card", &changes).await?;
        let request = CreateReviewRequest {
            target: Some(TargetRequest { branch: Some(branch.to_owned()), ..Default::default() }),
            personas: Some(["security", "architecture", "tests"].map(str::to_owned).to_vec()),
            policy: Some(PolicyRequest { max_cost_usd: Some(1.0), ..Default::default() }),
            ..Default::default()
        };
        let review = self.agent("builder").propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}")).await?;

        let security = self.agent("ada");
        security.claim(&review, Some("security")).await?;
        let logged = RawFinding {
            kind: Some("security".to_owned()),
            title: "The log contains the whole card number".to_owned(),
            description: Some("`Debug` is derived, so `{payment:?}` prints every digit.".to_owned()),
            suggestion: Some("    log::info!(\"order of {customer}\");".to_owned()),
            code_snippet: Some("log::info!(\"order of {customer}, paid by {payment:?}\");".to_owned()),
            confidence: Some(0.95),
            ..on_line("critical", CHECKOUT_FILE, CHECKOUT, "log::info!")
        };
        let verdict = VerdictRequest {
            issues: Some(vec![logged]),
            summary: Some("Card numbers must not be logged.".to_owned()),
            metrics: Some(cost(0.21)),
            ..VerdictRequest::new(&review, Verdict::ChangesRequested)
        };
        security.vote("One line leaks card numbers; the rest is careful.", verdict).await?;
        self.step("ada", &format!("requests changes of {review} for security")).await?;

        let architecture = self.agent("cleo");
        architecture.claim(&review, Some("architecture")).await?;
        let verdict = VerdictRequest { metrics: Some(cost(0.09)), ..VerdictRequest::new(&review, Verdict::Approved) };
        architecture.vote("The card stays a type of its own, apart from the order.", verdict).await?;
        self.step("cleo", &format!("approves {review} for architecture")).await?;

        self.agent("bo").claim(&review, Some("tests")).await?;
        self.step("bo", &format!("claims {review} for tests")).await?;
        let hidden = CARD.replacen("#[derive(Debug, Clone,", "#[derive(Clone,", 1);
        self.sandbox.commit_on_branch(branch, "Card numbers have no Debug", &[("src/card.rs", &hidden)]).await
    }

    /// Free to take.
    async fn waiting(&self) -> Result<(), CliError> {
        let intent = "Run the tests after every push";
        let script = "#!/bin/sh\nset -eu\ncargo test --workspace\n";
        let changes =
            [(".github/workflows/ci.yml", include_str!("sample_repository/ci.yml")), ("scripts/test.sh", script)];
        let request = CreateReviewRequest {
            diff: Some(self.sandbox.diff(&changes).await?),
            description: Some("So far the tests run only on my machine.".to_owned()),
            ..Default::default()
        };
        let review = self.agent("builder").propose(intent, request).await?;
        self.step("builder", &format!("proposes {review}: {intent}; it waits for a reviewer")).await
    }
}

/// A finding on the line of `text` that contains `quote`.
fn on_line(severity: &str, file: &str, text: &str, quote: &str) -> RawFinding {
    let line = line_of(text, quote);
    RawFinding {
        severity: Some(severity.to_owned()),
        file: Some(file.to_owned()),
        line_start: line,
        ..Default::default()
    }
}

/// A finding on the line of the plan that contains `quote`.
fn on_plan(severity: &str, quote: &str) -> RawFinding {
    let line = line_of(PLAN, quote);
    let text = Some("description".to_owned());
    RawFinding { severity: Some(severity.to_owned()), text, line_start: line, ..Default::default() }
}

fn line_of(text: &str, quote: &str) -> Option<u32> {
    let index = text.lines().position(|line| line.contains(quote))?;
    u32::try_from(index + 1).ok()
}

fn cost(cost_usd: f64) -> ReviewMetrics {
    ReviewMetrics { cost_usd: Some(cost_usd), model: Some("demo".to_owned()), ..Default::default() }
}
