//! `countersign reviewer logs`: prints the log file of a reviewer.

use crate::{CliError, config_args::ConfigArgs, terminal};
use anyhow::{Context as _, anyhow};
use config::reviewer_log;
use serde_json::json;
use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    time::Duration,
};

/// Interval between two reads of a followed file.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id, prefix of the id, or short name (codex-r1: the last reviewer of that name)
    reviewer: String,
    /// Print only the last N lines
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
    /// Print JSON instead of text: the reviewer and its lines
    #[arg(long, conflicts_with = "follow")]
    json: bool,
    /// Print new output as it is written, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) async fn run(args: Args) -> Result<(), CliError> {
    let folder = args.config.resolve(None)?.config.server.data_dir.reviewers();
    let name = &args.reviewer;
    let missing = || anyhow!("no log of {name:?} in {}; `countersign reviewer list` shows names", folder.display());
    let path = reviewer_log::find(&folder, name).ok_or_else(missing)?;
    let (text, file) = reviewer_log::read(&path).with_context(|| path.display().to_string())?;
    let text = reviewer_log::last_lines(&text, args.lines);
    if args.json {
        let lines: Vec<_> = String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
        let answer = json!({ "reviewer": path.file_stem().map(|name| name.to_string_lossy()), "lines": lines });
        return terminal::write_json(&format!("{answer:#}\n"));
    }
    terminal::write_raw(text)?;
    if args.follow { follow(&path, file).await } else { Ok(()) }
}

async fn follow(path: &Path, mut file: File) -> Result<(), CliError> {
    let mut more = Vec::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        more.clear();
        file.read_to_end(&mut more)?;
        terminal::write_raw(&more)?;
        // The file was rotated: the old one is read to its end, continue with the new one.
        let at = file.stream_position()?;
        if fs::metadata(path).is_ok_and(|meta| meta.len() < at) {
            file = File::open(path)?;
            file.seek(SeekFrom::Start(0))?;
        }
    }
}
