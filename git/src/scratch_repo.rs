//! The broker's own bare repository. It borrows the objects of a registered repository.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use uuid::Uuid;

use crate::GitError;
use crate::discovery::RepoLayout;
use crate::index_cache::IndexCache;
use crate::process::{Env, GitCommand};
use crate::session::Session;

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
        let scratch = ScratchRepo { index_cache: IndexCache::new(folder.join("indexes")), folder };
        scratch.make_folders().map_err(failed)?;
        Ok(scratch)
    }

    /// Writes the files that `git init --bare` would write, without a template or a process.
    pub(crate) fn build(&self, objects: &Path, format: &str) -> Result<(), GitError> {
        let config = match format {
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
            fs::write(repo.join("objects/info/alternates"), alternates(objects))?;
            fs::write(repo.join("config"), config)?;
            // Written last: its presence means that the repository is complete.
            fs::write(repo.join("HEAD"), "ref: refs/heads/scratch\n")
        };
        build().map_err(|error| GitError::failed("preparing the scratch repository", error))
    }

    /// Builds the repository again if a cleaner of temporary files removed it.
    pub(crate) fn rebuild_if_missing(&self, layout: &RepoLayout) -> Result<(), GitError> {
        if self.repo().join("HEAD").exists() && self.empty_home().exists() {
            return Ok(());
        }
        self.build(&layout.objects, &layout.format)
    }

    /// Creates a private folder for the index of a session and the objects that it writes.
    pub(crate) fn add_session_folder(&self, session: &mut Session, objects: &Path) -> Result<(), GitError> {
        let folder = self.folder.join("sessions").join(Uuid::new_v4().simple().to_string());
        session.set_folder(folder.clone());
        let create = || {
            fs::create_dir_all(folder.join("objects/info"))?;
            fs::write(folder.join("objects/info/alternates"), alternates(objects))
        };
        create().map_err(|error| GitError::failed("preparing the session folder", error))
    }

    /// Copies the index of `base` into the session's folder, from the cache if possible.
    pub(crate) async fn load_index(&self, session: &mut Session, base: &str) -> Result<(), GitError> {
        const MAX_ATTEMPTS: u32 = 3;
        for is_last in (1..=MAX_ATTEMPTS).map(|attempt| attempt == MAX_ATTEMPTS) {
            let reader = &mut *session;
            let cached = self.index_cache.get_or_create(base, move || self.read_tree(reader, base)).await?;
            match tokio::fs::copy(&cached, session.index()).await {
                Ok(_) => break,
                // Evicted between the two lines above.
                Err(error) if error.kind() == ErrorKind::NotFound && !is_last => self.index_cache.remove(base),
                Err(error) => return Err(GitError::failed("copying the index of the base", error)),
            }
        }
        Ok(())
    }

    /// Writes the index to the session's folder and renames it, so that a cached index is always complete.
    async fn read_tree(&self, session: &mut Session, base: &str) -> Result<(), GitError> {
        let output = session.run(self.command("reading the base").args(["read-tree", base]), &[]).await?;
        if !output.success {
            let message = output.stderr();
            return Err(if message.contains("failed to unpack tree") {
                GitError::UnknownBase { base: base.to_owned(), message }
            } else {
                GitError::failed("reading the base", message)
            });
        }
        let store = || {
            fs::create_dir_all(self.index_cache.folder())?;
            fs::rename(session.index(), self.index_cache.file(base))
        };
        store().map_err(|error| GitError::failed("caching the index of the base", error))
    }

    /// A command in this repository, in a clean environment.
    pub(crate) fn command(&self, task: &'static str) -> GitCommand {
        let home = self.empty_home();
        GitCommand::new(task, Env::Clean { home: home.clone() }, &home).git_dir(&self.repo())
    }

    fn repo(&self) -> PathBuf {
        self.folder.join("repo.git")
    }

    /// `HOME` and working folder of every git process.
    fn empty_home(&self) -> PathBuf {
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

fn remove_earlier_runs(home: &Path) -> io::Result<()> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        if !entry.file_name().as_bytes().starts_with(RUN.as_bytes()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The one line of `objects/info/alternates`, quoted so that a path with a newline stays one entry.
fn alternates(objects: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for &byte in objects.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', byte]),
            b'\n' => line.extend(b"\\n"),
            _ => line.push(byte),
        }
    }
    line.extend(b"\"\n");
    line
}
