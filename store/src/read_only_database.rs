//! Reads the database file without a broker, for the gate, the hooks and `doctor`.
//!
//! A gate must answer when no broker runs, and must not disturb one that does. So the connection cannot write, creates
//! and migrates nothing, and a database of another version is an error.

use crate::{
    StoreError,
    sqlite::{MIGRATIONS, approvals, to_u64},
};
use domain::{
    approvals::{ApprovalFilter, ReviewFiles, ReviewedContent},
    ids::ReviewNumber,
    review::{Proposer, Review, ReviewTarget},
    time::Timestamp,
};
use nix::unistd::{AccessFlags, access};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// How long to wait while another process has locked the whole file. A broker never does that.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Most open reviews listed. More would fill an agent's context.
const MAX_OPEN: i64 = 50;

/// A read-only connection to the database file.
pub struct ReadOnlyStore(SqliteConnection);

/// The content that one round was submitted with.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmittedRound {
    pub content_hash: String,
    pub base: Option<String>,
    pub diff: Option<String>,
    pub target: Option<ReviewTarget>,
}

/// An open review with its seats. Findings are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReview {
    pub review: Review,
    /// The review's version at the latest verdict or counter-patch of a reviewer, or message to the proposer.
    pub feedback_version: u64,
}

impl ReadOnlyStore {
    /// Opens the file. The error says why it cannot be read.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Read(format!("no database at {}", path.display())));
        }
        let mut connection = connect(path).await?;
        let found = find_schema_version(&mut connection).await?;
        let ours = MIGRATIONS.iter().map(|step| step.version).max().unwrap_or_default();
        let problem = match found.cmp(&ours) {
            std::cmp::Ordering::Equal => return Ok(Self(connection)),
            std::cmp::Ordering::Less => "an older version wrote it; `countersign serve` migrates it",
            std::cmp::Ordering::Greater => "a newer version wrote it; update this program",
        };
        Err(StoreError::Read(problem.to_owned()))
    }

    /// What SQLite finds broken in the file.
    pub async fn list_faults(&mut self) -> Result<Vec<String>, StoreError> {
        // Not checked at compile time: a pragma has no table.
        let lines: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(5)").fetch_all(&mut self.0).await?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    pub async fn close(self) {
        // Nothing was written, so an error has no consequence.
        let _ = self.0.close().await;
    }

    /// Reviews with a diff, approved or not, newest first. Those that wait to land come in the order in which they should.
    pub async fn list_approvals(
        &mut self,
        filter: &ApprovalFilter,
        limit: i64,
    ) -> Result<Vec<ReviewFiles>, StoreError> {
        approvals::list(&mut self.0, filter, limit).await
    }

    /// A review with its active content.
    pub async fn find_reviewed_content(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, StoreError> {
        approvals::find(&mut self.0, number).await
    }

    /// Reviews of the same plan, in the order in which they were proposed.
    pub async fn list_plan(&mut self, proposer: &Proposer) -> Result<Vec<ReviewNumber>, StoreError> {
        let rows = sqlx::query!(
            "SELECT number FROM reviews WHERE phase = ?1 AND plan = ?2 AND project IS ?3 ORDER BY number",
            proposer.phase,
            proposer.plan,
            proposer.project
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

    /// Finds reviews by `R-12`, `12`, an id, or the start of an id. At most six are listed.
    pub async fn find_by_name(&mut self, name: &str) -> Result<Vec<(ReviewNumber, String)>, StoreError> {
        let number = name.strip_prefix("R-").or_else(|| name.strip_prefix("r-")).unwrap_or(name).parse::<i64>().ok();
        let (start, end) = (name.to_lowercase(), format!("{}~", name.to_lowercase()));
        let rows = sqlx::query!(
            r#"SELECT number AS "number!: i64", id FROM reviews WHERE number = ?1
               UNION ALL
               SELECT number, id FROM reviews WHERE id >= ?2 AND id < ?3
                   AND NOT EXISTS (SELECT 1 FROM reviews WHERE number = ?1) LIMIT 6"#,
            number,
            start,
            end
        )
        .fetch_all(&mut self.0)
        .await?;
        Ok(rows.into_iter().map(|row| (ReviewNumber(row.number), row.id)).collect())
    }

    /// Reviews that have not ended and changed since then; newest first.
    pub async fn list_open_reviews(&mut self, since: Timestamp) -> Result<Vec<OpenReview>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT r.body,
                      max(coalesce((SELECT max(id) FROM verdicts v WHERE v.review = r.number), 0),
                          coalesce((SELECT max(id) FROM messages m
                                    WHERE m.review = r.number AND m.role <> 'proposer'), 0),
                          coalesce((SELECT max(id) FROM counter_patches p WHERE p.review = r.number), 0))
                          AS "feedback_version!: i64",
                      (SELECT json_group_array(json(s.body) ORDER BY s.position) FROM seats s
                       WHERE s.review = r.number) AS "seats!: String"
               FROM reviews r
               WHERE r.status IN ('pending', 'claimed', 'in_review', 'changes_requested', 'approved', 'rejected')
                 AND r.updated_at_ms >= ?1
               ORDER BY r.number DESC LIMIT ?2"#,
            since.0,
            MAX_OPEN
        )
        .fetch_all(&mut self.0)
        .await?;
        let reviews = rows.into_iter().map(|row| {
            let review: Review = serde_json::from_str(&row.body)?;
            let review = Review { seats: serde_json::from_str(&row.seats)?, ..review };
            Ok(OpenReview { review, feedback_version: to_u64(row.feedback_version)? })
        });
        reviews.collect()
    }
}

async fn connect(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(LOCK_TIMEOUT);
    let open = async |options: SqliteConnectOptions| {
        let mut connection = options.optimize_on_close(false, None).connect().await?;
        // SQLite reads the file here for the first time.
        sqlx::query("SELECT 1 FROM sqlite_schema").fetch_optional(&mut connection).await?;
        Ok::<_, sqlx::Error>(connection)
    };
    match open(options.clone()).await {
        Ok(connection) => Ok(connection),
        // Readers of a write-ahead log create a file beside it. If the folder is not writable and there is no log,
        // no process writes, and the file can be read as it is.
        Err(_) if !with_suffix(path, "-wal").exists() && !is_writable(path) => Ok(open(options.immutable(true)).await?),
        Err(error) => Err(error.into()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether files can be created beside this one. A read-only file system has the permissions of a writable one.
fn is_writable(path: &Path) -> bool {
    path.parent().is_some_and(|folder| access(folder, AccessFlags::W_OK).is_ok())
}

/// The last applied migration.
async fn find_schema_version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    let table = sqlx::query!("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'")
        .fetch_optional(&mut *connection)
        .await?;
    if table.is_none() {
        return Err(StoreError::Read("the file is not a countersign database".to_owned()));
    }
    // Not checked at compile time: the table belongs to sqlx.
    let newest = sqlx::query_scalar::<_, Option<i64>>("SELECT max(version) FROM _sqlx_migrations WHERE success");
    Ok(newest.fetch_one(connection).await?.unwrap_or_default())
}

#[cfg(test)]
#[path = "read_only_database_tests.rs"]
mod tests;
