//! `countersign actors`: the live tree of the running broker.

use super::{Failure, place::Place, remote::Remote};
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
    let remote = Remote::find(args.url, &args.place).await?;
    let format = if args.json { "json" } else { "text" };
    let mut text = remote.get(&format!("/debug/actors?format={format}")).await?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
