//! `countersign actors`: the live tree of the running broker.

use super::{Failure, locate::find, place::Place};
use anyhow::{Context as _, anyhow};
use std::io::{self, Write as _};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// JSON instead of a drawing
    #[arg(long)]
    json: bool,
    /// The broker's address [default: the one that serves the data dir]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let client = super::locate::client()?;
    let url = match args.url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => {
            let data_dir = args.place.settle(None)?.config.server.data_dir;
            let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
            find(&client, &data_dir).await.ok_or_else(missing)?.url
        }
    };
    let format = if args.json { "json" } else { "text" };
    let answer = client.get(format!("{url}/debug/actors?format={format}")).send().await;
    let answer = answer.with_context(|| format!("no broker answers at {url}"))?.error_for_status()?;
    let mut text = answer.text().await?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
