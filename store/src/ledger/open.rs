//! Opening a file that is somebody else's to write.

use super::Ledger;
use crate::{MIGRATIONS, StoreError};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{path::Path, time::Duration};

/// How long a gate waits for somebody who has locked the whole file; a broker never does.
const PATIENCE: Duration = Duration::from_secs(2);

impl Ledger {
    /// An error says in words why it cannot be read.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Read(format!("there is none at {}", path.display())));
        }
        let mut connection = connect(path).await?;
        let found = version(&mut connection).await?;
        let ours = MIGRATIONS.iter().map(|step| step.version).max().unwrap_or_default();
        let words = match found.cmp(&ours) {
            std::cmp::Ordering::Equal => return Ok(Self(connection)),
            std::cmp::Ordering::Less => "an older version wrote it; `countersign serve` brings it up to date",
            std::cmp::Ordering::Greater => "a newer version wrote it; this program is out of date",
        };
        Err(StoreError::Read(words.to_owned()))
    }

    /// What is broken in the file, in SQLite's words; nothing if it is whole.
    pub async fn faults(&mut self) -> Result<Vec<String>, StoreError> {
        // Not checked while compiling: a pragma has no table to be checked against.
        let said: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(5)").fetch_all(&mut self.0).await?;
        Ok(said.into_iter().filter(|word| word != "ok").collect())
    }

    /// One that knows of nothing, for where there is no database.
    pub async fn empty() -> Result<Self, StoreError> {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await?;
        MIGRATIONS.run(&mut connection).await?;
        Ok(Self(connection))
    }

    pub async fn close(self) {
        // Nothing was written, so nothing can be lost.
        let _ = self.0.close().await;
    }
}

async fn connect(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(PATIENCE);
    let opened = async |options: SqliteConnectOptions| {
        let mut connection = options.optimize_on_close(false, None).connect().await?;
        // The file is first looked at here.
        sqlx::query("SELECT 1 FROM sqlite_schema").fetch_optional(&mut connection).await?;
        Ok::<_, sqlx::Error>(connection)
    };
    match opened(options.clone()).await {
        Ok(connection) => Ok(connection),
        // Readers of a write-ahead log need a place for theirs. Where the folder takes no file and there is no log,
        // nobody writes, and the file can be read as it lies there.
        Err(_) if !beside(path, "-wal").exists() && !is_writable(path) => Ok(opened(options.immutable(true)).await?),
        Err(error) => Err(error.into()),
    }
}

fn beside(path: &Path, end: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn is_writable(path: &Path) -> bool {
    path.parent().and_then(|folder| folder.metadata().ok()).is_some_and(|folder| !folder.permissions().readonly())
}

/// The last step of the schema that was taken.
async fn version(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    let table = sqlx::query!("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'")
        .fetch_optional(&mut *connection)
        .await?;
    if table.is_none() {
        return Err(StoreError::Read("it is no database of ours".to_owned()));
    }
    // Not checked while compiling: the table is sqlx's own.
    let newest = sqlx::query_scalar::<_, Option<i64>>("SELECT max(version) FROM _sqlx_migrations WHERE success");
    Ok(newest.fetch_one(connection).await?.unwrap_or_default())
}
