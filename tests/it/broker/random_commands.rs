//! Random commands with random crashes, given to the broker and to the pure rules: every answer and every state must
//! agree. The seed is printed; `COUNTERSIGN_TEST_SEED` repeats a run.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    random::Random,
};
use domain::{
    consensus::Policy,
    content::{Content, digest_json},
    credential::Authority,
    ids::{ReviewId, ReviewNumber},
    priority::Priority,
    review::{
        AddMessage, ClaimSeat, Command, GiveVerdict, Propose, Proposed, Proposer, Review, Revise, Role, Round, Rules,
        transition,
    },
    time::Now,
    verdict::Verdict,
};
use serde_json::{Value, json};
use std::time::Duration;

const RULES: Rules = Rules { lease: Duration::from_secs(3600), max_exchanges: 8 };

/// A review in the pure model.
struct Model {
    review: Review,
    content: Content,
}

fn content(intent: &str, description: Option<String>) -> Content {
    Content {
        intent: intent.into(),
        description,
        diff: None,
        base_commit: None,
        files: Vec::new(),
        flags: Vec::new(),
        diff_note: None,
    }
}

fn round(content: &Content) -> Round {
    let (intent, content_hash) = (content.intent.clone(), content.hash());
    Round {
        number: 1,
        content_hash,
        intent,
        diff: None,
        change_note: None,
        request_key: None,
        target: None,
        required: Box::default(),
    }
}

impl Model {
    /// Proposes to the broker and to the model.
    async fn propose(client: &TestClient, random: &mut Random) -> Self {
        let intent = format!("change {}", random.below(1000));
        let proposer_id = random.pick(&[None, Some("pat")]).map(str::to_owned);
        let more = json!({ "proposer_id": proposer_id, "description": "why" });
        let answer = client.call("create_review", proposal_with(&intent, more)).await;
        let content = content(&intent, Some("why".into()));
        let proposed = Proposed {
            id: ReviewId(id(&answer).parse().unwrap()),
            number: ReviewNumber(answer["number"].as_str().unwrap()[2..].parse().unwrap()),
            proposer: Proposer {
                agent_type: "gsd-executor".into(),
                agent_role: "proposer".into(),
                phase: "1".into(),
                plan: None,
                task: None,
                project: Some("project".into()),
                proposer_id,
            },
            category: None,
            priority: Priority::Normal,
            round: round(&content),
            personas: vec!["general".into()],
            policy: Policy { max_rounds: 3, ..Policy::default() },
        };
        let command = Command::Propose(Box::new(Propose { proposed, first_content: None }));
        Self { review: transition(None, command, Now::default(), &RULES).unwrap().next, content }
    }

    /// One command for the broker and for the model.
    fn command(&self, random: &mut Random) -> (Command, Content, &'static str, Value) {
        let review = self.review.id.to_string();
        let who = random.pick(&["ada", "ada", "ada", "bob", "gsd-executor", "pat"]).to_string();
        let or_none = |random: &mut Random, text: &str| (random.below(2) == 0).then(|| text.to_owned());
        let (mut content, n) = (self.content.clone(), random.below(1000));
        let (command, tool, arguments) = match random.below(20) {
            0..5 => {
                let claim = ClaimSeat {
                    by: who.clone(),
                    persona: None,
                    takes_over: None,
                    check: None,
                    pool_personas: Vec::new(),
                };
                (Command::Claim(claim), "claim_review", json!({ "reviewer_id": who }))
            }
            5..11 => {
                let verdict = *random.pick(Verdict::ALL);
                let reason = random.pick(&[None, Some("because"), Some("and because")]).map(str::to_owned);
                let generation = self.review.claim_generation.saturating_sub(u32::from(random.below(4) == 0));
                let generation = (random.below(3) > 0).then_some(generation);
                let hash = *random.pick(&[None, None, Some(self.review.round.content_hash.0.as_str()), Some("stale")]);
                let by = or_none(random, &who);
                let arguments = json!({ "verdict": verdict.as_str(), "reason": reason, "reviewer_id": by,
                                        "claim_generation": generation, "content_hash": hash });
                let said = digest_json(&(verdict, &reason, hash));
                let verdict = GiveVerdict {
                    by,
                    generation,
                    content_hash: hash.map(Into::into),
                    verdict,
                    reason,
                    summary: None,
                    metrics: None,
                    patch: None,
                    findings: None,
                    signature: None,
                    digest: said,
                };
                (Command::GiveVerdict(verdict), "submit_verdict", arguments)
            }
            11..15 => {
                let role = *random.pick(&[Authority::Proposer, Authority::Reviewer]);
                let (by, body) = (or_none(random, &who), format!("message {}", n % 3));
                let arguments = json!({ "sender_role": role.as_str(), "caller_id": by, "body": body });
                let (persona, to, anchor, metadata) = (None, None, None, None);
                let message = AddMessage { role, by, persona, to, body, anchor, metadata, gives_up: false };
                (Command::AddMessage(message), "add_message", arguments)
            }
            15..18 => {
                content.intent = format!("revision {n}");
                let proposer_id = or_none(random, &who);
                let arguments = json!({ "intent": content.intent, "proposer_id": proposer_id });
                let revise = Revise {
                    proposer_id,
                    completes: self.review.round.content_hash.clone(),
                    round: round(&content),
                    anchors: Vec::new(),
                };
                (Command::Revise(revise), "create_review", arguments)
            }
            18 if random.below(4) == 0 => {
                let cancel = Command::Cancel { by: None, reason: "enough".into() };
                (cancel, "cancel_review", json!({ "reason": "enough" }))
            }
            18 => (Command::RejectCounterPatch { by: None, persona: None }, "reject_counter_patch", json!({})),
            _ => {
                let by = *random.pick(Role::ALL);
                (
                    Command::Close { by, identity: None, landed_as: None },
                    "close_review",
                    json!({ "closer_role": by.as_str() }),
                )
            }
        };
        let mut arguments = arguments;
        arguments["review_id"] = review.into();
        arguments.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        (command, content, tool, arguments)
    }

