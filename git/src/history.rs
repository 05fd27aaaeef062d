//! Reads commits, trees and the index of a repository for the gate, without its configuration.
//!
//! Objects are read through the scratch repository. It has neither grafts nor replacements nor settings of the
//! repository, so none of them can change what a commit is. Only names are resolved in the repository itself.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::discovery::check_name;
use crate::engine::{Declined, Engine};
use crate::repository::Session;
use crate::{GitError, Repository};

/// A commit-graph file can name other parents and trees than the commits themselves.
const WITHOUT_COMMIT_GRAPH: [&str; 2] = ["-c", "core.commitGraph=false"];
const MAX_FILE_BYTES: usize = 1 << 20;
const FORMAT: &str = "--format=%H%x00%T%x00%P%x00%s";
const MAX_TAGS: usize = 10;

/// A commit as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    pub id: String,
    pub tree: String,
    pub parents: Vec<String>,
    pub subject: String,
}

/// Which commits `list_commits` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// The tips and their ancestors, parents first; at most this many.
    Ancestors { max: usize },
    /// Only the tips.
    TipsOnly,
    /// The descendants of the excluded commits among the ancestors of the tips, parents first.
    Descendants,
}

/// The ids that a range such as `A..B` stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revisions {
    pub tips: Vec<String>,
    pub excluded: Vec<String>,
}

impl Repository {
    /// Resolves `A..B`, or the name of one commit.
    pub async fn resolve_revisions(&self, text: &str) -> Result<Revisions, GitError> {
        if text.starts_with('-') || text.contains(['\n', '\0']) {
            return Err(GitError::bad_target(text, "expected A..B or a commit"));
        }
        let own = plain_range(text);
        let engine = move |engine: &Engine| {
            let (from, to) = own.ok_or(Declined("an expression"))?;
            let excluded = from.map(|from| engine.resolve(&from)).transpose()?;
            Ok(Revisions { tips: vec![engine.resolve(&to)?], excluded: excluded.into_iter().collect() })
        };
        self.0.ask("range", engine, self.resolve_revisions_with_git(text)).await
    }

    pub(crate) async fn resolve_revisions_with_git(&self, text: &str) -> Result<Revisions, GitError> {
        let mut session = self.session().await?;
        let git = session.registered("resolving the commits").stdout_limit(MAX_FILE_BYTES);
        let output = session.try_run(git.args(["rev-parse", "--revs-only", text]), &[]).await?;
        let mut revisions = Revisions::default();
        for line in output.text().lines() {
            let (ids, name) = match line.strip_prefix('^') {
                Some(id) => (&mut revisions.excluded, id),
                None => (&mut revisions.tips, line),
            };
            let commit = session.find_object_as(name, "commit").await?;
            ids.push(commit.ok_or_else(|| GitError::bad_target(text, "it does not name commits"))?);
        }
        let is_known = output.success && !revisions.tips.is_empty();
        if is_known { Ok(revisions) } else { Err(GitError::bad_target(text, "no such commits")) }
    }

    /// The id of the commit that a name stands for in this repository.
    pub async fn resolve_commit(&self, name: &str) -> Result<Option<String>, GitError> {
        if name.starts_with('-') || name.contains(['\n', '\0']) {
            return Ok(None);
        }
        Ok(self.find_commit(name).await?.ok())
    }

    /// The commit that an object is or that a tag leads to. `None` for trees, blobs and missing objects.
    pub async fn peel_to_commit(&self, id: &str) -> Result<Option<String>, GitError> {
        self.0.check_id(Some(id))?;
        let name = id.to_owned();
        let git = async { self.session().await?.find_object_as(id, "commit").await };
        self.0.ask("commit", move |engine: &Engine| engine.resolve(&name).map(Some), git).await
    }

    /// Those of `ids` that this repository has as commits, or as tags of commits.
    pub async fn known_commits(&self, ids: &[String]) -> Result<Vec<String>, GitError> {
        let ids: Vec<String> = ids.iter().filter(|id| self.0.layout.is_id(id)).cloned().collect();
        let all = ids.clone();
        let engine = move |engine: &Engine| all.iter().map(|id| engine.resolve(id)).collect();
        self.0.ask("commits", engine, self.known_commits_with_git(&ids)).await
    }

    pub(crate) async fn known_commits_with_git(&self, ids: &[String]) -> Result<Vec<String>, GitError> {
        let input: String = ids.iter().map(|id| format!("{id}^{{commit}}\n")).collect();
        let mut session = self.session().await?;
        let git = session.scratch("looking up commits").stdout_limit(usize::MAX);
        let git = git.args(["cat-file", "--batch-check=%(objecttype) %(objectname)"]);
        let output = session.run(git, &[input.as_bytes()]).await?;
        Ok(output.text().lines().filter_map(|line| line.strip_prefix("commit ")).map(str::to_owned).collect())
    }

