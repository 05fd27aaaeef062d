//! The broker's own bare repository beside a project, and the folders around it.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use uuid::Uuid;

use crate::GitError;
use crate::discovery::Project;
use crate::index_cache::Bases;
use crate::process::{Git, Job};

/// Tells this process's folders from those an earlier run left behind.
static RUN: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    bases: Bases,
}

impl Scratch {
    /// Takes a new folder for the project at `root` and wipes those of earlier runs.
    pub(crate) fn claim(scratch_root: &Path, root: &Path) -> Result<Scratch, GitError> {
        let failed = |error| GitError::failed("preparing the scratch folder", error);
        let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, root.as_os_str().as_bytes());
        let home = scratch_root.join(key.simple().to_string());
        // holds copies of the project, so it is the owner's alone
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&home).map_err(failed)?;
        let home = fs::canonicalize(&home).map_err(failed)?;
        wipe_earlier_runs(&home).map_err(failed)?;
        let folder = home.join(format!("{}-{}", *RUN, Uuid::new_v4().simple()));
        let scratch = Scratch { bases: Bases::new(folder.join("bases")), folder };
        scratch.make_folders().map_err(failed)?;
        Ok(scratch)
    }

    /// Writes by hand what `git init --bare` would: no template, no process.
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
            // last, because its presence says that all is there
            fs::write(repo.join("HEAD"), "ref: refs/heads/scratch\n")
        };
        build().map_err(|error| GitError::failed("preparing the scratch repository", error))
    }

    /// Builds the repository again if a cleaner of temporary files took it away.
    pub(crate) fn heal(&self, project: &Project) -> Result<(), GitError> {
        if self.repo().join("HEAD").exists() && self.empty_home().exists() {
            return Ok(());
        }
        self.build(&project.objects, &project.format)
    }

    /// Gives the job a folder of its own for its index and for the objects it writes.
    pub(crate) fn furnish(&self, job: &mut Job, objects: &Path) -> Result<(), GitError> {
        let folder = self.folder.join("jobs").join(Uuid::new_v4().simple().to_string());
        job.own(folder.clone());
        let furnish = || {
            fs::create_dir_all(folder.join("objects/info"))?;
            fs::write(folder.join("objects/info/alternates"), alternates(objects))
        };
        furnish().map_err(|error| GitError::failed("preparing the check", error))
    }

    /// Puts the index of `base` into the job's folder, from the cache where it can.
    pub(crate) async fn place_index(&self, job: &mut Job, base: &str) -> Result<(), GitError> {
        const TRIES: u32 = 3;
        for last in (0..TRIES).map(|n| n + 1 == TRIES) {
            let reader = &mut *job;
            let cached = self.bases.get_or_read(base, move || self.read_tree(reader, base)).await?;
            match tokio::fs::copy(&cached, job.index()).await {
                Ok(_) => break,
                // dropped from the cache between the two lines above
                Err(error) if error.kind() == ErrorKind::NotFound && !last => self.bases.forget(base),
                Err(error) => return Err(GitError::failed("copying the index of the base", error)),
            }
        }
        Ok(())
    }

    /// Written beside and renamed, so a cached index is whole or not there.
    async fn read_tree(&self, job: &mut Job, base: &str) -> Result<(), GitError> {
        let read = job.run(Git::new("reading the base", self).args(["read-tree", base]), &[]).await?;
        if !read.success {
            let words = read.words();
            return Err(if words.contains("failed to unpack tree") {
                GitError::UnknownBase { base: base.to_owned(), words }
            } else {
                GitError::Failed { what: "reading the base", words }
            });
        }
        let keep = || {
            fs::create_dir_all(self.bases.folder())?;
            fs::rename(job.index(), self.bases.file(base))
        };
        keep().map_err(|error| GitError::failed("keeping the index of the base", error))
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

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn wipe_earlier_runs(home: &Path) -> io::Result<()> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        if !entry.file_name().as_bytes().starts_with(RUN.as_bytes()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The one line of `objects/info/alternates`, quoted so that no path can be taken for two.
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