    /// Sends a random command to both and compares the results.
    async fn step(&mut self, client: &TestClient, random: &mut Random) -> bool {
        let (command, content, tool, arguments) = self.command(random);
        let ruled = transition(Some(&self.review), command, Now::default(), &RULES);
        let answered = client.try_call(tool, arguments.clone()).await;
        match (ruled, answered) {
            (Ok(done), Ok(answer)) => {
                assert_eq!(answer["version"], done.next.version, "{tool} {arguments}: {answer}");
                if done.next.round.content_hash == content.hash() {
                    self.content = content;
                }
                let changed = !done.events.is_empty();
                self.review = done.next;
                changed
            }
            (Err(refusal), Err(error)) => {
                assert_eq!(error["code"], refusal.code(), "{tool} {arguments}: {refusal} against {error}");
                assert_eq!(error["error"], refusal.to_string());
                false
            }
            (ruled, answered) => panic!("{tool} {arguments}: {ruled:?} against {answered:?}"),
        }
    }

    /// Compares the broker's state with the model.
    async fn compare(&self, client: &TestClient) {
        let review = &self.review;
        let (seat, decision) = (&review.seats[0], review.decision.as_ref());
        let mut seat_row = json!({
            "persona": "general",
            "claimed_by": seat.claim.as_ref().map(|claim| &claim.by),
            "claim_generation": seat.claim.as_ref().map(|claim| claim.generation),
            "verdict": seat.vote.map(Verdict::as_str),
            "reserved_for": seat.reservation.as_ref().map(|reservation| &reservation.reviewer),
            "has_counter_patch": false,
        });
        seat_row.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let expected = json!({
            "status": review.status.as_str(),
            "version": review.version,
            "current_round": review.round.number,
            "claim_generation": review.claim_generation,
            "claimed_by": review.claimed_by(),
            "intent": review.round.intent,
            "verdict": decision.map(|decision| decision.verdict.as_str()),
            "verdict_reason": decision.and_then(|decision| decision.reason.as_deref()),
            "verdict_by": decision.map(|decision| &decision.by),
            "content_hash": review.round.content_hash,
            "approved_hash": review.approved_hash,
            "cancel_reason": review.cancel_reason,
            "escalate": review.escalation().is_some(),
            "seats": [seat_row],
        });
        let mut shown = client.status(&review.id.to_string()).await;
        if let Some(rows) = shown["seats"].as_array_mut() {
            for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                row.retain(|field, _| field != "claimed_at" && field != "lease_ends_at");
            }
        }
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(shown[field], *value, "{field} of {shown}, by the rules {review:?}");
        }
    }
}

async fn run(commands: usize, kills: usize) {
    let mut random = Random::new();
    let mut broker = TestBroker::with_settings("[claims]\nlease = \"1h\"").await;
    let mut client = broker.client();
    let mut models = Vec::new();
    for _ in 0..5 {
        models.push(Model::propose(&client, &mut random).await);
    }
    let (mut changed, mut ended) = (0, 0);
    for command in 1..=commands {
        let at = random.below(models.len() as u64) as usize;
        changed += usize::from(models[at].step(&client, &mut random).await);
        models[at].compare(&client).await;
        if models[at].review.is_final() && random.below(2) == 0 {
            ended += 1;
            models[at] = Model::propose(&client, &mut random).await;
        }
        if command % (commands / (kills + 1)) == 0 {
            broker = broker.kill_and_restart().await;
            client = broker.client();
            for model in &models {
                model.compare(&client).await;
            }
        }
    }
    println!("{commands} commands, {changed} of them changed something, {ended} reviews ended, {kills} kills");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_broker_agrees_with_the_rules() {
    run(600, 5).await;
}

#[tokio::test]
#[ignore = "long"]
async fn the_broker_agrees_with_the_rules_in_a_long_run() {
    run(50_000, 50).await;
}
