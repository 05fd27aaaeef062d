//! Answers questions about a repository in this process, without starting git: which commit a name means, whether a diff
//! applies and to which tree it leads, and the patch id of a diff.
//!
//! The engine answers only what it is sure of, for example that a diff applies. It never says that one does not: it declines,
//! as it does for unusual forms, missing objects and work that would take too long, and the caller runs git. Neither the
//! engine nor the git that is then run reads the configuration, attributes, filters or hooks of the repository.

mod apply;
mod binary_patch;
mod commits;
mod delta;
mod forbidden_paths;
mod hunks;
mod object_id;
mod objects;
mod pack;
mod patch_id;
mod refs;
mod repository_files;
mod tree;
mod tree_changes;
mod tree_validation;
mod tree_writer;
mod work_budget;

use std::path::PathBuf;
use std::sync::Arc;

use domain::diff::{ZeroContext, apply_parts};

use crate::discovery::RepoLayout;
use crate::history::{CommitRecord, Walk};
use hunks::Context;
use object_id::{Algorithm, Kind, ObjectId};
use objects::{ObjectReader, Objects};
use refs::Refs;
use tree::Mode;
use tree_validation::CheckedTrees;

pub(crate) use objects::{ByteWeighter, ObjectCache};

/// Patches of one diff. Git needs a second for this many new files.
const MAX_PATCHES: usize = 50_000;
/// The size of the cache of all repositories.
pub(crate) const CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// Why the engine leaves a question to git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Declined(pub(crate) &'static str);

/// Reads one repository. All calls block: they read files and compute hashes.
#[derive(Debug)]
pub(crate) struct Engine {
    objects: Objects,
    refs: Refs,
    checked_trees: CheckedTrees,
}

impl Engine {
    /// Reads the objects of a repository, and those in further folders. `None` if the object format is unknown.
    pub(crate) fn new(layout: &RepoLayout, further_objects: Vec<PathBuf>, cache: Arc<ObjectCache>) -> Option<Self> {
        let algorithm = Algorithm::of_format(&layout.format)?;
        Some(Self {
            objects: Objects::new(layout.objects.clone(), further_objects, algorithm, cache),
            refs: Refs::new(layout.git_dir.clone(), layout.common_dir.clone(), algorithm),
            checked_trees: CheckedTrees::default(),
        })
    }

    /// The id of the commit that `name` means now.
    pub(crate) fn resolve(&self, name: &str) -> Result<String, Declined> {
        let id = self.refs.resolve(&mut ObjectReader::new(&self.objects), name)?;
        Ok(id.to_string())
    }

    /// The id of the tree to which `diff` leads from the commit `base`; `None` is the empty tree. The text ends in a
    /// newline.
    pub(crate) fn apply(&self, base: Option<&str>, diff: &str) -> Result<String, Declined> {
        Ok(self.apply_to(&mut ObjectReader::new(&self.objects), base, diff)?.to_string())
    }