    /// Lists commits by the stored objects alone.
    pub async fn list_commits(
        &self,
        tips: &[String],
        excluded: &[String],
        walk: Walk,
    ) -> Result<Vec<CommitRecord>, GitError> {
        for id in tips.iter().chain(excluded) {
            self.0.check_id(Some(id))?;
        }
        let (all, ends) = (tips.to_vec(), excluded.to_vec());
        let engine = move |engine: &Engine| engine.list_commits(&all, &ends, walk);
        self.0.ask("commits", engine, self.list_commits_with_git(tips, excluded, walk)).await
    }

    pub(crate) async fn list_commits_with_git(
        &self,
        tips: &[String],
        excluded: &[String],
        walk: Walk,
    ) -> Result<Vec<CommitRecord>, GitError> {
        let mut input = String::new();
        tips.iter().for_each(|id| input.push_str(&format!("{id}\n")));
        excluded.iter().for_each(|id| input.push_str(&format!("^{id}\n")));
        let options = match walk {
            Walk::Ancestors { max } => {
                vec!["--topo-order".to_owned(), "--reverse".to_owned(), format!("--max-count={max}")]
            }
            Walk::TipsOnly => vec!["--no-walk=unsorted".to_owned()],
            Walk::Descendants => ["--topo-order", "--reverse", "--ancestry-path"].map(str::to_owned).to_vec(),
        };
        let mut session = self.session().await?;
        let git = session.scratch("listing commits").stdout_limit(usize::MAX).args(WITHOUT_COMMIT_GRAPH);
        let git = git.args(["rev-list", "--no-commit-header", FORMAT]).args(options).args(["--stdin"]);
        let output = session.run(git, &[input.as_bytes()]).await?;
        let parse = |line: &str| {
            CommitRecord::parse(line).ok_or_else(|| GitError::failed("listing commits", format!("read {line:?}")))
        };
        output.text().lines().map(parse).collect()
    }

    /// Whether two commits have a common ancestor.
    pub async fn are_related(&self, one: &str, other: &str) -> Result<bool, GitError> {
        self.0.check_id(Some(one))?;
        self.0.check_id(Some(other))?;
        let mut session = self.session().await?;
        let git = session.scratch("comparing histories").args(WITHOUT_COMMIT_GRAPH);
        Ok(session.try_run(git.args(["merge-base", one, other]), &[]).await?.success)
    }

