//! The user's files: read as text, written whole or not at all.

use anyhow::{Context as _, anyhow};
use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// `None` if there is no such file. What is no text is an error.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| anyhow!("it is not UTF-8 text")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => Err(anyhow!("it is a link to nowhere")),
            Err(_) => Ok(None),
        },
        Err(error) => Err(error.into()),
    }
}

pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

/// Who may do what with a file that is new. One that was there keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileMode {
    /// As the user's other files.
    Default,
    /// For its owner only: clients will put more into it than we do.
    Private,
    /// Git runs only what can be run, so also one that was there becomes so.
    Executable,
}

/// Readers see the old file or the new one. A link stays a link: what it leads to is replaced.
pub(super) fn write(path: &Path, text: &str, make: FileMode) -> anyhow::Result<()> {
    let real = if path.is_symlink() { path.canonicalize()? } else { path.to_owned() };
    let dir = real.parent().context("a file has a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mode = fs::metadata(&real).map(|meta| meta.permissions().mode()).ok();
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let draft = dir.join(format!(".{name}.countersign-{}", std::process::id()));
    let written = fill(&draft, text, mode, make).and_then(|()| fs::rename(&draft, &real));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("cannot write {}", real.display()))
}

fn fill(draft: &Path, text: &str, mode: Option<u32>, make: FileMode) -> io::Result<()> {
    let _ = fs::remove_file(draft);
    let mut file = File::create_new(draft)?;
    let plain = file.metadata()?.permissions().mode();
    let mode = match (make, mode) {
        (FileMode::Private, None) => 0o600,
        (FileMode::Default | FileMode::Private, mode) => mode.unwrap_or(plain),
        // Whoever may read it may run it, as git makes its own.
        (FileMode::Executable, mode) => mode.unwrap_or(plain) | (mode.unwrap_or(plain) & 0o444) >> 2,
    };
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The folders that a file needs and that are not there, the outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<_> = above.take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Removes the file, and those of the folders that are empty then.
pub(super) fn remove(path: &Path, folders: &[PathBuf]) -> anyhow::Result<()> {
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    for folder in folders.iter().rev() {
        // Where others have put something in the meantime it stays.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Where a path leads out of `root` through a link, that link.
pub(super) fn link_out_of(root: &Path, path: &Path) -> Option<PathBuf> {
    let inside = root.canonicalize().ok()?;
    let below = path.strip_prefix(root).ok()?;
    let mut at = root.to_owned();
    for part in below.components() {
        at.push(part);
        if at.is_symlink() && at.canonicalize().is_ok_and(|real| !real.starts_with(&inside)) {
            return Some(at);
        }
    }
    None
}
