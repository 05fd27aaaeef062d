//! One broker per data dir: a lock that ends with its process, and a note of where it listens.

use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const LOCK: &str = "broker.lock";
const NOTE: &str = "broker.json";
const TOKEN: &str = "operator.token";

/// What a running broker says of itself, for those who look for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub pid: u32,
    /// `http://127.0.0.1:8321`
    pub url: String,
    pub started_at: String,
}

impl Note {
    pub(super) fn read(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(data_dir.join(NOTE)).ok()?).ok()
    }
}

/// The secret by which the user's own commands act on the broker that serves this data dir.
pub(super) fn operator_token(data_dir: &Path) -> Option<String> {
    let text = fs::read_to_string(data_dir.join(TOKEN)).ok()?;
    Some(text.trim().to_owned()).filter(|secret| !secret.is_empty())
}

#[derive(Debug, thiserror::Error)]
pub(super) enum InstanceError {
    #[error(
        "another broker has {dir}: {who}; one broker serves any number of clients, so use that one, or stop it first"
    )]
    Taken { dir: String, who: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
}

/// The right to use a data dir, until it is dropped.
#[derive(Debug)]
pub(super) struct Instance {
    /// Closing it, or the end of the process however it comes, gives the lock back.
    _lock: File,
    data_dir: PathBuf,
}

impl Instance {
    /// Makes the folder if need be, and locks it. Nothing in it is touched before.
    pub(super) fn claim(data_dir: &Path) -> Result<Self, InstanceError> {
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |source| InstanceError::Io { path, source }
        };
        make_private(data_dir).map_err(at(data_dir))?;
        let path = data_dir.join(LOCK);
        let mut lock = open_private(&path).map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(InstanceError::Taken { dir: data_dir.display().to_string(), who: who(data_dir, lock) });
            }
            Err(TryLockError::Error(source)) => return Err(at(&path)(source)),
        }
        // For whoever is refused before we listen.
        lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).map_err(at(&path))?;
        let instance = Self { _lock: lock, data_dir: data_dir.to_owned() };
        // Of a broker that was killed.
        instance.forget();
        Ok(instance)
    }

    /// Tells where the broker listens, and the user's own commands the secret for it: that one first, so
    /// that whoever finds the broker finds its secret, too.
    pub(super) fn announce(&self, url: &str, operator: &str) -> io::Result<()> {
        let note = Note { pid: std::process::id(), url: url.into(), started_at: jiff::Timestamp::now().to_string() };
        self.put(TOKEN, format!("{operator}\n").as_bytes())?;
        self.put(NOTE, &serde_json::to_vec(&note)?)
    }

    /// Readers see the whole file or none.
    fn put(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let draft = self.data_dir.join(format!("{name}.new"));
        let mut file = open_private(&draft)?;
        file.set_len(0)?;
        file.write_all(text)?;
        fs::rename(draft, self.data_dir.join(name))
    }

    fn forget(&self) {
        for name in [NOTE, TOKEN] {
            let _ = fs::remove_file(self.data_dir.join(name));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.forget();
    }
}

fn who(data_dir: &Path, mut lock: File) -> String {
    let mut pid = String::new();
    let _ = lock.rewind().and_then(|()| lock.read_to_string(&mut pid));
    match Note::read(data_dir) {
        Some(note) => format!("pid {}, {}", note.pid, note.url),
        None if pid.is_empty() => "it is just starting".into(),
        None => format!("pid {pid}, not yet listening"),
    }
}

/// A file only its owner can read, from its first byte on.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// The same, written to at its end whoever else writes to it.
pub(super) fn append_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Shuts the folder for others. One that was there before and holds other things is left as it is:
/// it may be meant for more than us, and our files are private by themselves.
pub(super) fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let is_open = fs::metadata(dir)?.permissions().mode() & 0o077 != 0;
    let is_ours = dir.join(LOCK).exists() || fs::read_dir(dir)?.next().is_none();
    if is_open && is_ours { fs::set_permissions(dir, Permissions::from_mode(0o700)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Instance, InstanceError, Note, operator_token};
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_data_dir_has_one_broker_and_says_which() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().join("data");
        let first = Instance::claim(&dir).expect("free");
        first.announce("http://127.0.0.1:1", "cs_1").expect("written");
        assert_eq!(operator_token(&dir).as_deref(), Some("cs_1"));
        let refused = Instance::claim(&dir).expect_err("taken");
        assert!(matches!(refused, InstanceError::Taken { .. }));
        assert!(refused.to_string().contains(&format!("pid {}, http://127.0.0.1:1", std::process::id())), "{refused}");
        drop(first);
        assert_eq!((Note::read(&dir), operator_token(&dir)), (None, None));
        Instance::claim(&dir).expect("free again");
    }

    #[test]
    fn nobody_else_can_look_inside() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().join("data");
        let instance = Instance::claim(&dir).expect("free");
        instance.announce("http://127.0.0.1:1", "cs_1").expect("written");
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(dir.clone()), 0o700);
        for file in ["broker.lock", "broker.json", "operator.token"] {
            assert_eq!(mode(dir.join(file)), 0o600, "{file}");
        }
    }
}
