//! A panel of three: the real Codex as `general`, the real Claude Code as `security`, both with scripted models, and
//! the test
//! client as `tests`. A critical finding blocks two approvals until a revision resolves it, in every order of votes and
//! also
//! if the broker is killed between them.

use crate::support::{
    agent_clients::{Client, ClientRun, Running, are_skipped},
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    model_server::{Gate, ModelServer, Script},
    reviews::{column, verdict, with},
};
use serde_json::{Value, json};
use testkit::Repo;

const BASE: &str = "fn main() {\n    let input = read();\n    let parsed = parse(&input);\n    run(parsed);\n}\n";
const FIRST: &str = "fn main() {\n    let input = read();\n    let parsed = parse(&input).unwrap();\n    \
                     let limit = parsed.len() - 1;\n    run(parsed, limit);\n}\n";
/// Fixed as the finding suggests, one line further down.
const SECOND: &str = "fn main() {\n    setup();\n    let input = read();\n    let parsed = parse(&input).unwrap();\n    \
                      let limit = parsed.len().saturating_sub(1);\n    run(parsed, limit);\n}\n";

/// What leads from the first round to the second; the first round's line is in no diff from the base.
const MENDED: &str = "-    let limit = parsed.len() - 1;\n+    let limit = parsed.len().saturating_sub(1);\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    General,
    Security,
    Tests,
}

use Seat::{General, Security, Tests};

/// The order of the votes in each round.
type Orders = [[Seat; 3]; 2];

impl Seat {
    const ALL: [Self; 3] = [General, Security, Tests];

    const fn persona(self) -> &'static str {
        match self {
            General => "general",
            Security => "security",
            Tests => "tests",
        }
    }

    /// The reviewer of the seat.
    const fn reviewer(self) -> &'static str {
        match self {
            General => "codex-mind",
            Security => "claude-mind",
            Tests => "cyd",
        }
    }

    /// Its verdict in each round.
    const fn votes(self) -> [&'static str; 2] {
        match self {
            Security => ["changes_requested", "approved"],
            General | Tests => ["approved", "approved"],
        }
    }

    /// Its findings in the first round.
    fn issues(self) -> Value {
        match self {
            General => json!([{
                "type": "bug", "severity": "low", "file": "main.rs", "line_start": 3,
                "title": "panics without a message", "code_snippet": "let parsed = parse(&input).unwrap();",
            }]),
            Security => json!([{
                "type": "bug", "severity": "critical", "file": "main.rs", "line_start": 4,
                "title": "underflows on nothing", "code_snippet": "let limit = parsed.len() - 1;",
                "suggestion": "let limit = parsed.len().saturating_sub(1);",
            }]),
            Tests => json!([]),
        }
    }
}

/// What a majority of three comes to once these have voted. The critical finding is there from security's first vote to
/// its second, and while it is there two approvals are not enough.
fn status_after(round: usize, voted: &[Seat]) -> &'static str {
    let approvals = voted.iter().filter(|seat| seat.votes()[round] == "approved").count();
    let blocked = voted.contains(&Security) == (round == 0);
    match (approvals >= 2 && !blocked, voted.len()) {
        (true, _) => "approved",
        (false, 3) => "changes_requested",
        (false, _) => "in_review",
    }
}

/// The expected answer to the vote of `seat` in this order.
fn status_at(seat: Seat, round: usize, order: [Seat; 3]) -> &'static str {
    let place = order.iter().position(|it| *it == seat).unwrap();
    status_after(round, &order[..=place])
}

/// Where a client's model waits in a round: it has read and is about to vote; it has voted.
#[derive(Clone)]
struct Gates {
    read: Gate,
    voted: Gate,
}

impl Gates {
    fn new() -> Self {
        Self { read: Gate::new(), voted: Gate::new() }
    }
}

/// Claims its seat. While git checks the diff for another claim, the call is refused as retryable.
fn take(script: Script, seat: Seat, round: u32) -> Script {
    script
        .call("list_reviews", json!({ "status": "pending", "wait": true, "caller_id": seat.reviewer() }))
        .until("review_id", 20)
        .save("review_id")
        .call(
            "claim_review",
            json!({ "review_id": "${review_id}", "reviewer_id": seat.reviewer(), "persona": seat.persona() }),
        )
        .until("claim_generation", 100)
        .expect("seat", seat.persona())
        .expect("claimed_by", seat.reviewer())
        .expect("current_round", round)
        .save("claim_generation")
        .save("content_hash")
}

fn vote(script: Script, seat: Seat, round: usize, orders: Orders) -> Script {
    let word = seat.votes()[round];
    let issues = if round == 0 { seat.issues() } else { json!([]) };
    let verdict = json!({
        "review_id": "${review_id}", "reviewer_id": seat.reviewer(), "verdict": word, "reason": "as I found",
        "claim_generation": "${claim_generation}", "content_hash": "${content_hash}", "issues": issues,
    });
    script.call("submit_verdict", verdict).expect("status", status_at(seat, round, orders[round]))
}

