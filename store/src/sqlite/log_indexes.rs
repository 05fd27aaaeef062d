//! The indexes that follow the event log: what one batch of events changes in them, read by a reader and written by the
//! writer. [`super::finding_index`] and [`super::search`] query them.

use super::{Reader, search::scope, to_u64};
use crate::StoreError;
use domain::{
    consensus::Policy,
    event_kind::EventKind,
    finding::{Finding, FindingStatus, Severity},
    ids::ReviewNumber,
    review::Status,
    search::SearchKind,
    text::truncate,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use sqlx::Row as _;
use std::collections::{BTreeMap, BTreeSet};

/// Events of one batch. The writer does nothing else while it writes one.
const BATCH_EVENTS: i64 = 200;
/// Bytes of a text whose words are indexed.
const MAX_INDEXED_BYTES: usize = 64 << 10;

const SET_CURSOR: &str = "UPDATE log_index_cursor SET seq = ?1";
const UPSERT_FINDING: &str =
    "INSERT INTO finding_index (number, review, project, rank, is_issue, status, severity, blocks,
    review_open, kind, persona, reviewer, file) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (number) DO UPDATE SET rank = excluded.rank, status = excluded.status, severity = excluded.severity,
    blocks = excluded.blocks, review_open = excluded.review_open
    WHERE rank <> excluded.rank OR status <> excluded.status OR blocks <> excluded.blocks
       OR review_open <> excluded.review_open";
const FIND_TEXT: &str = "SELECT id FROM search_texts WHERE kind = ?1 AND review = ?2 AND reference = ?3";
const REMOVE_TEXT: &str = "DELETE FROM search_texts WHERE id = ?1";
const REMOVE_WORDS: &str = "DELETE FROM search_words WHERE rowid = ?1";
// Ids are never used twice, so that they are in the order of time.
const ADD_TEXT: &str = "INSERT INTO search_texts (id, kind, review, reference)
    VALUES ((SELECT coalesce(max(id), 0) + 1 FROM search_texts), ?1, ?2, ?3)";
const ADD_WORDS: &str = "INSERT INTO search_words (rowid, title, body, scope) VALUES (?1, ?2, ?3, ?4)";

/// The statements, to be prepared when the database is opened.
pub(super) const STATEMENTS: [&str; 7] =
    [SET_CURSOR, UPSERT_FINDING, FIND_TEXT, REMOVE_TEXT, REMOVE_WORDS, ADD_TEXT, ADD_WORDS];

/// What events change in the indexes.
#[derive(Debug, Clone, Default)]
pub struct IndexBatch {
    /// The last event of the batch.
    pub seq: u64,
    findings: Vec<IndexedFinding>,
    texts: Vec<IndexedText>,
}

#[derive(Debug, Clone)]
struct IndexedFinding {
    review: i64,
    project: String,
    is_review_open: bool,
    blocks: bool,
    finding: Finding,
}

#[derive(Debug, Clone)]
struct IndexedText {
    kind: SearchKind,
    review: i64,
    reference: i64,
    title: String,
    body: String,
    scope: String,
}

impl IndexedFinding {
    /// Open findings of open reviews first, then open ones, those that block, and the more severe ones.
    fn rank(&self) -> i64 {
        let is_open = self.finding.status == FindingStatus::Open;
        let severity = Severity::ALL.iter().position(|severity| *severity == self.finding.found.severity);
        let severity = i64::try_from(severity.unwrap_or_default()).unwrap_or_default();
        32 * i64::from(is_open && self.is_review_open) + 16 * i64::from(is_open) + 8 * i64::from(self.blocks) + severity
    }
}

struct ReviewFacts {
    project: Option<String>,
    is_open: bool,
    policy: Policy,
    intent: String,
    description: Option<String>,
}

/// What the events of a batch are about.
#[derive(Default)]
struct Touched {
    reviews: BTreeSet<i64>,
    /// Reviews with a new content.
    contents: BTreeMap<i64, u64>,
    /// Reviews whose findings or openness may have changed.
    findings: BTreeSet<i64>,
    messages: Vec<(i64, i64)>,
    verdicts: Vec<(i64, i64)>,
    /// The place of each version of a review in the log.
    places: BTreeMap<(i64, i64), u64>,
}

