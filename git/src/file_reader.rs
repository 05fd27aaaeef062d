//! What stands in the files of a proposal, and what changed between two of them.
//!
//! Read from objects alone, in the scratch repository: no filter, text conversion or diff driver of the project runs.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;

use domain::diff::apply_parts;

use crate::process::{Git, Job};
use crate::{GitError, Repository};

/// A file above this is not worth holding in memory: nobody reviews it line by line.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// For all files of one call together.
const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// Room for the line git prints before each object.
const HEADER_BYTES: usize = 128;

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSides {
    pub after: Stored,
    pub before: Stored,
}

/// What a tree holds at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    Text(String),
    Binary,
    /// No file: nothing at all, a folder or a submodule.
    Absent,
    TooLarge,
}

/// A blob that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Blob {
    id: String,
    bytes: usize,
}

impl Repository {
    /// Each of `paths` in `base` with `diff` applied, and in `base` itself; `base` is a full id or `None` for the
    /// empty tree. A diff that does not apply is an error.
    pub async fn read_files(
        &self,
        base: Option<&str>,
        diff: Option<&str>,
        paths: &[String],
    ) -> Result<Vec<FileSides>, GitError> {
        let mut job = self.furnished_job().await?;
        self.fill_index(&mut job, base, diff).await?;
        let after: Vec<_> = paths.iter().map(|path| is_path(path).then(|| format!(":0:{path}"))).collect();
        let before: Vec<_> =
            paths.iter().map(|path| base.filter(|_| is_path(path)).map(|base| format!("{base}:{path}"))).collect();
        let blobs = self.find_blobs(&mut job, &[after, before].concat()).await?;
        let texts = self.read_blobs(&mut job, &blobs).await?;
        let stored = |blob: &Option<Blob>| match blob {
            None => Stored::Absent,
            Some(blob) => texts.get(&blob.id).cloned().unwrap_or(Stored::TooLarge),
        };
        let (after, before) = blobs.split_at(paths.len());
        Ok(after.iter().zip(before).map(|(a, b)| FileSides { after: stored(a), before: stored(b) }).collect())
    }

    /// What changed from one content to the other, each a base and a diff, as one diff between the files they lead to.
    pub async fn diff_contents(
        &self,
        from: (Option<&str>, Option<&str>),
        to: (Option<&str>, Option<&str>),
    ) -> Result<String, GitError> {
        let mut job = self.furnished_job().await?;
        let from = self.content_tree(&mut job, from).await?;
        let to = self.content_tree(&mut job, to).await?;
        self.diff_trees(&mut job, &from, &to).await
    }

    /// Fills the job's index with `base`, or empties it, and applies `diff` to it.
    pub(crate) async fn fill_index(
        &self,
        job: &mut Job,
        base: Option<&str>,
        diff: Option<&str>,
    ) -> Result<(), GitError> {
        self.check_id(base)?;
        self.check_size(diff.unwrap_or_default())?;
        match base {
            Some(base) => self.0.scratch.place_index(job, base).await?,
            None => match fs::remove_file(job.index()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(GitError::failed("emptying the index", error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        for part in diff.map(apply_parts).unwrap_or_default() {
            if let Some(words) = self.apply(job, part).await? {
                return Err(GitError::DoesNotApply { words });
            }
        }
        Ok(())
    }

    async fn content_tree(&self, job: &mut Job, content: (Option<&str>, Option<&str>)) -> Result<String, GitError> {
        self.fill_index(job, content.0, content.1).await?;
        self.write_tree(job).await
    }

    /// The blobs that `names` lead to, in their order.
    async fn find_blobs(&self, job: &mut Job, names: &[Option<String>]) -> Result<Vec<Option<Blob>>, GitError> {
        let mut asked = String::new();
        for name in names.iter().flatten() {
            asked.push_str(&self.on_one_line(job, name).await?);
            asked.push('\n');
        }
        // where there is nothing, git repeats the name it was given
        let keep = asked.len() + (HEADER_BYTES * names.len());
        let git = Git::new("looking up the files", &self.0.scratch).keep(keep);
        let git = git.args(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]);
        let found = job.run(git, &[asked.as_bytes()]).await?;
        if !found.success {
            return Err(GitError::failed("looking up the files", found.words()));
        }
        let mut lines = found.printed().split(|&byte| byte == b'\n');
        let blob = |line: &[u8]| self.read_blob_line(std::str::from_utf8(line).ok()?);
        Ok(names.iter().map(|name| name.as_ref().and_then(|_| lines.next()).and_then(blob)).collect())
    }

    fn read_blob_line(&self, line: &str) -> Option<Blob> {
        let mut words = line.split(' ');
        let (id, kind, bytes) = (words.next()?, words.next()?, words.next()?);
        let is_blob = self.0.project.is_id(id) && kind == "blob" && words.next().is_none();
        is_blob.then_some(Blob { id: id.to_owned(), bytes: bytes.parse().ok()? })
    }

    /// Git reads names by the line, so one that holds a line break is asked for by itself.
    async fn on_one_line(&self, job: &mut Job, name: &str) -> Result<String, GitError> {
        if !name.contains('\n') {
            return Ok(name.to_owned());
        }
        let git = Git::new("looking up a file", &self.0.scratch);
        let found = job.run(git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", name]), &[]).await?;
        let id = found.line();
        Ok(if found.success && self.0.project.is_id(&id) { id } else { "absent".to_owned() })
    }

    /// The blobs by id, as far as they fit; a blob that stands at many paths is read once.
    async fn read_blobs(&self, job: &mut Job, blobs: &[Option<Blob>]) -> Result<HashMap<String, Stored>, GitError> {
        let mut wanted: Vec<&Blob> = Vec::new();
        let mut room = MAX_TOTAL_BYTES;
        for blob in blobs.iter().flatten() {
            if blob.bytes <= MAX_FILE_BYTES.min(room) && !wanted.contains(&blob) {
                room -= blob.bytes;
                wanted.push(blob);
            }
        }
        let asked: String = wanted.iter().map(|blob| format!("{}\n", blob.id)).collect();
        let keep = (MAX_TOTAL_BYTES - room) + (HEADER_BYTES * wanted.len());
        let git = Git::new("reading the files", &self.0.scratch).keep(keep).args(["cat-file", "--batch"]);
        let read = job.run(git, &[asked.as_bytes()]).await?;
        if !read.success {
            return Err(GitError::failed("reading the files", read.words()));
        }
        split_blobs(read.printed(), &wanted).ok_or_else(|| GitError::failed("reading the files", "git stopped early"))
    }
}

/// Takes apart what `cat-file --batch` prints: a line, so many bytes, a line break, for each blob.
fn split_blobs(mut printed: &[u8], wanted: &[&Blob]) -> Option<HashMap<String, Stored>> {
    let mut texts = HashMap::new();
    for blob in wanted {
        let header = printed.iter().position(|&byte| byte == b'\n')?;
        let bytes = printed.get(header + 1..)?;
        texts.insert(blob.id.clone(), stored(bytes.get(..blob.bytes)?));
        printed = bytes.get(blob.bytes + 1..)?;
    }
    Some(texts)
}

fn stored(bytes: &[u8]) -> Stored {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Stored::Text(text.to_owned()),
        Ok(_) | Err(_) => Stored::Binary,
    }
}

/// Whether a tree can hold it. Anything else git might take for a path from where it stands, or not for a path.
fn is_path(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
