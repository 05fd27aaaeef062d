//! Paths of the files in the broker's data folder, the lock that allows one broker per folder, and the record of the
//! running one.

use crate::lock_holder;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    ops::Deref,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const LOCK: &str = "broker.lock";
const RUNNING_BROKER: &str = "broker.json";
const OPERATOR_TOKEN: &str = "operator.token";
const PROJECTS: &str = "projects.json";

/// A repository that the broker knows by a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredProject {
    pub name: String,
    /// Its object folder, which all its working trees share.
    pub objects: PathBuf,
    /// Its folder, if the broker opens it again when it starts. Repositories of the settings have none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

/// The path of a data folder. Its methods name every file and folder in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataDir(PathBuf);

impl DataDir {
    pub fn database(&self) -> PathBuf {
        self.join("countersign.db")
    }

    /// The output of a broker that a client started.
    pub fn broker_log(&self) -> PathBuf {
        self.join("broker.log")
    }

    /// Logs of the pool's reviewers.
    pub fn reviewers(&self) -> PathBuf {
        self.join("reviewers")
    }

    /// The folders that the pool's reviewers may use, unless pool.work_dir names another place. Outside of this folder,
    /// because reviewers cannot read it.
    pub fn beside_for_reviewers(&self) -> PathBuf {
        let mut name = self.file_name().unwrap_or_else(|| "countersign".as_ref()).to_owned();
        name.push("-reviewers");
        self.with_file_name(name)
    }

    /// Scratch repositories.
    pub fn scratch(&self) -> PathBuf {
        self.join("scratch")
    }

    /// Texts that were written in an editor and could not be sent.
    pub fn drafts(&self) -> PathBuf {
        self.join("drafts")
    }

    /// Signing secrets of webhooks.
    pub fn webhook_secrets(&self) -> PathBuf {
        self.join("webhooks")
    }

    /// The keys with which receipts are signed.
    pub fn signing_keys(&self) -> PathBuf {
        self.join("signing_keys.json")
    }

    /// Manifests of what `countersign init` changed.
    pub fn init_manifests(&self) -> PathBuf {
        self.join("init")
    }

