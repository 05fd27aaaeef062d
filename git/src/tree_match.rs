//! Whether a diff makes exactly this of that: the proof behind a gate, by the same steps as the check of a proposal.

use crate::{GitError, Repository};

/// Names of the files in which what came out differs from what was expected; more are only counted by nobody.
const MAX_NAMES_BYTES: usize = 256 * 1024;

impl Repository {
    /// Applies `diff` to the commit `base` (`None`: to nothing) and names the files in which the result differs from
    /// `tree`, one of the project's trees. None at all: it is that tree to the byte, with all modes.
    ///
    /// A diff that does not apply is [`GitError::DoesNotApply`].
    pub async fn differing_files(&self, base: Option<&str>, diff: &str, tree: &str) -> Result<Vec<String>, GitError> {
        self.check_size(diff)?;
        self.check_id(base)?;
        self.check_id(Some(tree))?;
        let mut job = self.furnished_job().await?;
        self.fill_index(&mut job, base, Some(diff)).await?;
        let made = self.write_tree(&mut job).await?;
        if made == tree {
            return Ok(Vec::new());
        }
        let git = crate::process::Git::new("comparing the files", &self.0.scratch).keep(MAX_NAMES_BYTES);
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let compared = job.run(git.args(options).args([made.as_str(), tree, "--"]), &[]).await?;
        if !compared.success {
            return Err(GitError::failed("comparing the files", compared.words()));
        }
        let names = compared.printed().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The tree that git makes of two commits of the project without anybody's help, if it can. The project's merge
    /// drivers are programs, so none is run: what they would make is not what git makes.
    pub async fn merged_tree(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        self.check_id(Some(one))?;
        self.check_id(Some(other))?;
        let mut job = self.furnished_job().await?;
        let git = crate::process::Git::new("merging two commits", &self.0.scratch).keep(MAX_NAMES_BYTES);
        let merged = job.run(git.args(["merge-tree", "--write-tree", "--no-messages", one, other]), &[]).await?;
        let tree = String::from_utf8_lossy(merged.printed()).trim_end().to_owned();
        Ok(Some(tree).filter(|_| merged.success))
    }

    /// The patch id of what leads from the commit `base` (`None`: from nothing) to `tree`, as that of a proposal.
    pub async fn patch_id_between(&self, base: Option<&str>, tree: &str) -> Result<Option<String>, GitError> {
        let mut job = self.furnished_job().await?;
        let from = match base {
            Some(base) => base.to_owned(),
            None => self.empty_tree(&mut job).await?,
        };
        let diff = self.diff_trees(&mut job, &from, tree).await?;
        drop(job);
        self.patch_id(&diff).await
    }
}
