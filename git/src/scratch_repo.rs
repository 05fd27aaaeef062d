//! Manages the broker's own bare repository, in which diffs are checked. It borrows the objects of a registered
//! repository, and caches the index of each base commit.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::GitError;
use crate::discovery::RepoLayout;
use crate::repository::Session;

/// Distinguishes the folders of this process from those that an earlier process left.
static RUN: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

/// Dropping it removes the folder and everything in it.
#[derive(Debug)]
pub(crate) struct ScratchRepo {
    folder: PathBuf,
    index_cache: IndexCache,
}

impl ScratchRepo {
    /// Creates a folder for the repository at `root` and removes those of earlier processes.
    pub(crate) fn claim(scratch_root: &Path, root: &Path) -> Result<ScratchRepo, GitError> {
        let failed = |error| GitError::failed("preparing the scratch folder", error);
        let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, root.as_os_str().as_bytes());
        let home = scratch_root.join(key.simple().to_string());
        // The folder contains copies of the user's files, so only the owner may read it.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&home).map_err(failed)?;
        let home = fs::canonicalize(&home).map_err(failed)?;
        remove_earlier_runs(&home).map_err(failed)?;
        let folder = home.join(format!("{}-{}", *RUN, Uuid::new_v4().simple()));
        let index_cache = IndexCache { folder: folder.join("indexes"), entries: Mutex::default() };
        let scratch = ScratchRepo { index_cache, folder };
        scratch.make_folders().map_err(failed)?;
        Ok(scratch)
    }

    /// Writes the files that `git init --bare` would write, without a template or a process.
    pub(crate) fn build(&self, layout: &RepoLayout) -> Result<(), GitError> {
        let config = match layout.format.as_str() {
            "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
            other => format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {other}\n"
            ),
        };
        let build = || {
            self.make_folders()?;
            let repo = self.repo();
            fs::create_dir_all(repo.join("refs"))?;
            fs::create_dir_all(repo.join("objects/info"))?;
            fs::write(repo.join("objects/info/alternates"), alternates(layout, None))?;
            fs::write(repo.join("config"), config)?;
            // Written last: its presence means that the repository is complete.
            fs::write(repo.join("HEAD"), "ref: refs/heads/scratch\n")
        };
        build().map_err(|error| GitError::failed("preparing the scratch repository", error))
    }

    /// Lets the history end where that of a shallow clone ends.
    pub(crate) fn copy_shallow_commits(&self, layout: &RepoLayout) -> Result<(), GitError> {
        let shallow = layout.common_dir.join("shallow");
        if layout.bare || !shallow.is_file() {
            return Ok(());
        }
        let copied = fs::copy(shallow, self.repo().join("shallow"));
        copied.map(drop).map_err(|error| GitError::failed("preparing the scratch repository", error))
    }

    /// Builds the repository again if a cleaner of temporary files removed it.
    pub(crate) fn rebuild_if_missing(&self, layout: &RepoLayout) -> Result<(), GitError> {
        let is_complete = self.repo().join("HEAD").exists() && self.empty_home().exists();
        if is_complete { Ok(()) } else { self.build(layout) }
    }

    /// Creates a private folder for the index of a session and the objects that it writes.
    pub(crate) fn add_session_folder(&self, session: &mut Session<'_>) -> Result<(), GitError> {
        let folder = self.folder.join("sessions").join(Uuid::new_v4().simple().to_string());
        session.set_folder(folder.clone());
        let create = || {
            fs::create_dir_all(folder.join("objects/info"))?;
            let own = self.repo().join("objects");
            fs::write(folder.join("objects/info/alternates"), alternates(&session.repo.layout, Some(&own)))
        };
        create().map_err(|error| GitError::failed("preparing the session folder", error))
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.join("repo.git")
    }

    /// `HOME` and working folder of every git process.
    pub(crate) fn empty_home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn make_folders(&self) -> io::Result<()> {
        [self.empty_home(), self.repo()].iter().try_for_each(fs::create_dir_all)
    }
}

impl Drop for ScratchRepo {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) const INDEX_CACHE_CAPACITY: usize = 32;

/// One index file per base commit. The least recently used are removed.
#[derive(Debug)]
struct IndexCache {
    folder: PathBuf,
    /// The least recently used first.
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    base: String,
    /// Set once the file exists. Concurrent callers wait for the first one to create it.
    created: Arc<OnceCell<()>>,
}

impl IndexCache {
    fn file(&self, base: &str) -> PathBuf {
        self.folder.join(base)
    }

    fn remove(&self, base: &str) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).retain(|entry| entry.base != base);
    }

    /// Moves `base` to the most recently used end, and evicts the oldest entry if the cache is full.
    fn touch(&self, base: &str) -> Arc<OnceCell<()>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match entries.iter().position(|entry| entry.base == base) {
            Some(at) => entries.remove(at),
            None => Entry { base: base.to_owned(), created: Arc::default() },
        };
        let cell = entry.created.clone();
        entries.push(entry);
        if entries.len() > INDEX_CACHE_CAPACITY {
            let oldest = entries.remove(0);
            let _ = fs::remove_file(self.file(&oldest.base));
        }
        cell
    }
}

impl Session<'_> {
    /// Copies the index of `base` into the session's folder, from the cache if possible.
    pub(crate) async fn load_index(&mut self, base: &str) -> Result<(), GitError> {
        const MAX_ATTEMPTS: u32 = 3;
        let cache = &self.repo.scratch.index_cache;
        for is_last in (1..=MAX_ATTEMPTS).map(|attempt| attempt == MAX_ATTEMPTS) {
            let reader = &mut *self;
            cache.touch(base).get_or_try_init(move || reader.read_tree(base)).await?;
            match tokio::fs::copy(cache.file(base), self.index()).await {
                Ok(_) => break,
                // Evicted between the two lines above.
                Err(error) if error.kind() == ErrorKind::NotFound && !is_last => cache.remove(base),
                Err(error) => return Err(GitError::failed("copying the index of the base", error)),
            }
        }
        Ok(())
    }

    /// Writes the index to the session's folder and renames it, so that a cached index is always complete.
    async fn read_tree(&mut self, base: &str) -> Result<(), GitError> {
        let output = self.try_run(self.scratch("reading the base").args(["read-tree", base]), &[]).await?;
        if !output.success {
            let message = output.stderr();
            return Err(if message.contains("failed to unpack tree") {
                GitError::UnknownBase { base: base.to_owned(), message }
            } else {
                GitError::failed("reading the base", message)
            });
        }
        let cache = &self.repo.scratch.index_cache;
        let store = || {
            fs::create_dir_all(&cache.folder)?;
            fs::rename(self.index(), cache.file(base))
        };
        store().map_err(|error| GitError::failed("caching the index of the base", error))
    }
}

fn remove_earlier_runs(home: &Path) -> io::Result<()> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        if !entry.file_name().as_bytes().starts_with(RUN.as_bytes()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The content of `objects/info/alternates`, quoted so that a path with a newline stays one entry.
fn alternates(layout: &RepoLayout, scratch: Option<&PathBuf>) -> Vec<u8> {
    let mut text = Vec::new();
    for objects in [&layout.objects].into_iter().chain(&layout.incoming_objects).chain(scratch) {
        text.push(b'"');
        for &byte in objects.as_os_str().as_bytes() {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', byte]),
                b'\n' => text.extend(b"\\n"),
                _ => text.push(byte),
            }
        }
        text.extend(b"\"\n");
    }
    text
}
