//! Reads the log files of reviewer processes.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The newest log of a reviewer with this name, else of one whose id begins with it.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let rest = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        stem.strip_prefix(name).filter(|_| is_log).map(str::to_owned)
    };
    // codex-r1 is not codex-r10
    let is_name = |rest: &str| rest.is_empty() || rest.strip_prefix('-').is_some_and(|id| !id.contains('-'));
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let age = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let fitting = entries.filter_map(|path| Some((is_name(&rest(&path)?), age(&path), path)));
    fitting.max().map(|(_, _, path)| path)
}

/// The whole log, and the open file for following it.
pub fn read(path: &Path) -> io::Result<(Vec<u8>, File)> {
    // The rotated file comes first. It may be rotated again between the two reads.
    let mut text = fs::read(path.with_extension("log.1")).unwrap_or_default();
    let mut file = File::open(path)?;
    file.read_to_end(&mut text)?;
    Ok((text, file))
}

pub fn last_lines(text: &[u8], lines: Option<usize>) -> &[u8] {
    let Some(lines) = lines else { return text };
    let mut ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    match ends.nth(lines) {
        Some(end) => &text[end + 1..],
        None => text,
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
