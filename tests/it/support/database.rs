//! Fills a database without a broker, faster than a client could.

use domain::{
    content::Content,
    credential::Authority,
    finding::{Lines, LocatedText, Location, Severity},
    ids::{DEFAULT_PERSONA, ReviewId},
    review::{AddMessage, ClaimSeat, Command, DiffSide, GiveVerdict, OfferedFindings, Revise, Role, transition},
    time::{Now, Tick, Timestamp},
    verdict::{ReviewMetrics, Verdict},
};
use std::{path::Path, sync::Arc};
use store::{Change, Writer};
use testkit::{RULES, approval, content, issue, proposal, round};
use tokio::sync::oneshot;

/// In milliseconds since 1970.
pub(crate) const FIRST_AT: i64 = 1_700_000_000_000;

/// The state of the stored reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Pending,
    /// `ada` has voted for one of two seats.
    Begun,
    Cancelled,
    /// `ada` has requested changes, with an issue of each severity on files of its own.
    Contested,
    /// Two rounds with a discussion and an issue, approved and closed: ten events, a minute after those of the review
    /// before.
    Lived,
}

/// The number of reviews that may wait for the writer.
const AHEAD: i64 = 2_000;

/// Fills the folder `data` in `home` through the store's own writer, with reviews that are all in one state.
pub(crate) async fn fill(home: &Path, reviews: usize, stored: Stored) {
    fill_each(home, reviews, 0, |_| stored).await;
}

