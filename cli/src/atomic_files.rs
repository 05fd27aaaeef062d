//! Reads and writes the files that `init` and `config` edit. Writes are atomic.

use anyhow::{Context as _, anyhow};
use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The text of a file, or `None` if it does not exist. A file that is not text is an error.
pub(crate) fn load(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| anyhow!("not UTF-8 text")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => Err(anyhow!("broken symbolic link")),
            Err(_) => Ok(None),
        },
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

/// Permissions of a new file. An existing file keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMode {
    /// As the umask says.
    Default,
    /// Readable by the owner only: clients may add secrets to it.
    Private,
    /// Executable. An existing file becomes executable too, because git ignores hooks that are not.
    Executable,
}

/// Replaces a file atomically. For a symbolic link, the file it points to is replaced.
pub(crate) fn write(path: &Path, text: &str, file_mode: FileMode) -> anyhow::Result<()> {
    let real = if path.is_symlink() { path.canonicalize()? } else { path.to_owned() };
    let dir = real.parent().context("the path has no folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    replace(&real, dir, text, file_mode).with_context(|| format!("cannot write {}", real.display()))
}

fn replace(path: &Path, dir: &Path, text: &str, file_mode: FileMode) -> io::Result<()> {
    // The mode of a new file, which the umask restricts.
    let plain = Permissions::from_mode(0o666);
    let mut draft = tempfile::Builder::new().prefix(".countersign-").permissions(plain).tempfile_in(dir)?;
    let existing = fs::metadata(path).ok();
    let default = existing.as_ref().map_or_else(|| draft.as_file().metadata(), |meta| Ok(meta.clone()))?;
    let default = default.permissions().mode();
    let mode = match file_mode {
        FileMode::Private if existing.is_none() => 0o600,
        FileMode::Default | FileMode::Private => default,
        // Grant execution to those who can read it, as git does for its own hooks.
        FileMode::Executable => default | (default & 0o444) >> 2,
    };
    draft.as_file().set_permissions(Permissions::from_mode(mode))?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(path)?;
    Ok(())
}

/// The folders that must be created for a file, the outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<_> = above.take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Removes a file, and those of the folders that are then empty.
pub(crate) fn remove(path: &Path, folders: &[PathBuf]) -> anyhow::Result<()> {
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    for folder in folders.iter().rev() {
        // Fails, as intended, if the folder is not empty.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// The symbolic link through which a path leaves `root`, if there is one.
pub(crate) fn link_out_of(root: &Path, path: &Path) -> Option<PathBuf> {
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
