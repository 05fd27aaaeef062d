//! `migrate FOLDER DATABASE`: creates a database with the newest schema, for `cargo xtask prepare`.
//!
//! It does not use the store: the store does not compile while the data of a new query is missing, which is when this is
//! needed.

use std::path::Path;

use anyhow::{Context as _, bail};
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), Some(database)) = (arguments.next(), arguments.next()) else {
        bail!("usage: migrate FOLDER DATABASE");
    };
    let migrator = Migrator::new(Path::new(&folder))
        .await
        .with_context(|| format!("cannot read the migrations in {}", folder.display()))?;
    let options = SqliteConnectOptions::new().filename(Path::new(&database));
    let mut connection = options.create_if_missing(true).connect().await?;
    migrator.run(&mut connection).await?;
    connection.close().await?;
    Ok(())
}