/// Both rounds of a reviewer. What changed since the first, and what security asks about its own finding, is in between.
fn reviewing(seat: Seat, orders: Orders, gates: &[Gates; 2]) -> Script {
    let read = json!({ "review_id": "${review_id}" });
    let script = take(Script::new(), seat, 1)
        .call("get_proposal", read.clone())
        .expect("content_hash", "${content_hash}")
        .gate(&gates[0].read);
    let script = take(vote(script, seat, 0, orders).gate(&gates[0].voted), seat, 2).expect("since_round", 1);
    let script = script
        .call("get_proposal", with(read, json!({ "since_round": 1 })))
        .expect("since_round", 1)
        .expect("content_hash", "${content_hash}")
        .save("diff")
        .gate(&gates[1].read);
    let script = if seat == Security { settle(script, orders) } else { script };
    vote(script, seat, 1, orders).gate(&gates[1].voted).finish("${diff}")
}

/// Marks its critical finding as fixed. After two approvals that decides the review.
fn settle(script: Script, orders: Orders) -> Script {
    let before = orders[1].iter().position(|seat| *seat == Security).unwrap();
    let fixed = json!({
        "review_id": "${review_id}", "issue_id": "${issue_id}", "status": "fixed",
        "role": "reviewer", "caller_id": Security.reviewer(),
    });
    script
        .call("list_issues", json!({ "review_id": "${review_id}", "severity": "critical" }))
        .save("issue_id")
        .expect("anchor", "modified")
        .expect("likely_fixed", true)
        .call("update_issue", fixed)
        .expect("status", if before == 2 { "approved" } else { "in_review" })
}

/// A real client with its seat.
struct Member {
    running: Running,
    gates: [Gates; 2],
    _model: ModelServer,
}

impl Member {
    async fn start(client: Client, seat: Seat, orders: Orders, broker: &TestBroker) -> Self {
        let gates = [Gates::new(), Gates::new()];
        let model = ModelServer::start(reviewing(seat, orders, &gates)).await;
        let running = ClientRun::new(client, &model, &broker.url("/mcp/reviewer")).start();
        Self { running, gates, _model: model }
    }

    async fn reads(&mut self, round: usize) {
        self.running.reaches(&self.gates[round].read).await;
    }

    async fn votes(&mut self, round: usize) {
        self.gates[round].read.open();
        self.running.reaches(&self.gates[round].voted).await;
    }

    fn goes_on(&self, round: usize) {
        self.gates[round].voted.open();
    }

    /// It ends well, and has seen no more than what changed since its first round.
    async fn finish(self) {
        let outcome = self.running.finish().await;
        outcome.assert_ok();
        assert!(outcome.final_text.contains(MENDED), "{outcome}");
    }
}

/// The diff that turns the committed `main.rs` into `text`.
fn diff_to(repo: &Repo, text: &str) -> String {
    repo.write("main.rs", text);
    let diff = repo.git(&["diff"]) + "\n";
    repo.write("main.rs", BASE);
    diff
}

async fn claim_tests(client: &TestClient, review: &str) {
    let claim = json!({ "review_id": review, "reviewer_id": Tests.reviewer(), "persona": Tests.persona() });
    client.call("claim_review", claim).await;
}

struct Panel {
    broker: TestBroker,
    /// The test client. It proposes, and reviews as `tests` under another name.
    client: TestClient,
    review: String,
    codex: Member,
    claude: Member,
    orders: Orders,
    kills: bool,
}

impl Panel {
    async fn start(codex: Client, orders: Orders, kills: bool) -> Self {
        let broker = TestBroker::start().await;
        broker.repo().write("main.rs", BASE);
        broker.repo().commit("code");
        let client = broker.client();
        let personas = Seat::ALL.map(Seat::persona);
        let more = json!({
            "diff": diff_to(broker.repo(), FIRST), "personas": personas, "policy": { "rule": "majority" },
        });
        let review = id(&client.call("create_review", proposal_with("limits", more)).await);
        claim_tests(&client, &review).await;
        let codex = Member::start(codex, General, orders, &broker).await;
        let claude = Member::start(Client::Claude, Security, orders, &broker).await;
        Self { broker, client, review, codex, claude, orders, kills }
    }

    /// The clients take their seats at the same time, then all vote in this round's order.
    async fn round(mut self, round: usize) -> Self {
        tokio::join!(self.codex.reads(round), self.claude.reads(round));
        let order = self.orders[round];
        for cast in 1..=order.len() {
            self.vote(order[cast - 1], round).await;
            let before = self.check(round, &order[..cast]).await;
            if self.kills && cast < order.len() {
                self.broker = self.broker.kill_and_restart().await;
                let after = self.check(round, &order[..cast]).await;
                assert_eq!((&after["version"], &after["issues"]), (&before["version"], &before["issues"]));
            }
        }
        self
    }