    /// The tree that the index in this file would be committed as. Its objects are written to the scratch repository.
    pub async fn staged_tree(&self, index: &Path) -> Result<String, GitError> {
        let mut session = self.session().await?;
        let failed = |error: std::io::Error| GitError::failed("copying the index", error);
        let copy = session.repo.scratch.repo().join("staged-index");
        match fs::copy(index, &copy) {
            Ok(_) => self.copy_shared_indexes(&session).map_err(failed)?,
            Err(error) if error.kind() == ErrorKind::NotFound => fs::remove_file(&copy)
                .or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(failed(error)) })?,
            Err(error) => return Err(failed(error)),
        }
        let git = session.scratch("writing the tree").variable("GIT_INDEX_FILE", &copy);
        let output = session.run(git.args(["write-tree", "--missing-ok"]), &[]).await?;
        let id = output.text();
        if self.0.layout.is_id(&id) { Ok(id) } else { Err(GitError::failed("writing the tree", output.stderr())) }
    }

    /// A split index keeps most entries in a second file, which git looks for in its own folder.
    fn copy_shared_indexes(&self, session: &Session<'_>) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.0.layout.git_dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
                fs::copy(entry.path(), session.repo.scratch.repo().join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// The tree of a commit; `None` is the empty tree.
    pub async fn tree_of(&self, commit: Option<&str>) -> Result<String, GitError> {
        self.0.check_id(commit)?;
        let name = commit.map(str::to_owned);
        self.0.ask("tree", move |engine: &Engine| engine.tree(name.as_deref()), self.tree_with_git(commit)).await
    }

    pub(crate) async fn tree_with_git(&self, commit: Option<&str>) -> Result<String, GitError> {
        match commit {
            Some(commit) => {
                let tree = self.session().await?.find_object_as(commit, "tree").await?;
                tree.ok_or_else(|| GitError::failed("reading a commit", format!("no commit {commit}")))
            }
            None => {
                let mut session = self.session_with_index().await?;
                session.fill_index(None, None).await?;
                session.write_tree().await
            }
        }
    }

    /// The files in which two trees differ. A renamed file counts with both names.
    pub async fn changed_paths(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        self.0.check_id(Some(from))?;
        self.0.check_id(Some(to))?;
        let (old, new) = (from.to_owned(), to.to_owned());
        let engine = move |engine: &Engine| engine.changed_paths(&old, &new);
        self.0.ask("changed files", engine, self.changed_paths_with_git(from, to)).await
    }

    pub(crate) async fn changed_paths_with_git(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let mut session = self.session().await?;
        let git = session.scratch("comparing the files").stdout_limit(usize::MAX);
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let output = session.run(git.args(options).args([from, to, "--"]), &[]).await?;
        let names = output.stdout().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The content of a file in a commit, at most 1 MiB of it. `None` if the commit has no such file.
    pub async fn read_committed_file(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.0.check_id(Some(commit))?;
        let (id, name) = (commit.to_owned(), path.to_owned());
        let engine = move |engine: &Engine| engine.read_file(&id, &name, MAX_FILE_BYTES);
        self.0.ask("file", engine, self.read_committed_file_with_git(commit, path)).await
    }

    pub(crate) async fn read_committed_file_with_git(
        &self,
        commit: &str,
        path: &str,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let mut session = self.session().await?;
        let git = session.scratch("reading a file").stdout_limit(MAX_FILE_BYTES);
        let output = session.try_run(git.args(["cat-file", "blob", &format!("{commit}:{path}")]), &[]).await?;
        Ok((output.success && output.overflow().is_none()).then(|| output.stdout().to_vec()))
    }

    /// The commits, with all that these tips lead to, that change a file: each version of the file is in one of them.
    pub async fn list_changes_of_file(&self, tips: &[String], path: &str) -> Result<Vec<String>, GitError> {
        let mut input = String::new();
        for id in tips {
            self.0.check_id(Some(id))?;
            input.push_str(&format!("{id}\n"));
        }
        let mut session = self.session().await?;
        let git = session.scratch("listing the changes of a file").stdout_limit(usize::MAX).args(WITHOUT_COMMIT_GRAPH);
        let git = git.args(["rev-list", "--full-history", "--stdin", "--", path]);
        let output = session.run(git, &[input.as_bytes()]).await?;
        Ok(output.text().lines().map(str::to_owned).collect())
    }

    /// The commits that the refs of this repository lead to, except one ref.
    pub async fn ref_commits(&self, except: &str) -> Result<Vec<String>, GitError> {
        let mut session = self.session().await?;
        let git = session.registered("listing refs").stdout_limit(usize::MAX);
        let output = session.run(git.args(["for-each-ref", "--format=%(objectname) %(refname)"]), &[]).await?;
        drop(session);
        let text = output.text();
        let refs = text.lines().filter_map(|line| line.split_once(' ')).filter(|(_, name)| *name != except);
        let ids: Vec<String> = refs.map(|(id, _)| id.to_owned()).collect();
        self.known_commits(&ids).await
    }
}

impl Session<'_> {
    /// The id of the commit or tree that an object leads to, by its stored content.
    async fn find_object_as(&mut self, id: &str, kind: &str) -> Result<Option<String>, GitError> {
        let mut id = id.to_owned();
        // Git itself follows tags without a limit.
        for _ in 0..MAX_TAGS {
            let git = self.scratch("reading an object").args(["cat-file", "-t", &id]);
            let found = self.try_run(git, &[]).await?;
            match (found.text().as_str(), kind) {
                _ if !found.success => return Ok(None),
                ("commit", "commit") => return Ok(Some(id)),
                ("tag", _) | ("commit", "tree") => {}
                _ => return Ok(None),
            }
            let suffix = if found.text() == "tag" { "^{}" } else { "^{tree}" };
            let git =
                self.scratch("reading an object").args(["rev-parse", "--verify", "--quiet", &format!("{id}{suffix}")]);
            let next = self.try_run(git, &[]).await?;
            if !next.success {
                return Ok(None);
            }
            id = next.text();
            if suffix == "^{tree}" {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

impl CommitRecord {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, '\0').map(str::to_owned);
        let (id, tree, parents, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let parents = parents.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        Some(Self { id, tree, parents, subject })
    }
}

/// The ends of `A..B`, or the name of one commit. `None` for any other expression.
fn plain_range(text: &str) -> Option<(Option<String>, String)> {
    let (from, to) = text.split_once("..").map_or((None, text), |(from, to)| (Some(from), to));
    let is_plain = from.into_iter().chain([to]).all(|name| check_name(name).is_ok() && !name.starts_with('.'));
    is_plain.then(|| (from.map(str::to_owned), to.to_owned()))
}

/// What a remote repository answers about its refs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteRefs {
    /// The ids of all refs, and what its tags lead to.
    pub ids: Vec<String>,
    /// The commit of its main branch.
    pub head: Option<String>,
}

impl Repository {
    /// Asks a remote by its address for its refs, except one ref.
    ///
    /// Git runs in the scratch repository, so that no setting of this repository can send the question elsewhere. The
    /// user's own settings count, because they may be needed to log in, but not those that replace addresses: git has done
    /// that already, and a variable of the caller may name the file.
    pub async fn ask_remote(&self, address: &str, except: &str) -> Result<RemoteRefs, GitError> {
        if address.is_empty() || address.starts_with('-') {
            return Err(GitError::bad_target(address, "expected the address of a remote"));
        }
        let local = self.0.layout.root.join(address);
        let address = if local.exists() { local.as_os_str() } else { OsStr::new(address) };
        let options = self.login_settings().await?;
        let mut session = self.session().await?;
        let settings = session.write_user_settings().await?;
        let git = session.as_user("asking the remote").stdout_limit(usize::MAX).args(options);
        let git = git.variable("GIT_CONFIG_GLOBAL", settings);
        let output = session.run(git.args([OsStr::new("ls-remote"), OsStr::new("--"), address]), &[]).await?;
        let mut refs = RemoteRefs::default();
        for (id, name) in output.text().lines().filter_map(|line| line.split_once('\t')) {
            if name == "HEAD" {
                refs.head = Some(id.to_owned());
            }
            if name != except {
                refs.ids.push(id.to_owned());
            }
        }
        Ok(refs)
    }

    /// The settings of this repository that are needed to log in to its remote, if they run nothing but ssh or one of
    /// git's own helpers.
    async fn login_settings(&self) -> Result<Vec<String>, GitError> {
        let mut session = self.session().await?;
        let git = session.registered("reading the settings").stdout_limit(MAX_FILE_BYTES);
        let output = session.try_run(git.args(["config", "--local", "--null", "--list"]), &[]).await?;
        let text = output.text();
        let settings = text.split('\0').filter_map(|setting| setting.split_once('\n'));
        let allowed = settings.filter(|(key, value)| match *key {
            "core.sshcommand" => is_plain_ssh(value),
            "credential.helper" => value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "credential.username" => true,
            _ => false,
        });
        Ok(allowed.flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")]).collect())
    }
}

impl Session<'_> {
    /// Writes the user's settings, without those that replace addresses, into a file of the scratch repository.
    async fn write_user_settings(&mut self) -> Result<PathBuf, GitError> {
        let git = self.as_user("reading the user's settings").stdout_limit(MAX_FILE_BYTES);
        // Fails if the user has no settings.
        let output = self.try_run(git.args(["config", "--global", "--includes", "--null", "--list"]), &[]).await?;
        let mut text = String::new();
        for setting in output.text().split('\0').filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
            let (Some((section, _)), Some((group, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
                continue;
            };
            if matches!(section, "url" | "include" | "includeif" | "remote") {
                continue;
            }
            let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            match group.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')) {
                Some(subsection) => text.push_str(&format!("[{section} \"{}\"]\n", quoted(subsection))),
                None => text.push_str(&format!("[{section}]\n")),
            }
            text.push_str(&format!("\t{name} = \"{}\"\n", quoted(value)));
        }
        let file = self.repo.scratch.repo().join("user-settings");
        fs::write(&file, text).map_err(|error| GitError::failed("reading the user's settings", error))?;
        Ok(file)
    }
}

/// `ssh` with a key, a port or a user, and nothing that runs another program.
pub(crate) fn is_plain_ssh(command: &str) -> bool {
    let mut words = command.split_whitespace();
    if !matches!(words.next(), Some("ssh" | "/usr/bin/ssh")) {
        return false;
    }
    while let Some(word) = words.next() {
        let value = match word {
            "-i" | "-p" | "-l" => words.next(),
            "-o" => words.next().filter(|value| {
                matches!(
                    value.split('=').next(),
                    Some("IdentitiesOnly" | "IdentityFile" | "Port" | "User" | "IdentityAgent")
                )
            }),
            "-4" | "-6" | "-q" => Some(""),
            _ => None,
        };
        if value.is_none_or(|value| value.contains(['`', '$', ';', '|', '&', '<', '>', '(', '\''])) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_plain_ssh;

    #[test]
    fn only_plain_ssh_commands_of_a_repository_are_used() {
        for command in ["ssh", "ssh -i ~/.ssh/work -o IdentitiesOnly=yes", "/usr/bin/ssh -p 2222 -l git"] {
            assert!(is_plain_ssh(command), "{command}");
        }
        for command in
            ["./ssh", "ssh -F evil", "ssh -o ProxyCommand=x", "ssh -i x; evil", "evil ssh", "ssh -i $(x)", ""]
        {
            assert!(!is_plain_ssh(command), "{command}");
        }
    }
}