impl Touched {
    fn add(&mut self, seq: u64, (review, version): (i64, i64), kind: EventKind) {
        let is_message = kind == EventKind::MessageAdded;
        let is_verdict = kind == EventKind::VerdictGiven;
        let is_content = matches!(kind, EventKind::Proposed | EventKind::Revised);
        let may_change_findings = is_verdict
            || matches!(
                kind,
                EventKind::Revised | EventKind::FindingUpdated | EventKind::Cancelled | EventKind::Closed
            );
        if !is_message && !is_content && !may_change_findings {
            return;
        }
        if is_message {
            self.messages.push((review, version));
        }
        if is_verdict {
            self.verdicts.push((review, version));
        }
        if is_content {
            self.contents.insert(review, seq);
        }
        if may_change_findings {
            self.findings.insert(review);
        }
        self.places.insert((review, version), seq);
        self.reviews.insert(review);
    }
}

impl Reader {
    /// The last event that the indexes contain.
    pub async fn read_index_cursor(&self) -> Result<u64, StoreError> {
        to_u64(sqlx::query_scalar("SELECT seq FROM log_index_cursor").fetch_one(&self.pool).await?)
    }

    /// What the next events after `after` change in the indexes, up to the event `head` at most.
    pub async fn read_index_batch(&self, after: u64, head: u64) -> Result<IndexBatch, StoreError> {
        let signed = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let sql = "SELECT seq, review, version, kind FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?";
        let rows =
            sqlx::query(sql).bind(signed(after)).bind(signed(head)).bind(BATCH_EVENTS).fetch_all(&self.pool).await?;
        let (mut touched, mut seq) = (Touched::default(), after);
        for row in &rows {
            seq = to_u64(row.try_get("seq")?)?;
            if let (Some(review), Some(version)) = (row.try_get("review")?, row.try_get("version")?)
                && let Some(kind) = EventKind::parse(row.try_get("kind")?)
            {
                touched.add(seq, (review, version), kind);
            }
        }
        let facts = self.read_facts(&touched).await?;
        let findings = self.read_changed_findings(&touched, &facts).await?;
        let mut texts = Vec::new();
        for (number, seq) in &touched.contents {
            if let Some(facts) = facts.get(number) {
                let (title, body) =
                    (format!("{} {}", ReviewNumber(*number), facts.intent), facts.description.as_deref());
                texts.push((*seq, text(facts, SearchKind::Review, (*number, 0), title, body.unwrap_or_default())));
            }
        }
        let given: BTreeSet<_> = touched.verdicts.iter().copied().collect();
        let place = |key: (i64, i64)| touched.places.get(&key).copied().unwrap_or_default();
        for IndexedFinding { review, finding, .. } in &findings {
            let verdict = (*review, i64::try_from(finding.verdict_id).unwrap_or_default());
            if let Some(facts) = facts.get(review).filter(|_| given.contains(&verdict)) {
                let found = &finding.found;
                let body = [&found.description, &found.suggestion, &found.code_snippet, &found.rule_ref];
                let body = body.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n");
                let title = format!("{} {}", finding.number, found.title);
                let found = text(facts, SearchKind::Finding, (*review, finding.number.0), title, &body);
                texts.push((place(verdict), found));
            }
        }
        let messages = "SELECT m.review, m.id, m.body AS text FROM json_each(?) j
            JOIN messages m ON m.review = j.value ->> 0 AND m.id = j.value ->> 1";
        let verdicts = "SELECT v.review, v.id, coalesce(v.reason, '') || char(10) || coalesce(v.summary, '') AS text
            FROM json_each(?) j JOIN verdicts v ON v.review = j.value ->> 0 AND v.id = j.value ->> 1";
        for (kind, sql, keys) in
            [(SearchKind::Message, messages, &touched.messages), (SearchKind::Verdict, verdicts, &touched.verdicts)]
        {
            if keys.is_empty() {
                continue;
            }
            for row in sqlx::query(sql).bind(serde_json::to_string(keys)?).fetch_all(&self.pool).await? {
                let key: (i64, i64) = (row.try_get("review")?, row.try_get("id")?);
                let body: &str = row.try_get("text")?;
                if let Some(facts) = facts.get(&key.0).filter(|_| !body.trim().is_empty()) {
                    texts.push((place(key), text(facts, kind, key, String::new(), body)));
                }
            }
        }
        // Ids are in the order of time.
        texts.sort_by_key(|(seq, _)| *seq);
        let texts = texts.into_iter().map(|(_, text)| text).collect();
        // Without a row up to `head` there is nothing left of it.
        let is_rest = (rows.len() as i64) < BATCH_EVENTS;
        Ok(IndexBatch { seq: if is_rest { head.max(after) } else { seq }, findings, texts })
    }

