//! Opens a database file that another process may be writing.

use super::ReadOnlyStore;
use crate::{StoreError, sqlite::MIGRATIONS};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// How long to wait while another process has locked the whole file. A broker never does that.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

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

fn is_writable(path: &Path) -> bool {
    path.parent().and_then(|folder| folder.metadata().ok()).is_some_and(|folder| !folder.permissions().readonly())
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