/// As [`fill`]; `state` says in which state the review with a number is. `begin` is added to the times, in milliseconds.
pub(crate) async fn fill_each(home: &Path, reviews: usize, begin: i64, state: impl Fn(i64) -> Stored) {
    let data = home.join("data");
    std::fs::create_dir(&data).unwrap();
    let settings = store::Settings { max_queue: 30_000, ..store::Settings::default() };
    let store = store::open(&data.join("countersign.db"), settings).await.unwrap();
    let mut last = None;
    for number in 1..=i64::try_from(reviews).unwrap() {
        let stored = state(number);
        if number % AHEAD == 0
            && let Some(saved) = last.take()
        {
            let saved: oneshot::Receiver<Result<_, _>> = saved;
            saved.await.unwrap().unwrap();
        }
        let personas: &[&str] = if stored == Stored::Begun { &["general", "tests"] } else { &[DEFAULT_PERSONA] };
        let at = begin + if stored == Stored::Lived || begin > 0 { number * MINUTE } else { number };
        let first = submission(number, at, "a stored change", personas);
        let (done, saved) = oneshot::channel();
        store.writer.commit(first.clone(), done);
        last = Some(match stored {
            Stored::Pending => saved,
            Stored::Begun => {
                let claim = ClaimSeat {
                    by: "ada".into(),
                    persona: None,
                    takes_over: None,
                    check: None,
                    pool_personas: Vec::new(),
                };
                let (claimed, _) = tell(&store.writer, &first, Command::Claim(claim), number);
                tell(&store.writer, &claimed, Command::GiveVerdict(approval("ada")), number).1
            }
            Stored::Contested => contest(&store.writer, &first, number, at),
            Stored::Lived => live(&store.writer, first, number, at),
            Stored::Cancelled => {
                let cancel = Command::Cancel { by: None, reason: "no longer needed".into() };
                tell(&store.writer, &first, cancel, number).1
            }
        });
    }
    if let Some(last) = last {
        last.await.unwrap().unwrap();
    }
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

/// Brings the indexes that follow the log up to date, as a broker that has run for a while has done.
pub(crate) async fn index(home: &Path) {
    let store = store::open(&home.join("data/countersign.db"), store::Settings::default()).await.unwrap();
    let head = store.reader.last_seq().await.unwrap();
    let mut seq = store.reader.read_index_cursor().await.unwrap();
    while seq < head {
        let batch = store.reader.read_index_batch(seq, head).await.unwrap();
        seq = batch.seq;
        let (done, written) = oneshot::channel();
        store.writer.write_index(Box::new(batch), done);
        written.await.unwrap().unwrap();
    }
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

/// Numbers of findings that no other review uses.
const CONTESTED_FINDINGS: i64 = 10_000_000;

fn contest(writer: &Writer, first: &Change, number: i64, at: i64) -> oneshot::Receiver<Result<(), store::StoreError>> {
    let claim = ClaimSeat { by: "ada".into(), persona: None, takes_over: None, check: None, pool_personas: Vec::new() };
    let (claimed, _) = tell_at(writer, first, Command::Claim(claim), None, at + 4_000);
    let severities = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low];
    let raised = (0..).zip(severities).map(|(index, severity)| {
        let mut raised = issue(CONTESTED_FINDINGS + number * 4 + index, severity);
        raised.found.title = format!("The parser of module {} reads past the end", number % 97);
        raised.found.location = Some(Location {
            text: LocatedText::File { path: format!("src/module_{}.rs", number % 97), side: DiffSide::New },
            lines: Some(Lines { start: 3, end: 4 }),
        });
        raised
    });
    let findings = OfferedFindings { content_hash: first.review().round.content_hash.clone(), list: raised.collect() };
    let verdict = GiveVerdict {
        verdict: Verdict::ChangesRequested,
        reason: Some("the parser is not safe yet".into()),
        findings: Some(findings),
        digest: "contested".into(),
        ..approval("ada")
    };
    tell_at(writer, &claimed, Command::GiveVerdict(verdict), None, at + 8_000).1
}

pub(crate) const MINUTE: i64 = 60_000;

/// The remaining events of a review, four seconds apart.
fn live(writer: &Writer, first: Change, number: i64, at: i64) -> oneshot::Receiver<Result<(), store::StoreError>> {
    let by = format!("reviewer-{}", number % 20);
    let say = |role: Authority, body: &str| {
        let (by, persona, to, anchor, metadata) = (None, None, None, None, None);
        Command::AddMessage(AddMessage { role, by, persona, to, body: body.into(), anchor, metadata, gives_up: false })
    };
    let claim = || {
        Command::Claim(ClaimSeat {
            by: by.clone(),
            persona: None,
            takes_over: None,
            check: None,
            pool_personas: Vec::new(),
        })
    };
    let content = content(&format!("a better change {number}"));
    let revise = Command::Revise(Revise {
        proposer_id: None,
        completes: first.review().round.content_hash.clone(),
        round: round(&content),
        anchors: Vec::new(),
    });
    let issues = OfferedFindings {
        content_hash: first.review().round.content_hash.clone(),
        list: vec![issue(number, Severity::High)],
    };
    let back = GiveVerdict {
        verdict: Verdict::ChangesRequested,
        reason: Some("not yet".into()),
        metrics: Some(ReviewMetrics { cost_usd: Some(0.01), input_tokens: Some(1_000), ..ReviewMetrics::default() }),
        findings: Some(issues),
        signature: None,
        digest: "changes".into(),
        ..approval(&by)
    };
    let commands = [
        (claim(), None),
        (say(Authority::Reviewer, "why is this needed?"), None),
        (say(Authority::Proposer, "because the old way is slow"), None),
        (say(Authority::Reviewer, "how slow?"), None),
        (Command::GiveVerdict(back), None),
        (revise, Some(content)),
        (claim(), None),
        (Command::GiveVerdict(approval(&by)), None),
        (Command::Close { by: Role::Proposer, identity: None, landed_as: None }, None),
    ];
    let (mut change, mut saved) = (first, None);
    for (step, (command, content)) in (1..).zip(commands) {
        let (next, done) = tell_at(writer, &change, command, content, at + step * 4_000);
        (change, saved) = (next, Some(done));
    }
    saved.unwrap()
}

fn tell(
    writer: &Writer,
    first: &Change,
    command: Command,
    number: i64,
) -> (Change, oneshot::Receiver<Result<(), store::StoreError>>) {
    tell_at(writer, first, command, None, 100_000 + number)
}

/// `at` is in milliseconds from when the first was submitted.
fn tell_at(
    writer: &Writer,
    first: &Change,
    command: Command,
    content: Option<Content>,
    at: i64,
) -> (Change, oneshot::Receiver<Result<(), store::StoreError>>) {
    let now = Now { at: Timestamp(FIRST_AT + at), tick: Tick(at) };
    let told = transition(Some(first.review()), command, now, &RULES).unwrap();
    let (done, saved) = oneshot::channel();
    let mut change = Change::new(Some(first.review()), Arc::new(told.next), told.events, now.tick).unwrap();
    change.content = content.map(Arc::new);
    writer.commit(change.clone(), done);
    (change, saved)
}

/// A proposal without a diff, `at` milliseconds after the first, as a change for the store.
pub(crate) fn submission(number: i64, at: i64, intent: &str, personas: &[&str]) -> Change {
    let content = content(&format!("{intent} {number}"));
    let mut proposal = proposal(number, &content, personas);
    proposal.proposed.id = ReviewId(uuid::Uuid::new_v4());
    let now = Now { at: Timestamp(FIRST_AT + at), tick: Tick(at) };
    let done = transition(None, Command::Propose(Box::new(proposal)), now, &RULES).unwrap();
    let mut change = Change::new(None, Arc::new(done.next), done.events, Tick(at)).unwrap();
    change.content = Some(Arc::new(content));
    change
}
