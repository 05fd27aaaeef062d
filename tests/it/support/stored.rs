//! Databases that are filled without a broker, quicker than any client could.

use domain::{
    consensus::Policy,
    content::Content,
    ids::{DEFAULT_PERSONA, ReviewId, ReviewNumber},
    review::{Check, ClaimSeat, Command, GiveVerdict, Proposal, Proposer, Rules, propose, transition},
    time::{Now, Tick, Timestamp},
    verdict::Verdict,
};
use std::{path::Path, sync::Arc, time::Duration};
use store::{Change, Writer};
use tokio::sync::oneshot;

const RULES: Rules = Rules { lease: Duration::from_secs(1200) };

/// What became of the reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Pending,
    /// `ada` has voted for one of two seats.
    Begun,
    Cancelled,
}

/// Fills the folder `data` in `home` through the store's own writer.
pub(crate) async fn fill(home: &Path, reviews: usize, stored: Stored) {
    let data = home.join("data");
    std::fs::create_dir(&data).unwrap();
    let settings = store::Settings { max_queue: 300_000, ..store::Settings::default() };
    let store = store::open(&data.join("countersign.db"), settings).await.unwrap();
    let mut last = None;
    for number in 1..=i64::try_from(reviews).unwrap() {
        let personas: &[&str] = if stored == Stored::Begun { &["general", "tests"] } else { &[DEFAULT_PERSONA] };
        let first = submission(number, "a stored change", personas);
        let (done, saved) = oneshot::channel();
        store.writer.commit(first.clone(), done);
        last = Some(match stored {
            Stored::Pending => saved,
            Stored::Begun => {
                let claim = ClaimSeat { by: "ada".into(), persona: None, checked: None, check: Check::NotNeeded };
                let (claimed, _) = tell(&store.writer, &first, Command::Claim(claim), number);
                tell(&store.writer, &claimed, Command::GiveVerdict(approval("ada")), number).1
            }
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

fn tell(
    writer: &Writer,
    first: &Change,
    command: Command,
    number: i64,
) -> (Change, oneshot::Receiver<Result<store::Committed, store::StoreError>>) {
    let now = Now { at: Timestamp(1_700_000_100_000 + number), tick: Tick(number) };
    let told = transition(first.review(), command, now, &RULES).unwrap();
    let (done, saved) = oneshot::channel();
    let change = Change::new(Arc::new(told.next), told.events, now.tick).unwrap();
    writer.commit(change.clone(), done);
    (change, saved)
}

fn approval(by: &str) -> GiveVerdict {
    GiveVerdict {
        by: Some(by.into()),
        generation: None,
        content_hash: None,
        verdict: Verdict::Approved,
        reason: None,
        summary: None,
        metrics: None,
        patch: None,
        findings: Default::default(),
    }
}

/// A proposal without a diff, as the store is given it.
pub(crate) fn submission(number: i64, intent: &str, personas: &[&str]) -> Change {
    let content = Content {
        intent: format!("{intent} {number}"),
        description: Some("why and what".into()),
        diff: None,
        base_commit: None,
        files: Vec::new(),
        flags: Vec::new(),
        diff_note: None,
    };
    let proposal = Proposal {
        id: ReviewId(uuid::Uuid::new_v4()),
        number: ReviewNumber(number),
        proposer: Proposer {
            agent_type: "gsd-executor".into(),
            agent_role: "proposer".into(),
            phase: "3".into(),
            plan: None,
            task: None,
            project: None,
            proposer_id: None,
        },
        category: None,
        intent: content.intent.clone(),
        content_hash: content.hash(),
        diff: None,
        personas: personas.iter().map(ToString::to_string).collect(),
        policy: Policy::default(),
        request_key: None,
        target: None,
    };
    let done = propose(proposal, Now { at: Timestamp(1_700_000_000_000 + number), tick: Tick(number) });
    Change::new(Arc::new(done.next), done.events, Tick(number)).unwrap().with_content(Some(Arc::new(content)))
}
