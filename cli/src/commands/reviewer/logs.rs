//! `countersign reviewer logs`: the file that a reviewer's output is kept in.

use crate::{Failure, config_args::Place, terminal};
use anyhow::{Context as _, anyhow};
use config::reviewer_log;
use serde_json::json;
use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    time::Duration,
};

/// Between two looks at a file that is followed.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its id, the beginning of it, or its short name (codex-r1: the last that had it)
    reviewer: String,
    /// Only so many lines at the end
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
    /// JSON instead of text: which reviewer, and its lines
    #[arg(long, conflicts_with = "follow")]
    json: bool,
    /// Go on as more is printed, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let folder = args.place.settle(None)?.config.server.data_dir.reviewers();
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

async fn follow(path: &Path, mut file: File) -> Result<(), Failure> {
    let mut more = Vec::new();
    loop {
        tokio::time::sleep(PAUSE).await;
        more.clear();
        file.read_to_end(&mut more)?;
        terminal::write_raw(&more)?;
        // Turned over: what is left of the old one has been read, the new one begins.
        let at = file.stream_position()?;
        if fs::metadata(path).is_ok_and(|meta| meta.len() < at) {
            file = File::open(path)?;
            file.seek(SeekFrom::Start(0))?;
        }
    }
}