    async fn read_facts(&self, touched: &Touched) -> Result<BTreeMap<i64, ReviewFacts>, StoreError> {
        if touched.reviews.is_empty() {
            return Ok(BTreeMap::new());
        }
        let sql = "SELECT r.number, r.project, r.status, r.body ->> '$.policy' AS policy, c.intent, c.description
            FROM json_each(?) j JOIN reviews r ON r.number = j.value JOIN contents c ON c.hash = r.content_hash";
        let numbers = serde_json::to_string(&touched.reviews)?;
        let rows = sqlx::query(sql).bind(numbers).fetch_all(&self.pool).await?;
        let facts = rows.iter().map(|row| {
            let status = super::parse_word(row.try_get("status")?, Status::parse)?;
            let facts = ReviewFacts {
                project: row.try_get("project")?,
                is_open: !matches!(status, Status::Cancelled | Status::Closed),
                policy: serde_json::from_str(row.try_get("policy")?)?,
                intent: row.try_get("intent")?,
                description: row.try_get("description")?,
            };
            Ok((row.try_get("number")?, facts))
        });
        facts.collect()
    }

    async fn read_changed_findings(
        &self,
        touched: &Touched,
        facts: &BTreeMap<i64, ReviewFacts>,
    ) -> Result<Vec<IndexedFinding>, StoreError> {
        if touched.findings.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT f.review, f.body FROM json_each(?) j JOIN findings f ON f.review = j.value ORDER BY f.number";
        let numbers = serde_json::to_string(&touched.findings)?;
        let mut findings = Vec::new();
        for row in sqlx::query(sql).bind(numbers).fetch_all(&self.pool).await? {
            let (review, finding): (i64, Finding) =
                (row.try_get("review")?, serde_json::from_str(row.try_get("body")?)?);
            if let Some(facts) = facts.get(&review) {
                findings.push(IndexedFinding {
                    review,
                    project: facts.project.clone().unwrap_or_default(),
                    is_review_open: facts.is_open,
                    blocks: facts.is_open && finding.blocks(&facts.policy),
                    finding,
                });
            }
        }
        Ok(findings)
    }
}

fn text(facts: &ReviewFacts, kind: SearchKind, key: (i64, i64), title: String, body: &str) -> IndexedText {
    let (review, reference) = key;
    let scope = [scope::kind(kind), scope::review(ReviewNumber(review)), scope::project(facts.project.as_deref())];
    let body = truncate(body, MAX_INDEXED_BYTES).to_owned();
    IndexedText { kind, review, reference, title, body, scope: scope.join(" ") }
}

/// Writes a batch. Returns the number of rows that were written.
pub(super) fn write(connection: &Connection, batch: &IndexBatch) -> Result<u64, StoreError> {
    let mut upsert = connection.prepare_cached(UPSERT_FINDING)?;
    for indexed in &batch.findings {
        let IndexedFinding { review, project, is_review_open, blocks, finding } = indexed;
        upsert.execute(params![
            finding.number.0,
            review,
            project,
            indexed.rank(),
            finding.found.is_issue,
            finding.status.as_str(),
            finding.found.severity.as_str(),
            blocks,
            is_review_open,
            finding.found.kind.as_str(),
            finding.persona,
            finding.by,
            finding.found.location.as_ref().and_then(|location| location.file()),
        ])?;
    }
    for IndexedText { kind, review, reference, title, body, scope } in &batch.texts {
        let key = params![kind.as_str(), review, reference];
        let known: Option<i64> = connection.prepare_cached(FIND_TEXT)?.query_row(key, |row| row.get(0)).optional()?;
        if let Some(id) = known {
            connection.prepare_cached(REMOVE_WORDS)?.execute([id])?;
            connection.prepare_cached(REMOVE_TEXT)?.execute([id])?;
        }
        connection.prepare_cached(ADD_TEXT)?.execute(key)?;
        let id = connection.last_insert_rowid();
        connection.prepare_cached(ADD_WORDS)?.execute(params![id, title, body, scope])?;
    }
    connection.prepare_cached(SET_CURSOR)?.execute([i64::try_from(batch.seq).unwrap_or(i64::MAX)])?;
    Ok((batch.findings.len() + batch.texts.len()) as u64)
}

#[cfg(test)]
#[path = "log_indexes_tests.rs"]
pub(crate) mod tests;
