//! Compares the result of a diff with an existing tree. This is the proof behind the gate.

use crate::{GitError, Repository};

/// Limits the list of differing file names.
const MAX_NAMES_BYTES: usize = 256 * 1024;

impl Repository {
    /// Applies `diff` to the commit `base` (`None`: the empty tree) and lists the files in which the result differs
    /// from `tree`. An empty list means that the trees are identical, including all modes.
    ///
    /// A diff that does not apply is [`GitError::DoesNotApply`].
    pub async fn differing_files(&self, base: Option<&str>, diff: &str, tree: &str) -> Result<Vec<String>, GitError> {
        self.check_size(diff)?;
        self.check_id(base)?;
        self.check_id(Some(tree))?;
        let mut session = self.session_with_index().await?;
        self.fill_index(&mut session, base, Some(diff)).await?;
        let result = self.write_tree(&mut session).await?;
        if result == tree {
            return Ok(Vec::new());
        }
        let git = self.scratch("comparing the files").stdout_limit(MAX_NAMES_BYTES);
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let output = session.run(git.args(options).args([result.as_str(), tree, "--"]), &[]).await?;
        if !output.success {
            return Err(GitError::failed("comparing the files", output.stderr()));
        }
        let names = output.stdout().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The tree of a merge of two commits that git resolves without conflicts, otherwise `None`. Merge drivers of the
    /// repository do not run.
    pub async fn merged_tree(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        self.check_id(Some(one))?;
        self.check_id(Some(other))?;
        let mut session = self.session_with_index().await?;
        let git = self.scratch("merging two commits").stdout_limit(MAX_NAMES_BYTES);
        let git = git.args(["merge-tree", "--write-tree", "--no-messages", one, other]);
        let output = session.run(git, &[]).await?;
        Ok(output.success.then(|| output.text()))
    }

    /// The patch id of the diff between the commit `base` (`None`: the empty tree) and `tree`.
    pub async fn patch_id_between(&self, base: Option<&str>, tree: &str) -> Result<Option<String>, GitError> {
        let mut session = self.session_with_index().await?;
        let from = match base {
            Some(base) => base.to_owned(),
            None => self.empty_tree(&mut session).await?,
        };
        let diff = self.diff_trees(&mut session, &from, tree).await?;
        drop(session);
        self.patch_id(&diff).await
    }
}
