//! `countersign reviewer logs`: the file that a reviewer's output is kept in.

use crate::cli::{Failure, place::Place};
use anyhow::{Context as _, anyhow};
use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
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
    /// Go on as more is printed, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let folder = crate::broker::reviewers_folder(&args.place.settle(None)?.config.server.data_dir);
    let path = find(&folder, &args.reviewer)?;
    // What was turned over before comes first; between the two reads it may be turned over once more.
    let mut text = fs::read(path.with_extension("log.1")).unwrap_or_default();
    let mut file = File::open(&path).with_context(|| path.display().to_string())?;
    file.read_to_end(&mut text)?;
    let mut out = io::stdout().lock();
    out.write_all(last_lines(&text, args.lines))?;
    if args.follow {
        follow(&path, file, &mut out).await?;
    }
    Ok(())
}

/// The newest log of a reviewer with this name, or else of one whose id begins so.
fn find(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let rest = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        stem.strip_prefix(name).filter(|_| is_log).map(str::to_owned)
    };
    // codex-r1 is not codex-r10
    let is_name = |rest: &str| rest.is_empty() || rest.strip_prefix('-').is_some_and(|id| !id.contains('-'));
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let age = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let missing = || anyhow!("no log of {name:?} in {}; `countersign reviewer list` shows names", folder.display());
    let fitting = entries.filter_map(|path| Some((is_name(&rest(&path)?), age(&path), path)));
    fitting.max().map(|(_, _, path)| path).ok_or_else(missing)
}

fn last_lines(text: &[u8], lines: Option<usize>) -> &[u8] {
    let Some(lines) = lines else { return text };
    let mut ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    match ends.nth(lines) {
        Some(end) => &text[end + 1..],
        None => text,
    }
}

async fn follow(path: &Path, mut file: File, out: &mut impl io::Write) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(PAUSE).await;
        io::copy(&mut file, out)?;
        out.flush()?;
        // Turned over: what is left of the old one has been read, the new one begins.
        let at = file.stream_position()?;
        if fs::metadata(path).is_ok_and(|meta| meta.len() < at) {
            file = File::open(path)?;
            file.seek(SeekFrom::Start(0))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_end_of_a_log() {
        let text = b"a\nb\nc\n";
        assert_eq!(last_lines(text, None), text);
        assert_eq!(last_lines(text, Some(2)), b"b\nc\n");
        assert_eq!(last_lines(text, Some(9)), text);
        assert_eq!(last_lines(text, Some(0)), b"");
    }
}
