//! A broker whose personas are one-shot reviewers, each a shell script.

use super::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    pool::{living_in, pool_of},
    wait_until::wait_until,
};
use domain::{
    ids::ReviewNumber,
    query_types::Iteration,
    review::{ClaimEndReason, Event, Review, ReviewVersion},
    reviewer_pool::PoolEvent,
    reviewer_pool::scaling::SpawnReason,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use store::{LogEntry, Reader};
use tempfile::TempDir;

/// A valid response.
pub(crate) const APPROVED: &str = r#"{"verdict":"approved","summary":"all is well"}"#;

/// Always responds with this text.
pub(crate) fn says(answer: &str) -> String {
    format!("cat >/dev/null; echo '{answer}'")
}

/// A persona and the script that reviews its seats. `more` are settings of the persona.
pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    pub(crate) script: String,
    pub(crate) more: &'static str,
}

impl Scripted {
    pub(crate) fn new(name: &'static str, script: impl Into<String>) -> Self {
        Self { name, script: script.into(), more: "" }
    }

    pub(crate) fn with(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    /// The script is in a file, since settings cannot contain newlines.
    fn settings(&self, home: &Path) -> String {
        let file = home.join(format!("{}.sh", self.name));
        fs::write(&file, &self.script).unwrap();
        format!("runtime = \"command\"\ncommand = {}\n{}", json!(["sh", file]), self.more)
    }
}

/// Writes the files of a one-shot persona into the user's settings.
pub(crate) fn write_persona(home: &Path, name: &str, settings: &str) {
    write_persona_of_mode(home, name, "one_shot", settings);
}

/// Writes the files of a persona into the user's settings.
pub(crate) fn write_persona_of_mode(home: &Path, name: &str, mode: &str, settings: &str) {
    let folder = home.join(".config/countersign/personas");
    fs::create_dir_all(&folder).unwrap();
    let head = format!("focus = \"what {name} means\"\nprompt = \"{name}.md\"\nmode = \"{mode}\"\n");
    fs::write(folder.join(format!("{name}.toml")), head + settings).unwrap();
    fs::write(folder.join(format!("{name}.md")), format!("You are the {name} reviewer.\n")).unwrap();
}

pub(crate) struct OneShots {
    pub(crate) broker: TestBroker,
}

impl OneShots {
    /// The pool must not start an agent: one that starts fails the test.
    pub(crate) async fn start(personas: &[Scripted], more: &str) -> Self {
        Self::start_with(personas, &pool_of("exit 3", more)).await
    }

    pub(crate) async fn start_with(personas: &[Scripted], settings: &str) -> Self {
        let home = TempDir::new().unwrap();
        for persona in personas {
            write_persona(home.path(), persona.name, &persona.settings(home.path()));
        }
        Self { broker: TestBroker::in_home(home, settings).await }
    }

    pub(crate) fn client(&self) -> TestClient {
        self.broker.client()
    }

    /// The home folder of the scripts.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.broker.home().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    pub(crate) async fn until_file(&self, name: &str) {
        wait_until(name, async || self.file(name).exists().then_some(())).await;
    }

    /// Proposes a change of the repository to these personas.
    pub(crate) async fn propose(&self, personas: &[&str]) -> String {
        static WORDS: AtomicUsize = AtomicUsize::new(0);
        let intent = format!("count in another language, {}", WORDS.fetch_add(1, Relaxed));
        let diff = self.broker.repo().diff("zwei");
        let more = json!({ "diff": diff, "personas": personas, "description": "two is zwei" });
        id(&self.client().call("create_review", proposal_with(&intent, more)).await)
    }

    pub(crate) async fn status_becomes(&self, review: &str, wanted: &str) -> Value {
        let fits = async || Some(self.client().status(review).await).filter(|status| status["status"] == wanted);
        let becoming = wait_until(wanted, fits);
        tokio::select! {
            status = becoming => status,
            pool = self.broker.until_pool("crash loop", |pool| pool["state"] == "crash_loop") => panic!("{pool:#}"),
        }
    }

    /// No reviewer runs, no process is left, and no agent was ever started: the pool.
    pub(crate) async fn nothing_is_left(&self) -> Value {
        let pool = self.broker.until_pool("all have ended", |pool| pool["reviewers"] == json!([])).await;
        let work = self.broker.work_dir().join("work");
        let left = async || fs::read_dir(&work).map_or(true, |mut work| work.next().is_none()).then_some(());
        wait_until("no copy is left", left).await;
        wait_until("no process is left", async || living_in(self.broker.home()).is_empty().then_some(())).await;
        pool
    }

    /// Stops the broker and checks its database.
    pub(crate) async fn records(mut self) -> Records {
        self.nothing_is_left().await;
        assert!(self.broker.terminate().await.success());
        let data_dir = self.broker.data_dir();
        super::broker::check_database(&data_dir).await;
        let store = store::open(&data_dir.join("countersign.db"), store::Settings::default()).await.unwrap();
        let records = Records { reader: store.reader, _broker: self.broker };
        for spawned in records.pool_events().await {
            if let PoolEvent::ReviewerSpawned { why, .. } = spawned {
                assert_eq!(why, SpawnReason::OneShot, "an agent was started");
            }
        }
        records
    }
}

/// The content of the database at the end.
pub(crate) struct Records {
    pub(crate) reader: Reader,
    _broker: TestBroker,
}

impl Records {
    pub(crate) async fn pool_events(&self) -> Vec<PoolEvent> {
        let log = self.reader.list_events(0, None, 10_000).await.unwrap();
        let events = log.into_iter().filter_map(|logged| match logged.entry {
            LogEntry::Pool(event) => Some(event),
            LogEntry::Review { .. } => None,
        });
        events.collect()
    }

    /// Persona, reason and detail of each claim that ended without a vote.
    pub(crate) async fn claim_ends(&self, number: i64) -> Vec<(String, ClaimEndReason, String)> {
        let events = super::reviews::review_log(&self.reader, ReviewNumber(number)).await;
        let ends = events.into_iter().filter_map(|recorded| {
            let Event::ClaimEnded { persona, reason, detail, .. } = recorded.event else { return None };
            Some((persona, reason, detail.unwrap_or_default()))
        });
        ends.collect()
    }

    pub(crate) async fn review(&self, number: i64) -> Review {
        let id = self.reader.find_id_by_number(ReviewNumber(number)).await.unwrap().unwrap();
        self.reader.find_review(id).await.unwrap().unwrap()
    }

    pub(crate) async fn verdicts(&self, number: i64, round: u32) -> Vec<Iteration> {
        let all = ReviewVersion { number: ReviewNumber(number), version: u64::MAX };
        self.reader.list_verdicts(all, round, 100).await.unwrap()
    }

    /// How many reviewers were asked again.
    pub(crate) async fn retries(&self) -> usize {
        let retried = |event: &PoolEvent| matches!(event, PoolEvent::ReviewerRetried { .. });
        self.pool_events().await.iter().filter(|event| retried(event)).count()
    }
}
