//! Reads the content of files that a proposal changes, before and after its diff.
//!
//! It reads git objects through the broker's own scratch repository, so no filter or text conversion that the user's
//! repository configures can run.

use std::collections::HashMap;

use crate::repository::Session;
use crate::{GitError, Repository};

/// Larger files are not reviewed line by line, so they are not loaded.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// Limits all files of one call together.
const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// Space for the line that git prints before each object.
const HEADER_BYTES: usize = 128;

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersions {
    pub after: FileContent,
    pub before: FileContent,
}

/// What a tree contains at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    Text(String),
    Binary,
    /// Not a file: nothing, a folder or a submodule.
    Absent,
    TooLarge,
}

/// The object that a path resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Blob {
    id: String,
    bytes: usize,
}

impl Repository {
    /// Reads each of `paths` in `base` and in `base` with `diff` applied. `base` is a full id, or `None` for the empty
    /// tree. A diff that does not apply is an error.
    pub async fn read_files(
        &self,
        base: Option<&str>,
        diff: Option<&str>,
        paths: &[String],
    ) -> Result<Vec<FileVersions>, GitError> {
        self.0.check_size(diff.unwrap_or_default())?;
        let mut session = self.session_with_index().await?;
        session.fill_index(base, diff).await?;
        let after: Vec<_> = paths.iter().map(|path| is_path(path).then(|| format!(":0:{path}"))).collect();
        let before: Vec<_> =
            paths.iter().map(|path| base.filter(|_| is_path(path)).map(|base| format!("{base}:{path}"))).collect();
        let blobs = session.find_blobs(&[after, before].concat()).await?;
        let contents = session.read_blobs(&blobs).await?;
        let content = |blob: &Option<Blob>| match blob {
            None => FileContent::Absent,
            Some(blob) => contents.get(&blob.id).cloned().unwrap_or(FileContent::TooLarge),
        };
        let (after, before) = blobs.split_at(paths.len());
        let versions = after.iter().zip(before);
        Ok(versions.map(|(after, before)| FileVersions { after: content(after), before: content(before) }).collect())
    }

    /// Reads one path in `commit`, a full id, or `None` for the empty tree.
    pub async fn read_file(&self, commit: Option<&str>, path: &str) -> Result<FileContent, GitError> {
        self.0.check_id(commit)?;
        let Some(commit) = commit else { return Ok(FileContent::Absent) };
        if let Err(message) = self.find_commit(commit).await? {
            return Err(GitError::UnknownBase { base: commit.to_owned(), message });
        }
        let mut session = self.session().await?;
        let blobs = session.find_blobs(&[is_path(path).then(|| format!("{commit}:{path}"))]).await?;
        let Some(Some(blob)) = blobs.first() else { return Ok(FileContent::Absent) };
        let mut contents = session.read_blobs(&blobs).await?;
        Ok(contents.remove(&blob.id).unwrap_or(FileContent::TooLarge))
    }
}

impl Session<'_> {
    /// The blobs that `names` resolve to, in the order of `names`.
    async fn find_blobs(&mut self, names: &[Option<String>]) -> Result<Vec<Option<Blob>>, GitError> {
        let mut input = String::new();
        for name in names.iter().flatten() {
            input.push_str(&self.resolve_multiline_name(name).await?);
            input.push('\n');
        }
        // For a missing object, git repeats the name.
        let limit = input.len() + (HEADER_BYTES * names.len());
        let git = self.scratch("looking up the files").stdout_limit(limit);
        let git = git.args(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]);
        let output = self.run(git, &[input.as_bytes()]).await?;
        let mut lines = output.stdout().split(|&byte| byte == b'\n');
        let blob = |line: &[u8]| self.parse_blob(std::str::from_utf8(line).ok()?);
        Ok(names.iter().map(|name| name.as_ref().and_then(|_| lines.next()).and_then(blob)).collect())
    }

    fn parse_blob(&self, line: &str) -> Option<Blob> {
        let mut fields = line.split(' ');
        let (id, kind, bytes) = (fields.next()?, fields.next()?, fields.next()?);
        let is_blob = self.repo.layout.is_id(id) && kind == "blob" && fields.next().is_none();
        is_blob.then_some(Blob { id: id.to_owned(), bytes: bytes.parse().ok()? })
    }

    /// Git reads one name per line, so a name that contains a newline is resolved to an id first.
    async fn resolve_multiline_name(&mut self, name: &str) -> Result<String, GitError> {
        if !name.contains('\n') {
            return Ok(name.to_owned());
        }
        let git = self.scratch("looking up a file");
        let git = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
        let output = self.try_run(git, &[]).await?;
        let id = output.text();
        Ok(if output.success && self.repo.layout.is_id(&id) { id } else { "absent".to_owned() })
    }

    /// Contents by blob id, within the limits. A blob at several paths is read once.
    async fn read_blobs(&mut self, blobs: &[Option<Blob>]) -> Result<HashMap<String, FileContent>, GitError> {
        let mut wanted: Vec<&Blob> = Vec::new();
        let mut remaining = MAX_TOTAL_BYTES;
        for blob in blobs.iter().flatten() {
            if blob.bytes <= MAX_FILE_BYTES.min(remaining) && !wanted.contains(&blob) {
                remaining -= blob.bytes;
                wanted.push(blob);
            }
        }
        let input: String = wanted.iter().map(|blob| format!("{}\n", blob.id)).collect();
        let limit = (MAX_TOTAL_BYTES - remaining) + (HEADER_BYTES * wanted.len());
        let git = self.scratch("reading the files").stdout_limit(limit).args(["cat-file", "--batch"]);
        let output = self.run(git, &[input.as_bytes()]).await?;
        let contents = split_blobs(output.stdout(), &wanted);
        contents.ok_or_else(|| GitError::failed("reading the files", "the output of git is incomplete"))
    }
}

/// Splits the output of `cat-file --batch`: for each blob a header line, the content and a newline.
fn split_blobs(mut output: &[u8], wanted: &[&Blob]) -> Option<HashMap<String, FileContent>> {
    let mut contents = HashMap::new();
    for blob in wanted {
        let header = output.iter().position(|&byte| byte == b'\n')?;
        let bytes = output.get(header + 1..)?;
        contents.insert(blob.id.clone(), classify(bytes.get(..blob.bytes)?));
        output = bytes.get(blob.bytes + 1..)?;
    }
    Some(contents)
}

fn classify(bytes: &[u8]) -> FileContent {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => FileContent::Text(text.to_owned()),
        Ok(_) | Err(_) => FileContent::Binary,
    }
}

/// Whether a tree can contain this path. Git might read anything else as relative, or not as a path.
fn is_path(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
