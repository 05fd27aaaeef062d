//! Full-text search: finds texts by the words of the index that follows the log, and reads them where they stand.
//!
//! Texts with all words in the title come first, then the others, the newest first in each. So a page costs the same
//! however many texts match: nothing has to be sorted.

use super::{Reader, parse_word, to_id, to_u32, to_u64};
use crate::{
    StoreError,
    query_types::{FoundText, Page, TextQuery},
};
use domain::{finding::Finding, ids::ReviewNumber, review::Status, search::SearchKind, time::Timestamp};
use sqlx::Row as _;

/// Most findings that a search limits a list of findings to: the newest.
pub const MAX_SEARCHED_FINDINGS: usize = 1_000;

/// The words that stand for the kind, the project and the review of a text. A text of a user cannot contain them as words
/// of its own, because they stand in a column of their own.
pub(super) mod scope {
    use domain::{ids::ReviewNumber, search::SearchKind};

    pub(in crate::sqlite) fn kind(kind: SearchKind) -> String {
        format!("k{kind}")
    }

    pub(in crate::sqlite) fn review(number: ReviewNumber) -> String {
        format!("r{}", number.0)
    }

    /// A word of letters and digits for any name.
    pub(in crate::sqlite) fn project(name: Option<&str>) -> String {
        match name {
            None => "pnone".to_owned(),
            Some(name) => name.bytes().fold("p".to_owned(), |word, byte| format!("{word}{byte:02x}")),
        }
    }
}

/// A place in the order of the results: first the titles, then the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    in_title: bool,
    before: i64,
}

impl Place {
    fn parse(cursor: &str) -> Option<Self> {
        let (tier, before) = cursor.split_once('-')?;
        let in_title = match tier {
            "title" => true,
            "text" => false,
            _ => return None,
        };
        Some(Self { in_title, before: before.parse().ok()? })
    }
}

impl Reader {
    /// One page of the texts that match. `None`: the cursor is not one of a search.
    pub async fn search_texts(
        &self,
        query: &TextQuery,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<Option<Page<FoundText>>, StoreError> {
        let start = Place { in_title: true, before: i64::MAX };
        let Some(mut place) = cursor.map_or(Some(start), Place::parse) else { return Ok(None) };
        let one_more = i64::from(limit) + 1;
        let mut found = Vec::new();
        loop {
            let wanted = one_more - i64::try_from(found.len()).unwrap_or_default();
            let ids = self.match_words(&expression(query, Some(place.in_title)), place.before, wanted).await?;
            found.extend(ids.into_iter().map(|id| (place.in_title, id)));
            if !place.in_title || found.len() >= one_more as usize {
                break;
            }
            place = Place { in_title: false, before: i64::MAX };
        }
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let next_cursor = found.last().filter(|_| more).map(|(in_title, id)| {
            let tier = if *in_title { "title" } else { "text" };
            format!("{tier}-{id}")
        });
        let mut items = Vec::with_capacity(found.len());
        for (_, id) in found {
            items.extend(self.read_text(id).await?);
        }
        Ok(Some(Page { items, next_cursor }))
    }

    /// The numbers of the newest findings that match, at most [`MAX_SEARCHED_FINDINGS`].
    pub async fn search_findings(&self, query: &TextQuery) -> Result<Vec<i64>, StoreError> {
        let query = TextQuery { kinds: vec![SearchKind::Finding], ..query.clone() };
        let numbers = sqlx::query_scalar(
            "SELECT t.reference FROM (SELECT rowid AS id FROM search_words WHERE search_words MATCH ?
                                      ORDER BY rowid DESC LIMIT ?) m JOIN search_texts t ON t.id = m.id",
        );
        Ok(numbers.bind(expression(&query, None)).bind(MAX_SEARCHED_FINDINGS as i64).fetch_all(&self.pool).await?)
    }

    async fn match_words(&self, expression: &str, before: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT rowid FROM search_words WHERE search_words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?";
        Ok(sqlx::query_scalar(sql).bind(expression).bind(before).bind(limit).fetch_all(&self.pool).await?)
    }

