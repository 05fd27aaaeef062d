//! Resolves the name of a commit by reading the repository's ref files: HEAD, branches and tags, loose or packed.
//!
//! Expressions (`~`, `^`, `@{…}`), abbreviated ids, refs that are symlinks and reftables are left to git.

use std::cmp::Ordering;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Declined;
use super::object_id::{Algorithm, Kind, ObjectId};
use super::objects::ObjectReader;
use super::repository_files::{Stamp, open_file, read_file};

/// Where git looks for a name, in this order.
const PREFIXES: [&str; 4] = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
/// Refs of a working tree; the others belong to all working trees of a repository.
const WORKTREE_REFS: [&str; 5] = ["bisect", "worktree", "rewritten", "worktrees", "main-worktree"];
const MAX_SYMREFS: usize = 5;
const MAX_TAGS: usize = 10;
const MAX_REF_BYTES: u64 = 4096;
const MAX_PACKED_REFS_BYTES: u64 = 32 * 1024 * 1024;

const UNREADABLE: Declined = Declined("refs that cannot be read");

/// The refs of one working tree.
#[derive(Debug)]
pub(crate) struct Refs {
    algorithm: Algorithm,
    git_dir: PathBuf,
    /// The folder that all working trees of the repository share.
    common_dir: PathBuf,
    packed: Mutex<Option<(Stamp, Arc<[u8]>)>>,
}

/// The content of a ref.
enum RefValue {
    Id(ObjectId),
    /// The name of another ref.
    Symbolic(String),
}

impl Refs {
    pub(crate) fn new(git_dir: PathBuf, common_dir: PathBuf, algorithm: Algorithm) -> Self {
        Self { algorithm, git_dir, common_dir, packed: Mutex::default() }
    }

    /// The commit that a name resolves to now.
    pub(crate) fn resolve(&self, reader: &mut ObjectReader<'_>, name: &str) -> Result<ObjectId, Declined> {
        let id = match ObjectId::parse(name.as_bytes(), self.algorithm) {
            Some(id) => id,
            None => self.find(name)?,
        };
        peel(reader, id)
    }

    /// Whether files of the repository change the parents of commits.
    pub(crate) fn has_grafts(&self) -> bool {
        ["shallow", "info/grafts"].iter().any(|file| self.common_dir.join(file).exists())
    }

    /// The id that a name leads to.
    pub(crate) fn find(&self, name: &str) -> Result<ObjectId, Declined> {
        const NOT_FOUND: Declined = Declined("no such ref");
        if self.common_dir.join("reftable").exists() {
            return Err(Declined("a reftable"));
        }
        if name == "HEAD" {
            return self.follow(RefValue::Symbolic(name.to_owned()));
        }
        if !is_plain_name(name) {
            return Err(Declined("a name that only git resolves"));
        }
        if name.starts_with("refs/") {
            return self.follow(self.read(name)?.ok_or(NOT_FOUND)?);
        }
        // A file such as FETCH_HEAD would be found first.
        if [&self.git_dir, &self.common_dir].iter().any(|dir| fs::symlink_metadata(dir.join(name)).is_ok()) {
            return Err(Declined("a name that only git resolves"));
        }
        for prefix in PREFIXES {
            if let Some(value) = self.read(&format!("{prefix}{name}"))? {
                return self.follow(value);
            }
        }
        self.follow(self.read(&format!("refs/remotes/{name}/HEAD"))?.ok_or(NOT_FOUND)?)
    }

    /// Follows symbolic refs to an id.
    fn follow(&self, mut value: RefValue) -> Result<ObjectId, Declined> {
        for _ in 0..=MAX_SYMREFS {
            match value {
                RefValue::Id(id) => return Ok(id),
                RefValue::Symbolic(name) => value = self.read(&name)?.ok_or(Declined("a ref to nothing"))?,
            }
        }
        Err(Declined("a long chain of refs"))
    }

    /// Reads a full name: HEAD, or one that begins with `refs/`.
    fn read(&self, name: &str) -> Result<Option<RefValue>, Declined> {
        let dir = if name == "HEAD" { &self.git_dir } else { &self.common_dir };
        if let Some(value) = self.read_loose(&dir.join(name))? {
            return Ok(Some(value));
        }
        if name == "HEAD" { Ok(None) } else { Ok(self.find_packed(name)?.map(RefValue::Id)) }
    }