    async fn vote(&mut self, seat: Seat, round: usize) {
        match seat {
            General => self.codex.votes(round).await,
            Security => self.claude.votes(round).await,
            Tests => {
                let vote = verdict(&self.review, seat.reviewer(), seat.votes()[round]);
                let answer = self.client.call("submit_verdict", vote).await;
                assert_eq!(answer["status"], status_at(seat, round, self.orders[round]), "{answer:#}");
            }
        }
    }

    /// The review once these have voted, as the table says.
    async fn check(&self, round: usize, voted: &[Seat]) -> Value {
        let status = self.client.status(&self.review).await;
        let consensus = &status["consensus"];
        assert_eq!(status["status"], status_after(round, voted), "round {round}, {voted:?}: {status:#}");
        let approvals = voted.iter().filter(|seat| seat.votes()[round] == "approved").count();
        assert_eq!((&consensus["approvals"], &consensus["approvals_needed"]), (&json!(approvals), &json!(2)));
        if status["status"] == "in_review" {
            let missing: Vec<_> = Seat::ALL.into_iter().filter(|seat| !voted.contains(seat)).collect();
            assert_eq!(consensus["waiting_for"], json!(missing.iter().map(|it| it.persona()).collect::<Vec<_>>()));
        }
        status
    }

    async fn issue(&self, severity: &str) -> Value {
        let list = json!({ "review_id": self.review, "severity": severity });
        let list = self.client.call("list_issues", list).await;
        assert_eq!(list["issues"].as_array().unwrap().len(), 1, "{list:#}");
        list["issues"][0].clone()
    }

    /// Two have approved, and one finding blocks the review.
    async fn is_blocked(&self) {
        let (status, critical) = (self.client.status(&self.review).await, self.issue("critical").await);
        let consensus = &status["consensus"];
        assert_eq!((&status["status"], &consensus["approvals"]), (&json!("changes_requested"), &json!(2)));
        assert_eq!(consensus["blocking"], json!([critical["issue_id"]]), "{status:#}");
        assert_eq!(critical["grounding"], "grounded", "{critical:#}");
        assert_eq!((&critical["persona"], &critical["reviewer_id"]), (&json!("security"), &json!(Security.reviewer())));
    }

    /// The revision does not resolve findings.
    async fn revise(&self) {
        let revision = json!({
            "review_id": self.review, "intent": "as you said", "diff": diff_to(self.broker.repo(), SECOND),
        });
        assert_eq!(self.client.call("create_review", revision).await["current_round"], 2);
        let (critical, low) = (self.issue("critical").await, self.issue("low").await);
        let place = |issue: &Value| ["anchor", "raised_at", "line_start", "status"].map(|key| issue[key].clone());
        assert_eq!(place(&critical), [json!("modified"), json!("main.rs:4"), json!(5), json!("open")], "{critical:#}");
        assert_eq!(place(&low), [json!("moved"), json!("main.rs:3"), json!(4), json!("open")], "{low:#}");
        assert_eq!((&critical["likely_fixed"], &low["likely_fixed"]), (&json!(true), &Value::Null));
        claim_tests(&self.client, &self.review).await;
        self.codex.goes_on(0);
        self.claude.goes_on(0);
    }

    /// All have approved the current content, and security has resolved its finding.
    async fn is_approved(&self) {
        let (status, critical) = (self.client.status(&self.review).await, self.issue("critical").await);
        assert_eq!((&status["status"], &status["approved_hash"]), (&json!("approved"), &status["content_hash"]));
        assert_eq!(column(&status["consensus"]["votes"], "verdict"), ["approved"; 3], "{status:#}");
        let resolution = &critical["resolution"];
        assert_eq!((&critical["status"], &resolution["round"]), (&json!("fixed"), &json!(2)), "{critical:#}");
        assert_eq!(resolution["by"], Security.reviewer());
    }

    async fn close(self) {
        self.codex.goes_on(1);
        self.claude.goes_on(1);
        tokio::join!(self.codex.finish(), self.claude.finish());
        let close = json!({ "review_id": self.review, "closer_role": "proposer" });
        assert_eq!(self.client.call("close_review", close).await["status"], "closed");
        self.broker.stop_and_check().await;
    }
}

async fn agrees(codex: Client, orders: Orders, kills: bool) {
    if are_skipped(&format!("{codex:?} and Claude Code on a panel")) {
        return;
    }
    let panel = Panel::start(codex, orders, kills).await.round(0).await;
    panel.is_blocked().await;
    panel.revise().await;
    let panel = panel.round(1).await;
    panel.is_approved().await;
    panel.close().await;
}

#[tokio::test]
async fn a_critical_finding_is_raised_before_the_approvals() {
    agrees(Client::Codex, [[Security, General, Tests], [General, Tests, Security]], false).await;
}

/// Two approvals have already decided the review: the finding reverts that.
#[tokio::test]
async fn a_critical_finding_is_raised_after_the_approvals() {
    agrees(Client::CodexCodeMode, [[Tests, General, Security], [Security, Tests, General]], false).await;
}

#[tokio::test]
async fn a_panel_decides_although_the_broker_is_killed_between_votes() {
    agrees(Client::Codex, [[General, Security, Tests], [Tests, Security, General]], true).await;
}