    /// The repositories of the broker of this folder, also of earlier runs. The gate knows by them to which repository a
    /// review belongs.
    pub fn registered_projects(&self) -> io::Result<Vec<RegisteredProject>> {
        let path = self.join(PROJECTS);
        let read = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        read.map_err(|error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
    }

    /// Records repositories. One that was recorded under the same name is replaced.
    pub fn register_projects(&self, projects: Vec<RegisteredProject>) -> io::Result<()> {
        let mut all = self.registered_projects()?;
        all.retain(|known| projects.iter().all(|project| project.name != known.name));
        all.extend(projects);
        replace_private(&self.join(PROJECTS), &serde_json::to_vec(&all)?)
    }

    /// Files that only their owner may read.
    pub fn private_files(&self) -> [PathBuf; 6] {
        let [broker, token, lock] = [RUNNING_BROKER, OPERATOR_TOKEN, LOCK].map(|name| self.join(name));
        [self.database(), broker, token, lock, self.broker_log(), self.signing_keys()]
    }

    /// The secret with which the user's own commands act on the broker of this folder.
    pub fn operator_token(&self) -> Option<String> {
        let text = fs::read_to_string(self.join(OPERATOR_TOKEN)).ok()?;
        Some(text.trim().to_owned()).filter(|secret| !secret.is_empty())
    }

    /// The broker that serves this folder, as it announced itself. It may have been killed since.
    pub fn running_broker(&self) -> Option<RunningBroker> {
        serde_json::from_slice(&fs::read(self.join(RUNNING_BROKER)).ok()?).ok()
    }

    /// Creates the folder if needed and locks it for one broker. Files in it are touched only after that.
    pub fn lock(&self) -> Result<DataDirLock, LockError> {
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |source| LockError::Io { path, source }
        };
        make_private(self).map_err(at(self))?;
        let path = self.join(LOCK);
        let mut lock = open_private(&path).map_err(at(&path))?;
        let taken = |lock| LockError::Taken { dir: self.display().to_string(), holder: self.lock_holder(lock) };
        // The lock of the folder still holds if a user has deleted the file. Some network file systems do not have it.
        let folder = File::open(&self.0).map_err(at(self))?;
        if let Err(TryLockError::WouldBlock) = folder.try_lock() {
            return Err(taken(lock));
        }
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(lock)),
            Err(TryLockError::Error(source)) => return Err(at(&path)(source)),
        }
        // Another process that is refused before this broker listens reads the pid from the lock file.
        lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).map_err(at(&path))?;
        let lock = DataDirLock { _file: lock, _folder: folder, data_dir: self.clone() };
        // A broker that was killed leaves its announcement behind.
        lock.withdraw();
        Ok(lock)
    }

    /// The process that serves this folder: the holder of its lock. `None` if no broker runs. On Linux the kernel names the
    /// holder, because the process id in the file may be of another container; elsewhere the file does.
    pub fn serving_process(&self) -> io::Result<Option<u32>> {
        let mut lock = match File::open(self.join(LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match lock.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let written = lock_text(&mut lock);
                lock_holder::find(&lock, written.trim().parse().ok()).map(Some)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_holder(&self, mut lock: File) -> String {
        let pid = lock_text(&mut lock);
        match self.running_broker() {
            Some(broker) => format!("pid {}, {}", broker.pid, broker.url),
            None if pid.is_empty() => "it is just starting".into(),
            None => format!("pid {pid}, not yet listening"),
        }
    }
}

fn lock_text(lock: &mut File) -> String {
    let mut text = String::new();
    let _ = lock.rewind().and_then(|()| lock.read_to_string(&mut text));
    text
}

impl From<PathBuf> for DataDir {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Deref for DataDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// The content of `broker.json`: where the running broker listens.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningBroker {
    pub pid: u32,
    /// `http://127.0.0.1:8321`
    pub url: String,
    pub started_at: String,
    pub proof_key: ProofKey,
}

/// A secret of one run of the broker. With it the broker proves that it is the one that wrote `broker.json`: a broker that
/// was killed leaves the file behind, and any other program may use its port and name its process id.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProofKey(String);

impl ProofKey {
    pub const fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The answer to a challenge: the HMAC-SHA256 of it, in hex.
    pub fn proof(&self, challenge: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()) else { return String::new() };
        mac.update(challenge.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another broker uses {dir}: {holder}; one broker serves any number of clients: use that one or stop it")]
    Taken { dir: String, holder: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
}

/// The exclusive right to serve a data folder, until it is dropped.
#[derive(Debug)]
pub struct DataDirLock {
    /// The operating system releases the locks when these are closed, also if the process is killed.
    _file: File,
    _folder: File,
    data_dir: DataDir,
}

impl DataDirLock {
    /// Writes where the broker listens, and the operator's token. The token comes first: a command that finds the
    /// broker finds its token too.
    pub fn announce(&self, url: &str, operator_token: &str, proof_key: &ProofKey) -> io::Result<()> {
        let started_at = jiff::Timestamp::now().to_string();
        let broker =
            RunningBroker { pid: std::process::id(), url: url.into(), started_at, proof_key: proof_key.clone() };
        replace_private(&self.data_dir.join(OPERATOR_TOKEN), format!("{operator_token}\n").as_bytes())?;
        replace_private(&self.data_dir.join(RUNNING_BROKER), &serde_json::to_vec(&broker)?)
    }

    fn withdraw(&self) {
        for name in [RUNNING_BROKER, OPERATOR_TOKEN] {
            let _ = fs::remove_file(self.data_dir.join(name));
        }
    }
}

impl Drop for DataDirLock {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Opens or creates a file that only its owner can read.
pub fn open_private(path: &Path) -> io::Result<File> {
    with_private_mode(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Like [`open_private`], but every write goes to the end of the file, also if other processes write to it.
pub fn append_private(path: &Path) -> io::Result<File> {
    with_private_mode(OpenOptions::new().append(true).create(true), path)
}

fn with_private_mode(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Replaces a private file as a whole, so that readers never see half of it.
pub fn replace_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension("new");
    let mut file = open_private(&draft)?;
    file.set_len(0)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(draft, path)
}

/// Creates the folder if needed and makes it private. A folder that existed before and holds other files keeps its
/// mode: it may be meant for more than this program, and the files in it are private by themselves.
pub fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let is_open = fs::metadata(dir)?.permissions().mode() & 0o077 != 0;
    let is_ours = dir.join(LOCK).exists() || fs::read_dir(dir)?.next().is_none();
    if is_open && is_ours { fs::set_permissions(dir, Permissions::from_mode(0o700)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{DataDir, LockError, ProofKey};
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_data_folder_has_one_broker_and_names_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = DataDir::from(dir.path().join("data"));
        let first = dir.lock().expect("free");
        first.announce("http://127.0.0.1:1", "cs_1", &ProofKey::new("key".into())).expect("written");
        assert_eq!(dir.operator_token().as_deref(), Some("cs_1"));
        let refused = dir.lock().expect_err("taken");
        assert!(matches!(refused, LockError::Taken { .. }));
        assert_eq!(dir.serving_process().expect("known"), Some(std::process::id()));
        fs::write(dir.join("broker.lock"), "1").expect("another process id");
        #[cfg(target_os = "linux")]
        assert_eq!(dir.serving_process().expect("known"), Some(std::process::id()), "the kernel knows it");
        assert!(refused.to_string().contains(&format!("pid {}, http://127.0.0.1:1", std::process::id())), "{refused}");
        fs::remove_file(dir.join("broker.lock")).expect("deleted");
        assert!(matches!(dir.lock(), Err(LockError::Taken { .. })), "the folder is locked too");
        drop(first);
        assert!(dir.running_broker().is_none() && dir.operator_token().is_none());
        dir.lock().expect("free again");
    }

    #[test]
    fn the_folder_and_its_files_are_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = DataDir::from(dir.path().join("data"));
        let lock = dir.lock().expect("free");
        lock.announce("http://127.0.0.1:1", "cs_1", &ProofKey::new("key".into())).expect("written");
        let mode = |path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!(mode(dir.to_path_buf()), 0o700);
        for file in ["broker.lock", "broker.json", "operator.token"] {
            assert_eq!(mode(dir.join(file)), 0o600, "{file}");
        }
    }
}