    fn read_loose(&self, path: &Path) -> Result<Option<RefValue>, Declined> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(metadata) if metadata.is_dir() => return Ok(None),
            Ok(_) => return Err(UNREADABLE),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(_) => return Err(UNREADABLE),
        }
        let content = open_file(path).and_then(|file| read_file(&file, MAX_REF_BYTES)).map_err(|_| UNREADABLE)?;
        let text = String::from_utf8(content).map_err(|_| UNREADABLE)?;
        let line = text.strip_suffix('\n').ok_or(UNREADABLE)?;
        if let Some(target) = line.strip_prefix("ref: ") {
            let is_ref = target.starts_with("refs/") && is_plain_name(target);
            return if is_ref { Ok(Some(RefValue::Symbolic(target.to_owned()))) } else { Err(UNREADABLE) };
        }
        ObjectId::parse(line.as_bytes(), self.algorithm).map(RefValue::Id).map(Some).ok_or(UNREADABLE)
    }

    fn find_packed(&self, name: &str) -> Result<Option<ObjectId>, Declined> {
        let Some(text) = self.packed_refs()? else { return Ok(None) };
        let header = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let is_sorted = header
            .strip_prefix(b"# pack-refs with:")
            .is_some_and(|traits| traits.split(|&byte| byte == b' ').any(|word| word == b"sorted"));
        if !is_sorted || text.last() != Some(&b'\n') {
            return Err(UNREADABLE);
        }
        let lines = text.get(header.len() + 1..).unwrap_or_default();
        let Some(line) = bisect(lines, name.as_bytes())? else { return Ok(None) };
        let id = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        ObjectId::parse(id, self.algorithm).map(Some).ok_or(UNREADABLE)
    }

    /// The content of `packed-refs`, read again if the file changed.
    fn packed_refs(&self) -> Result<Option<Arc<[u8]>>, Declined> {
        let file = match open_file(&self.common_dir.join("packed-refs")) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(UNREADABLE),
        };
        let stamp = Stamp::of(&file.metadata().map_err(|_| UNREADABLE)?);
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = &*packed
            && *known == stamp
        {
            return Ok(Some(Arc::clone(text)));
        }
        let text: Arc<[u8]> = read_file(&file, MAX_PACKED_REFS_BYTES).map_err(|_| UNREADABLE)?.into();
        *packed = Some((stamp, Arc::clone(&text)));
        Ok(Some(text))
    }
}

/// Follows tags to a commit, which must exist.
fn peel(reader: &mut ObjectReader<'_>, mut id: ObjectId) -> Result<ObjectId, Declined> {
    for _ in 0..=MAX_TAGS {
        let object = reader.read(&id)?;
        match object.kind {
            Kind::Commit => return Ok(id),
            Kind::Tag => {
                let line = object.content.split(|&byte| byte == b'\n').next().unwrap_or_default();
                let target = line.strip_prefix(b"object ").and_then(|hex| ObjectId::parse(hex, reader.algorithm()));
                id = target.ok_or(Declined("a malformed tag"))?;
            }
            Kind::Tree | Kind::Blob => return Err(Declined("a name of another object")),
        }
    }
    Err(Declined("a long chain of tags"))
}

/// Finds the line `ID NAME` among lines that are sorted by name. A line with `^` belongs to the line before it.
fn bisect<'a>(lines: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>, Declined> {
    let line_start = |at: usize| {
        let newline = lines.get(..at).and_then(|before| before.iter().rposition(|&byte| byte == b'\n'));
        newline.map_or(0, |newline| newline + 1)
    };
    let line_at = |start: usize| lines.get(start..).and_then(|rest| rest.split(|&byte| byte == b'\n').next());
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let mut start = line_start(usize::midpoint(low, high));
        if lines.get(start) == Some(&b'^') {
            start = line_start(start.checked_sub(1).ok_or(UNREADABLE)?);
        }
        let line = line_at(start).ok_or(UNREADABLE)?;
        let blank = line.iter().position(|&byte| byte == b' ').ok_or(UNREADABLE)?;
        match line.get(blank + 1..).unwrap_or_default().cmp(name) {
            Ordering::Equal => return Ok(Some(line)),
            Ordering::Greater => high = start,
            Ordering::Less => {
                low = start + line.len() + 1;
                if let Some(peeled) = line_at(low).filter(|line| line.starts_with(b"^")) {
                    low += peeled.len() + 1;
                }
            }
        }
    }
    Ok(None)
}

/// Whether a name is a ref and nothing else: no expression, no ref of a single working tree, no unusual character.
fn is_plain_name(name: &str) -> bool {
    let is_plain_char = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/+#%=,".contains(&byte);
    let is_plain_part = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let short = name.strip_prefix("refs/").unwrap_or(name);
    let first = short.split('/').next().unwrap_or_default();
    name.bytes().all(is_plain_char)
        && !name.contains("..")
        && name.split('/').all(is_plain_part)
        && !WORKTREE_REFS.contains(&first)
}
