//! Queries for the gate: which reviews approved a change. A broker and a gate without a broker run the same ones.

use super::{parse_all, reader::Reader};
use crate::StoreError;
use domain::{
    approvals::{ApprovalFilter, ApprovalVote, ContentTexts, ReviewFiles, ReviewedContent},
    ids::ReviewNumber,
    review::Review,
    time::Timestamp,
    verdict::Verdict,
    vote_signature::VoteSignature,
};
use serde::Deserialize;
use sqlx::SqliteConnection;

/// Most reviews found for one patch-id or tree. More than one is rare.
const MAX_APPROVED: i64 = 50;
/// Most reviews that wait to land.
const MAX_OPEN: i64 = 1000;

impl Reader {
    /// Like [`ReadOnlyStore::list_approvals`](crate::read_only_database::ReadOnlyStore::list_approvals).
    pub async fn list_approvals(&self, filter: &ApprovalFilter, limit: i64) -> Result<Vec<ReviewFiles>, StoreError> {
        list(&mut *self.pool.acquire().await?, filter, limit).await
    }

    /// Like [`ReadOnlyStore::find_reviewed_content`](crate::read_only_database::ReadOnlyStore::find_reviewed_content).
    pub async fn find_reviewed_content(&self, number: ReviewNumber) -> Result<Option<ReviewedContent>, StoreError> {
        find(&mut *self.pool.acquire().await?, number).await
    }
}

/// Reviews with a diff, approved or not, newest first. Those that wait to land come in the order in which they should.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    filter: &ApprovalFilter,
    limit: i64,
) -> Result<Vec<ReviewFiles>, StoreError> {
    let ApprovalFilter { project, patch_id, tree_id, content_hash, open, before } = filter;
    let numbers = match (content_hash, open) {
        (Some(hash), _) => list_of_content(connection, hash).await?,
        (None, true) => list_open(connection, project.as_deref()).await?,
        (None, false) if patch_id.is_some() || tree_id.is_some() => {
            list_approved(connection, patch_id.as_deref(), tree_id.as_deref()).await?
        }
        (None, false) => list_newest(connection, *before, project.as_deref(), limit).await?,
    };
    let numbers: Vec<i64> = numbers.into_iter().map(|number| number.0).collect();
    let wanted = serde_json::to_string(&numbers)?;
    let rows = sqlx::query_scalar!(
        r#"SELECT json_object('number', 'R-' || r.number, 'approved', json(iif(r.approved_hash IS NULL, 'false', 'true')),
                              'base', r.base_commit, 'files', json(c.files)) AS "json!: String"
           FROM json_each(?1) w JOIN reviews r ON r.number = w.value JOIN contents c ON c.hash = r.content_hash
           WHERE r.diff_check IS NOT NULL AND (?2 IS NULL OR r.project = ?2) ORDER BY w.key"#,
        wanted,
        project
    )
    .fetch_all(connection)
    .await?;
    parse_all(&rows)
}

/// Approved reviews of a diff with this patch-id, or of one that led to this tree; newest first.
async fn list_approved(
    connection: &mut SqliteConnection,
    patch_id: Option<&str>,
    tree: Option<&str>,
) -> Result<Vec<ReviewNumber>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT number AS "number!" FROM reviews WHERE approved_hash IS NOT NULL AND patch_id = ?1
           UNION SELECT number FROM reviews WHERE approved_hash IS NOT NULL AND tree_id = ?2
           ORDER BY 1 DESC LIMIT ?3"#,
        patch_id,
        tree,
        MAX_APPROVED
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
}

/// Approved reviews that are not closed: by priority, and the longest approved first.
async fn list_open(connection: &mut SqliteConnection, project: Option<&str>) -> Result<Vec<ReviewNumber>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT number AS "number!" FROM reviews WHERE status = 'approved' AND (?1 IS NULL OR project = ?1)
           ORDER BY priority, decided_at_ms, number LIMIT ?2"#,
        project,
        MAX_OPEN
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
}

/// Reviews that had this content in any round.
async fn list_of_content(connection: &mut SqliteConnection, hash: &str) -> Result<Vec<ReviewNumber>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT DISTINCT review AS "number!" FROM rounds WHERE content_hash = ?1 OR submitted_hash = ?1
           ORDER BY review DESC LIMIT ?2"#,
        hash,
        MAX_APPROVED
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
}

async fn list_newest(
    connection: &mut SqliteConnection,
    before: Option<ReviewNumber>,
    project: Option<&str>,
    limit: i64,
) -> Result<Vec<ReviewNumber>, StoreError> {
    let before = before.map_or(i64::MAX, |number| number.0);
    let rows = sqlx::query!(
        r#"SELECT number AS "number!" FROM reviews WHERE number < ?1 AND diff_check IS NOT NULL
               AND (?2 IS NULL OR project = ?2) ORDER BY number DESC LIMIT ?3"#,
        before,
        project,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
}

/// A review with its active content.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    number: ReviewNumber,
) -> Result<Option<ReviewedContent>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT r.body, c.description, c.diff, c.files,
                  (SELECT count(*) FROM seats s WHERE s.review = r.number) AS "seats!: i64",
                  EXISTS (SELECT 1 FROM events e WHERE e.review = r.number AND e.status = 'approved')
                      AS "ever_approved!: bool"
           FROM reviews r JOIN contents c ON c.hash = r.content_hash WHERE r.number = ?"#,
        number.0
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let review: Review = serde_json::from_str(&row.body)?;
    let votes = list_votes(connection, number, &review.round.content_hash.0).await?;
    let seats = usize::try_from(row.seats).unwrap_or_default();
    let texts = ContentTexts { description: row.description, diff: row.diff, files: serde_json::from_str(&row.files)? };
    Ok(Some(ReviewedContent::new(review, texts, row.ever_approved, seats, votes)))
}

#[derive(Deserialize)]
struct VoteRow {
    persona: String,
    reviewer: String,
    verdict: Verdict,
    at: Timestamp,
    signature: Option<VoteSignature>,
}

async fn list_votes(
    connection: &mut SqliteConnection,
    number: ReviewNumber,
    hash: &str,
) -> Result<Vec<ApprovalVote>, StoreError> {
    let rows = sqlx::query_scalar!(
        r#"SELECT json_object('persona', s.persona, 'reviewer', v.reviewer, 'verdict', v.verdict, 'at', v.at_ms,
                             'signature', json(v.signature))
                  AS "json!: String"
         FROM seats s JOIN verdicts v
              ON v.review = s.review AND v.content_hash = ?2 AND v.verdict = s.vote
                 AND v.id = (SELECT max(l.id) FROM verdicts l WHERE l.review = s.review AND l.persona = s.persona
                             AND l.verdict <> 'comment')
         WHERE s.review = ?1 ORDER BY s.position"#,
        number.0,
        hash
    )
    .fetch_all(connection)
    .await?;
    let rows: Vec<VoteRow> = parse_all(&rows)?;
    let vote = |VoteRow { persona, reviewer, verdict, at, signature }| ApprovalVote {
        persona,
        reviewer,
        verdict,
        at: at.into(),
        signature,
    };
    Ok(rows.into_iter().map(vote).collect())
}
