//! Answers questions about a repository in this process, without starting git: which commit a name means, whether a diff
//! applies and to which tree it leads, and the patch id of a diff.
//!
//! The engine is one-sided. It gives an answer only if git would give the same one, and declines everything else: diffs
//! that do not apply, unusual forms, missing objects and work beyond its budget. Git then decides, with its own message.
//! Nothing of the repository's configuration, attributes, filters or hooks is read.

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
mod tree_validation;
mod tree_writer;
mod work_budget;

use std::sync::Arc;

use domain::diff::{ZeroContext, apply_parts};

use crate::discovery::RepoLayout;
use hunks::Context;
use object_id::{Algorithm, Kind, ObjectId};
use objects::{ObjectReader, Objects};
use refs::Refs;
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
    /// `None` if the object format is unknown.
    pub(crate) fn new(layout: &RepoLayout, cache: Arc<ObjectCache>) -> Option<Self> {
        let algorithm = Algorithm::of_format(&layout.format)?;
        Some(Self {
            objects: Objects::new(layout.objects.clone(), algorithm, cache),
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
        let mut reader = ObjectReader::new(&self.objects);
        let mut tree = match base {
            Some(base) => self.tree_of(&mut reader, base)?,
            None => reader.add(Kind::Tree, Vec::new())?,
        };
        self.checked_trees.check(&mut reader, &tree)?;
        for part in apply_parts(diff) {
            let context = match part.zero_context {
                ZeroContext::No | ZeroContext::Possible => Context::Required,
                ZeroContext::Certain => Context::Optional,
            };
            let patches = part.patches.ok_or(Declined("a diff that cannot be parsed"))?;
            if patches.is_empty() || patches.len() > MAX_PATCHES {
                return Err(Declined("no patch, or too many"));
            }
            tree = apply::apply_patches(&mut reader, &tree, &patches, context)?;
        }
        Ok(tree.to_string())
    }

    /// The stable patch id of a diff, which ends in a newline; `None` if it has none.
    pub(crate) fn patch_id(&self, diff: &str) -> Result<Option<String>, Declined> {
        patch_id::patch_id(diff, self.objects.algorithm)
    }

    /// The number of commits in `head` that are not in `base`.
    pub(crate) fn count_commits(&self, base: &str, head: &str) -> Result<u64, Declined> {
        let parse = |id: &str| ObjectId::parse(id.as_bytes(), self.objects.algorithm).ok_or(Declined("not an id"));
        if self.refs.has_grafts() {
            return Err(Declined("a shallow clone"));
        }
        commits::count_commits(&mut ObjectReader::new(&self.objects), parse(base)?, parse(head)?)
    }

    fn tree_of(&self, reader: &mut ObjectReader<'_>, commit: &str) -> Result<ObjectId, Declined> {
        let id = ObjectId::parse(commit.as_bytes(), self.objects.algorithm).ok_or(Declined("not an id"))?;
        commits::Commit::read(reader, &id).map(|commit| commit.tree)
    }
}
