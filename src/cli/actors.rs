//! `countersign actors`: the live tree of the running broker.

use super::{
    Failure,
    locate::{find, given_token, local_token},
    place::Place,
};
use crate::telemetry::visible;
use anyhow::{Context as _, anyhow};
use reqwest::header::AUTHORIZATION;
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
    let given = given_token()?;
    let (url, token) = match args.url {
        Some(url) => (url.trim_end_matches('/').to_owned(), given),
        None => {
            let data_dir = args.place.settle(None)?.config.server.data_dir;
            let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
            let url = find(&client, &data_dir).await.ok_or_else(missing)?.url;
            (url, given.or_else(|| local_token(&data_dir)))
        }
    };
    let format = if args.json { "json" } else { "text" };
    let mut request = client.get(format!("{url}/debug/actors?format={format}"));
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token);
    }
    let answer = request.send().await.with_context(|| format!("no broker answers at {url}"))?;
    let status = answer.status();
    let mut text = answer.text().await?;
    if !status.is_success() {
        let words: String = text.chars().take(500).collect();
        return Err(anyhow!("the broker answered with HTTP {status}: {}", visible(&words)).into());
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
