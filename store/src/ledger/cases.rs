//! Reviews by what they are about.

use super::Ledger;
use crate::{
    Named, StoreError,
    reader::{to_id, to_u32, to_u64, word},
};
use domain::{
    diff::AffectedFile,
    ids::{ReviewId, ReviewNumber},
    review::{ReviewTarget, Status},
    time::Timestamp,
};

/// Found by one patch-id or tree; more than one is rare, and many are somebody's mistake.
const MAX_FOUND: i64 = 50;

/// One review with its active content, and whether that is approved.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
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
    /// `None` with a diff means the empty tree.
    pub base: Option<String>,
    pub diff: Option<String>,
    pub files: Vec<AffectedFile>,
    pub target: Option<ReviewTarget>,
    /// An approval stands, and it is of this content.
    pub approved: bool,
    /// An earlier content was approved once.
    pub approved_before: bool,
    pub reason: Option<String>,
    /// Who approved this content, and when; each persona's last word.
    pub approvers: Vec<Approver>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    pub reviewer: String,
    pub persona: String,
    pub at: Timestamp,
}

/// What one round was submitted with.
#[derive(Debug, Clone, PartialEq)]
pub struct Submitted {
    pub content_hash: String,
    pub base: Option<String>,
    pub diff: Option<String>,
    pub target: Option<ReviewTarget>,
}

/// What a review touches.
#[derive(Debug, Clone, PartialEq)]
pub struct Touched {
    pub number: ReviewNumber,
    pub approved: bool,
    pub base: Option<String>,
    pub files: Vec<AffectedFile>,
}

impl Ledger {
    /// Reviews whose approval stands, of a diff with this patch-id or one that led to this tree; newest first.
    pub async fn find_approved(&mut self, patch_id: Option<&str>, tree: &str) -> Result<Vec<ReviewNumber>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT number AS "number!" FROM reviews WHERE approved_hash IS NOT NULL AND patch_id = ?1
               UNION SELECT number FROM reviews WHERE approved_hash IS NOT NULL AND tree_id = ?2
               ORDER BY 1 DESC LIMIT ?3"#,
            patch_id,
            tree,
            MAX_FOUND
        )
        .fetch_all(&mut self.0)
        .await?;
        Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
    }

    /// What the newest reviews with a diff touch, approved or not.
    pub async fn list_touched(&mut self, limit: i64) -> Result<Vec<Touched>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT r.number, r.approved_hash IS NOT NULL AS "approved!: bool", r.base_commit, c.files
               FROM reviews r JOIN contents c ON c.hash = r.content_hash
               WHERE r.diff_check IS NOT NULL ORDER BY r.number DESC LIMIT ?"#,
            limit
        )
        .fetch_all(&mut self.0)
        .await?;
        let touched = rows.into_iter().map(|row| {
            Ok(Touched {
                number: ReviewNumber(row.number),
                approved: row.approved,
                base: row.base_commit,
                files: serde_json::from_str(&row.files)?,
            })
        });
        touched.collect()
    }

    /// Reviews of the same plan in the order in which they were proposed.
    pub async fn list_plan(&mut self, of: &Case) -> Result<Vec<ReviewNumber>, StoreError> {
        let rows = sqlx::query!(
            "SELECT number FROM reviews WHERE phase = ?1 AND plan = ?2 AND project IS ?3 ORDER BY number",
            of.phase,
            of.plan,
            of.project
        )
        .fetch_all(&mut self.0)
        .await?;
        Ok(rows.into_iter().map(|row| ReviewNumber(row.number)).collect())
    }

    /// What was submitted round by round, the latest first.
    pub async fn list_submitted(&mut self, number: ReviewNumber) -> Result<Vec<Submitted>, StoreError> {
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
            Ok(Submitted { content_hash: row.hash, base: row.base_commit, diff: row.diff, target })
        });
        submitted.collect()
    }

    /// Whether anything with this hash was ever proposed here.
    pub async fn knows_content(&mut self, hash: &str) -> Result<bool, StoreError> {
        let row = sqlx::query!("SELECT hash FROM contents WHERE hash = ?", hash).fetch_optional(&mut self.0).await?;
        Ok(row.is_some())
    }

    /// The counter-patch that the proposer has accepted last.
    pub async fn find_accepted_patch(&mut self, number: ReviewNumber) -> Result<Option<String>, StoreError> {
        let row = sqlx::query!(
            "SELECT diff FROM counter_patches WHERE review = ? AND status = 'accepted' ORDER BY id DESC LIMIT 1",
            number.0
        )
        .fetch_optional(&mut self.0)
        .await?;
        Ok(row.map(|row| row.diff))
    }

    /// What somebody calls a review: `R-12`, `12`, an id or the beginning of one.
    pub async fn find_named(&mut self, name: &str) -> Result<Named, StoreError> {
        let bare = name.strip_prefix("R-").or_else(|| name.strip_prefix("r-")).unwrap_or(name);
        if let Ok(number) = bare.parse::<i64>() {
            let row =
                sqlx::query!("SELECT id FROM reviews WHERE number = ?", number).fetch_optional(&mut self.0).await?;
            if let Some(row) = row {
                return Ok(Named::One(to_id(&row.id)?));
            }
        }
        let (start, end) = (name.to_lowercase(), format!("{}~", name.to_lowercase()));
        let rows = sqlx::query!("SELECT id FROM reviews WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", start, end)
            .fetch_all(&mut self.0)
            .await?;
        let ids = rows.iter().map(|row| to_id(&row.id)).collect::<Result<Vec<_>, _>>()?;
        Ok(match ids.as_slice() {
            [] => Named::Nothing,
            [one] => Named::One(*one),
            _ => Named::Several(ids),
        })
    }

    pub async fn find_number(&mut self, id: ReviewId) -> Result<Option<ReviewNumber>, StoreError> {
        let id = id.to_string();
        let row = sqlx::query!("SELECT number FROM reviews WHERE id = ?", id).fetch_optional(&mut self.0).await?;
        Ok(row.map(|row| ReviewNumber(row.number)))
    }

    pub async fn find_case(&mut self, number: ReviewNumber) -> Result<Option<Case>, StoreError> {
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
        Ok(Some(Case {
            number,
            id: to_id(&row.id)?,
            version: to_u64(row.version)?,
            status: word(&row.status, Status::parse)?,
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
