//! Reviews that may have approved a given patch or tree.

use super::ReadOnlyStore;
use crate::{
    StoreError,
    rows::ReviewMatch,
    sqlite::{parse_word, to_id, to_u32, to_u64},
};
use domain::{
    diff::AffectedFile,
    ids::{ReviewId, ReviewNumber},
    review::{ReviewTarget, Status},
    time::Timestamp,
};

/// Most reviews found for one patch-id or tree. More than one is rare.
const MAX_APPROVED: i64 = 50;

/// A review with its active content, and whether that content is approved.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewedContent {
    pub number: ReviewNumber,
    pub id: ReviewId,
    pub version: u64,
    pub status: Status,
    pub round: u32,
    pub intent: String,
    pub project: Option<String>,
    pub phase: String,
    pub plan: Option<String>,
    pub task: Option<String>,
    pub content_hash: String,
    pub patch_id: Option<String>,
    pub tree_id: Option<String>,
    /// With a diff, `None` means the empty tree.
    pub base: Option<String>,
    pub diff: Option<String>,
    pub files: Vec<AffectedFile>,
    pub target: Option<ReviewTarget>,
    /// The active content is approved.
    pub approved: bool,
    /// An earlier content was approved.
    pub approved_before: bool,
    pub reason: Option<String>,
    /// The reviewers whose last vote approved this content.
    pub approvers: Vec<Approver>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    pub reviewer: String,
    pub persona: String,
    pub at: Timestamp,
}

/// The content that one round was submitted with.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmittedRound {
    pub content_hash: String,
    pub base: Option<String>,
    pub diff: Option<String>,
    pub target: Option<ReviewTarget>,
}

/// The files that a review changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewFiles {
    pub number: ReviewNumber,
    pub approved: bool,
    pub base: Option<String>,
    pub files: Vec<AffectedFile>,
}

