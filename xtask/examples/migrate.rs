//! `migrate FOLDER DATABASE`: makes a database and brings it to the newest schema.
//!
//! For `cargo xtask prepare`. It stands apart from the store, which does not compile while a query
//! is new and its data are missing: just when this is needed.

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