    /// `None` if it was changed meanwhile.
    async fn read_text(&self, id: i64) -> Result<Option<FoundText>, StoreError> {
        let row = sqlx::query(
            "SELECT t.kind, t.reference, r.id, r.number, r.status, r.intent, r.created_at_ms, r.proposer, r.round, r.content_hash
             FROM search_texts t JOIN reviews r ON r.number = t.review WHERE t.id = ?",
        );
        let Some(row) = row.bind(id).fetch_optional(&self.pool).await? else { return Ok(None) };
        let (number, reference): (i64, i64) = (row.try_get("number")?, row.try_get("reference")?);
        let kind = parse_word(row.try_get("kind")?, SearchKind::parse)?;
        let mut found = FoundText {
            kind,
            review: to_id(row.try_get("id")?)?,
            number: ReviewNumber(number),
            status: parse_word(row.try_get("status")?, Status::parse)?,
            intent: row.try_get("intent")?,
            reference: to_u64(reference)?,
            title: None,
            body: String::new(),
            by: None,
            persona: None,
            round: None,
            at: Timestamp(row.try_get("created_at_ms")?),
        };
        match kind {
            SearchKind::Review => {
                let sql = "SELECT description FROM contents WHERE hash = ?";
                let hash: &str = row.try_get("content_hash")?;
                let description: Option<Option<String>> =
                    sqlx::query_scalar(sql).bind(hash).fetch_optional(&self.pool).await?;
                found.title = Some(found.intent.clone());
                found.body = description.flatten().unwrap_or_default();
                found.by = Some(row.try_get("proposer")?);
                found.round = Some(to_u32(row.try_get("round")?)?);
            }
            SearchKind::Message | SearchKind::Verdict => {
                let sql = if kind == SearchKind::Message {
                    "SELECT body AS text, coalesce(sender, role) AS by, persona, round, at_ms FROM messages
                     WHERE review = ? AND id = ?"
                } else {
                    "SELECT coalesce(reason, '') || char(10) || coalesce(summary, '') AS text, reviewer AS by, persona,
                            round, at_ms FROM verdicts WHERE review = ? AND id = ?"
                };
                let row = sqlx::query(sql).bind(number).bind(reference).fetch_optional(&self.pool).await?;
                let Some(row) = row else { return Ok(None) };
                found.body = row.try_get("text")?;
                found.by = row.try_get("by")?;
                found.persona = row.try_get("persona")?;
                found.round = Some(to_u32(row.try_get("round")?)?);
                found.at = Timestamp(row.try_get("at_ms")?);
            }
            SearchKind::Finding => {
                let sql = "SELECT body FROM findings WHERE number = ?";
                let body: Option<String> = sqlx::query_scalar(sql).bind(reference).fetch_optional(&self.pool).await?;
                let Some(body) = body else { return Ok(None) };
                let finding: Finding = serde_json::from_str(&body)?;
                let texts = [finding.found.description, finding.found.suggestion, finding.found.code_snippet];
                found.body = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
                found.title = Some(finding.found.title);
                found.by = Some(finding.by);
                found.persona = Some(finding.persona);
                found.round = Some(finding.round);
                found.at = finding.at;
            }
        }
        Ok(Some(found))
    }
}

/// The query in the language of FTS5. Words are quoted, so none of them is read as an operator. `in_title`: whether the
/// words stand in the title; `None`: anywhere.
fn expression(query: &TextQuery, in_title: Option<bool>) -> String {
    let phrases = query.words.phrases();
    let phrase = |(index, words): (usize, &Vec<String>)| {
        // The last word may be the beginning of one.
        let end = if index + 1 == phrases.len() { "*" } else { "" };
        format!("\"{}\"{end}", words.join(" "))
    };
    let words = phrases.iter().enumerate().map(phrase).collect::<Vec<_>>().join(" AND ");
    let mut parts = vec![match in_title {
        Some(true) => format!("(title : ({words}))"),
        Some(false) | None => format!("({{title body}} : ({words}))"),
    }];
    let mut scopes: Vec<_> = query.project.iter().map(|project| scope::project(project.as_deref())).collect();
    scopes.extend(query.review.map(scope::review));
    parts.extend(scopes.iter().map(|word| format!("(scope : \"{word}\")")));
    if !query.kinds.is_empty() {
        let kinds: Vec<_> = query.kinds.iter().map(|kind| format!("\"{}\"", scope::kind(*kind))).collect();
        parts.push(format!("(scope : ({}))", kinds.join(" OR ")));
    }
    let all = parts.join(" AND ");
    if in_title == Some(false) { format!("({all}) NOT (title : ({words}))") } else { all }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