impl ReadOnlyStore {
    /// Approved reviews of a diff with this patch-id, or of one that led to this tree; newest first.
    pub async fn list_approved(&mut self, patch_id: Option<&str>, tree: &str) -> Result<Vec<ReviewNumber>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT number AS "number!" FROM reviews WHERE approved_hash IS NOT NULL AND patch_id = ?1
               UNION SELECT number FROM reviews WHERE approved_hash IS NOT NULL AND tree_id = ?2
               ORDER BY 1 DESC LIMIT ?3"#,
            patch_id,
            tree,
            MAX_APPROVED
        )
        .fetch_all(&mut self.0)
        .await?;
        Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
    }

    /// The files of the newest reviews with a diff, approved or not.
    pub async fn list_review_files(&mut self, limit: i64) -> Result<Vec<ReviewFiles>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT r.number, r.approved_hash IS NOT NULL AS "approved!: bool", r.base_commit, c.files
               FROM reviews r JOIN contents c ON c.hash = r.content_hash
               WHERE r.diff_check IS NOT NULL ORDER BY r.number DESC LIMIT ?"#,
            limit
        )
        .fetch_all(&mut self.0)
        .await?;
        let files = rows.into_iter().map(|row| {
            Ok(ReviewFiles {
                number: ReviewNumber(row.number),
                approved: row.approved,
                base: row.base_commit,
                files: serde_json::from_str(&row.files)?,
            })
        });
        files.collect()
    }

    /// Reviews of the same plan as `review`, in the order in which they were proposed.
    pub async fn list_plan(&mut self, review: &ReviewedContent) -> Result<Vec<ReviewNumber>, StoreError> {
        let rows = sqlx::query!(
            "SELECT number FROM reviews WHERE phase = ?1 AND plan = ?2 AND project IS ?3 ORDER BY number",
            review.phase,
            review.plan,
            review.project
        )
        .fetch_all(&mut self.0)
        .await?;
        Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
    }

    /// The submitted contents, the latest round first.
    pub async fn list_submitted_rounds(&mut self, number: ReviewNumber) -> Result<Vec<SubmittedRound>, StoreError> {
        let rows = sqlx::query!(
            "SELECT c.hash, c.base_commit, c.diff, r.target FROM rounds r
             JOIN contents c ON c.hash = coalesce(r.submitted_hash, r.content_hash)
             WHERE r.review = ? ORDER BY r.round DESC",
            number.0
        )
        .fetch_all(&mut self.0)
        .await?;
        let submitted = rows.into_iter().map(|row| {
            let target = row.target.as_deref().map(serde_json::from_str).transpose()?;
            Ok(SubmittedRound { content_hash: row.hash, base: row.base_commit, diff: row.diff, target })
        });
        submitted.collect()
    }

    /// Whether a content with this hash was ever proposed.
    pub async fn has_content(&mut self, hash: &str) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT hash FROM contents WHERE hash = ?", hash).fetch_optional(&mut self.0).await?;
        Ok(row.is_some())
    }

    /// The counter-patch that the proposer accepted last.
    pub async fn find_accepted_patch(&mut self, number: ReviewNumber) -> Result<Option<String>, StoreError> {
        let row = sqlx::query!(
            "SELECT diff FROM counter_patches WHERE review = ? AND status = 'accepted' ORDER BY id DESC LIMIT 1",
            number.0
        )
        .fetch_optional(&mut self.0)
        .await?;
        Ok(row.map(|row| row.diff))
    }

    /// Finds a review by `R-12`, `12`, its id, or the start of its id.
    pub async fn find_by_name(&mut self, name: &str) -> Result<ReviewMatch, StoreError> {
        let bare = name.strip_prefix("R-").or_else(|| name.strip_prefix("r-")).unwrap_or(name);
        if let Ok(number) = bare.parse::<i64>() {
            let row =
                sqlx::query!("SELECT id FROM reviews WHERE number = ?", number).fetch_optional(&mut self.0).await?;
            if let Some(row) = row {
                return Ok(ReviewMatch::One(to_id(&row.id)?));
            }
        }
        let (start, end) = (name.to_lowercase(), format!("{}~", name.to_lowercase()));
        let rows = sqlx::query!("SELECT id FROM reviews WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", start, end)
            .fetch_all(&mut self.0)
            .await?;
        let ids = rows.iter().map(|row| to_id(&row.id)).collect::<Result<Vec<_>, _>>()?;
        Ok(ReviewMatch::from_ids(ids))
    }

    pub async fn find_number(&mut self, id: ReviewId) -> Result<Option<ReviewNumber>, StoreError> {
        let id = id.to_string();
        let row = sqlx::query!("SELECT number FROM reviews WHERE id = ?", id).fetch_optional(&mut self.0).await?;
        Ok(row.map(|row| ReviewNumber(row.number)))
    }

    pub async fn find_reviewed_content(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, StoreError> {
        let row = sqlx::query!(
            r#"SELECT r.number, r.id, r.version, r.status, r.round, r.intent, r.project, r.phase, r.plan, r.task,
                      r.content_hash, r.patch_id, r.tree_id, r.base_commit, r.target, r.verdict_reason,
                      coalesce(r.approved_hash = r.content_hash, 0) AS "approved!: bool", c.diff, c.files,
                      EXISTS (SELECT 1 FROM events e WHERE e.review = r.number AND e.status = 'approved')
                          AS "ever_approved!: bool"
               FROM reviews r JOIN contents c ON c.hash = r.content_hash WHERE r.number = ?"#,
            number.0
        )
        .fetch_optional(&mut self.0)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let approvers = self.list_approvers(number, &row.content_hash).await?;
        Ok(Some(ReviewedContent {
            number,
            id: to_id(&row.id)?,
            version: to_u64(row.version)?,
            status: parse_word(&row.status, Status::parse)?,
            round: to_u32(row.round)?,
            intent: row.intent,
            project: row.project,
            phase: row.phase,
            plan: row.plan,
            task: row.task,
            content_hash: row.content_hash,
            patch_id: row.patch_id,
            tree_id: row.tree_id,
            base: row.base_commit,
            diff: row.diff,
            files: serde_json::from_str(&row.files)?,
            target: row.target.as_deref().map(serde_json::from_str).transpose()?,
            approved: row.approved,
            approved_before: row.ever_approved && !row.approved,
            reason: row.verdict_reason,
            approvers,
        }))
    }

    async fn list_approvers(&mut self, number: ReviewNumber, hash: &str) -> Result<Vec<Approver>, StoreError> {
        let rows = sqlx::query!(
            "SELECT v.reviewer, v.persona, v.at_ms FROM verdicts v
             WHERE v.review = ?1 AND v.content_hash = ?2 AND v.verdict = 'approved'
               AND v.id = (SELECT max(l.id) FROM verdicts l WHERE l.review = v.review AND l.persona = v.persona
                           AND l.verdict <> 'comment')
             ORDER BY v.id",
            number.0,
            hash
        )
        .fetch_all(&mut self.0)
        .await?;
        let approvers = rows.into_iter().map(|row| Approver {
            reviewer: row.reviewer,
            persona: row.persona,
            at: Timestamp(row.at_ms),
        });
        Ok(approvers.collect())
    }
}
