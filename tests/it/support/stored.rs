//! Databases that are filled without a broker, quicker than any client could.

use domain::{
    consensus::Policy,
    content::Content,
    ids::{DEFAULT_PERSONA, ReviewId, ReviewNumber},
    review::{Command, Proposal, Proposer, Rules, propose, transition},
    time::{Now, Tick, Timestamp},
};
use std::{path::Path, sync::Arc, time::Duration};
use store::{Change, Writer};
use tokio::sync::oneshot;

const RULES: Rules = Rules { lease: Duration::from_secs(1200) };

/// Fills the folder `data` in `home` through the store's own writer: pending reviews, or cancelled ones.
pub(crate) async fn fill(home: &Path, reviews: usize, open: bool) {
    let data = home.join("data");
    std::fs::create_dir(&data).unwrap();
    let settings = store::Settings { max_queue: 300_000, ..store::Settings::default() };
    let store = store::open(&data.join("countersign.db"), settings).await.unwrap();
    let mut last = None;
    for number in 1..=i64::try_from(reviews).unwrap() {
        let first = submission(number, "a stored change");
        let (done, saved) = oneshot::channel();
        store.writer.commit(first.clone(), done);
        last = Some(if open { saved } else { cancel(&store.writer, &first, number) });
    }
    if let Some(last) = last {
        last.await.unwrap().unwrap();
    }
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

fn cancel(
    writer: &Writer,
    first: &Change,
    number: i64,
) -> oneshot::Receiver<Result<store::Committed, store::StoreError>> {
    let now = Now { at: Timestamp(1_700_000_100_000 + number), tick: Tick(number) };
    let cancel = Command::Cancel { by: None, reason: "no longer needed".into() };
    let ended = transition(first.review(), cancel, now, &RULES).unwrap();
    let (done, saved) = oneshot::channel();
    writer.commit(Change::new(Arc::new(ended.next), ended.events, now.tick).unwrap(), done);
    saved
}

/// A proposal without a diff, as the store is given it.
pub(crate) fn submission(number: i64, intent: &str) -> Change {
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
        personas: vec![DEFAULT_PERSONA.into()],
        policy: Policy::default(),
        request_key: None,
    };
    let done = propose(proposal, Now { at: Timestamp(1_700_000_000_000 + number), tick: Tick(number) });
    Change::new(Arc::new(done.next), done.events, Tick(number)).unwrap().with_content(Some(Arc::new(content)))
}