    /// The files in which `tree` differs from the tree to which `diff` leads from `base`.
    pub(crate) fn differing_files(&self, base: Option<&str>, diff: &str, tree: &str) -> Result<Vec<String>, Declined> {
        let mut reader = ObjectReader::new(&self.objects);
        let (result, wanted) = (self.apply_to(&mut reader, base, diff)?, self.parse(tree)?);
        let paths = tree_changes::changed_paths(&mut reader, &result, &wanted)?;
        Ok(paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    fn apply_to(&self, reader: &mut ObjectReader<'_>, base: Option<&str>, diff: &str) -> Result<ObjectId, Declined> {
        let mut tree = match base {
            Some(base) => self.tree_of(reader, base)?,
            None => reader.add(Kind::Tree, Vec::new())?,
        };
        self.checked_trees.check(reader, &tree)?;
        for part in apply_parts(diff) {
            let context = match part.zero_context {
                ZeroContext::No | ZeroContext::Possible => Context::Required,
                ZeroContext::Certain => Context::Optional,
            };
            let patches = part.patches.ok_or(Declined("a diff that cannot be parsed"))?;
            if patches.is_empty() || patches.len() > MAX_PATCHES {
                return Err(Declined("no patch, or too many"));
            }
            tree = apply::apply_patches(reader, &tree, &patches, context)?;
        }
        Ok(tree)
    }

    /// The stable patch id of a diff, which ends in a newline; `None` if it has none.
    pub(crate) fn patch_id(&self, diff: &str) -> Result<Option<String>, Declined> {
        patch_id::patch_id(diff, self.objects.algorithm)
    }

    /// The number of commits in `head` that are not in `base`.
    pub(crate) fn count_commits(&self, base: &str, head: &str) -> Result<u64, Declined> {
        let (base, head) = (self.parse(base)?, self.parse(head)?);
        Ok(commits::commits_since(&mut self.history()?, &base, &head)?.len() as u64)
    }

    /// The commits in `head` that are not in `base`, the newest first.
    pub(crate) fn commits_since(&self, base: &str, head: &str) -> Result<Vec<CommitRecord>, Declined> {
        let (base, head) = (self.parse(base)?, self.parse(head)?);
        let commits = commits::commits_since(&mut self.history()?, &base, &head)?;
        commits.into_iter().map(|(id, commit)| commit.record(&id)).collect()
    }

    pub(crate) fn list_commits(
        &self,
        tips: &[String],
        excluded: &[String],
        walk: Walk,
    ) -> Result<Vec<CommitRecord>, Declined> {
        let parse = |ids: &[String]| ids.iter().map(|id| self.parse(id)).collect::<Result<Vec<_>, _>>();
        commits::list_commits(&mut self.history()?, &parse(tips)?, &parse(excluded)?, walk)
    }

    /// The first parent of a commit, as the commit names it.
    pub(crate) fn first_parent(&self, commit: &str) -> Result<Option<String>, Declined> {
        let commit = commits::Commit::read(&mut ObjectReader::new(&self.objects), &self.parse(commit)?)?;
        Ok(commit.parents.first().map(ToString::to_string))
    }

    /// The last common ancestor of two commits.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<String, Declined> {
        let (one, other) = (self.parse(one)?, self.parse(other)?);
        Ok(commits::merge_base(&mut self.history()?, &one, &other)?.to_string())
    }

    /// The tree of a commit, or of the commit that a tag leads to; `None` is the empty tree.
    pub(crate) fn tree(&self, commit: Option<&str>) -> Result<String, Declined> {
        let mut reader = ObjectReader::new(&self.objects);
        let tree = match commit {
            Some(commit) => {
                let id = self.refs.resolve(&mut reader, commit)?;
                commits::Commit::read(&mut reader, &id)?.tree
            }
            None => reader.add(Kind::Tree, Vec::new())?,
        };
        Ok(tree.to_string())
    }

    /// The files in which two trees differ.
    pub(crate) fn changed_paths(&self, from: &str, to: &str) -> Result<Vec<String>, Declined> {
        let (from, to) = (self.parse(from)?, self.parse(to)?);
        let paths = tree_changes::changed_paths(&mut ObjectReader::new(&self.objects), &from, &to)?;
        Ok(paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// The content of a file in a commit; `None` if there is no such file, or it is larger than `max_bytes`.
    pub(crate) fn read_file(&self, commit: &str, path: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, Declined> {
        let mut reader = ObjectReader::new(&self.objects);
        let tree = self.tree_of(&mut reader, commit)?;
        match tree_changes::find_file_checked(&mut reader, &tree, path.as_bytes())? {
            None | Some((Mode::Submodule, _)) => Ok(None),
            Some((_, id)) => {
                let content = reader.read_kind(&id, Kind::Blob)?;
                Ok((content.len() <= max_bytes).then(|| content.to_vec()))
            }
        }
    }

    fn parse(&self, id: &str) -> Result<ObjectId, Declined> {
        ObjectId::parse(id.as_bytes(), self.objects.algorithm).ok_or(Declined("not an id"))
    }

    /// Reads commits, if no file of the repository changes their parents.
    fn history(&self) -> Result<ObjectReader<'_>, Declined> {
        if self.refs.has_grafts() {
            return Err(Declined("a shallow clone"));
        }
        Ok(ObjectReader::new(&self.objects))
    }

    fn tree_of(&self, reader: &mut ObjectReader<'_>, commit: &str) -> Result<ObjectId, Declined> {
        commits::Commit::read(reader, &self.parse(commit)?).map(|commit| commit.tree)
    }
}

/// The object format of a repository, `sha1` or `sha256`, by the id that HEAD leads to. `None` if HEAD names no commit.
pub(crate) fn find_object_format(layout: &RepoLayout) -> Option<&'static str> {
    let formats = [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256)];
    let reads =
        |algorithm| Refs::new(layout.git_dir.clone(), layout.common_dir.clone(), algorithm).find("HEAD").is_ok();
    formats.into_iter().find(|(_, algorithm)| reads(*algorithm)).map(|(format, _)| format)
}
