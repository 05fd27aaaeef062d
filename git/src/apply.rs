//! Applies a diff to a commit in the scratch repository, and reports whether it applies and which tree results.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;

use domain::diff::{ApplyPart, ZeroContext, apply_parts};
use domain::git_engine_mode::EngineMode;
use domain::review::{AppliesTo, DiffCheck, HeadCheck};
use futures::FutureExt;

use crate::diff_check_cache::CheckKey;
use crate::discovery::check_name;
use crate::engine::{Declined, Engine};
use crate::process::Output;
use crate::repository::Session;
use crate::{GitError, Repository};

impl Repository {
    /// Reports whether `diff` applies to the commit `base`: a full id from [`Self::resolve_base`], or `None` for the
    /// empty tree.
    ///
    /// An outcome is remembered, and callers share a running check. If the last of them drops its future, git is killed
    /// and the files that it wrote are removed.
    pub async fn check(&self, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        Ok(self.checked(base, diff).await?.check)
    }

    /// Like [`Self::check`] and [`Self::patch_id`], in one step.
    pub async fn check_with_patch_id(
        &self,
        base: Option<&str>,
        diff: &str,
    ) -> (Result<DiffCheck, GitError>, Result<Option<String>, GitError>) {
        match self.checked(base, diff).await {
            Ok(Checked { check, patch_id: Some(patch_id) }) => {
                self.0.count_engine();
                (Ok(check), Ok(patch_id))
            }
            checked => (checked.map(|checked| checked.check), self.patch_id(diff).await),
        }
    }

    /// Resolves the name of a base as [`Self::resolve_base`] does, and checks a diff against it. In the usual case, the
    /// engine does both in one step.
    pub async fn check_on(&self, base: Option<&str>, diff: &str) -> Result<SubmittedDiff, GitError> {
        if let Some(submitted) = self.check_on_in_process(base, diff).await {
            return Ok(submitted);
        }
        let base = self.resolve_base(base).await?;
        let (check, patch_id) = self.check_with_patch_id(base.as_deref(), diff).await;
        Ok(SubmittedDiff { base, check, patch_id })
    }

    async fn check_on_in_process(&self, base: Option<&str>, diff: &str) -> Option<SubmittedDiff> {
        let name = base.unwrap_or("HEAD").to_owned();
        self.0.check_size(diff).ok()?;
        check_name(&name).ok().filter(|()| self.0.settings.engine == EngineMode::Auto)?;
        let text = with_final_newline(diff);
        let given = if diff.ends_with('\n') { Arc::clone(&text) } else { diff.into() };
        let repository = Arc::clone(&self.0);
        let all = move |engine: &Engine| {
            let base = engine.resolve(&name)?;
            let key = CheckKey::of(&[Some(&base)], &given);
            if let Some(Checked { check, patch_id: Some(patch_id) }) = repository.base_checks.find(&key) {
                repository.count_remembered();
                return Ok(SubmittedDiff { base: Some(base), check: Ok(check), patch_id: Ok(patch_id) });
            }
            let check = applies(engine.apply(Some(&base), &text)?);
            let patch_id = engine.patch_id(&text)?;
            repository.base_checks.remember(key, Checked { check: check.clone(), patch_id: Some(patch_id.clone()) });
            // As many as if they had been asked one by one.
            (0..3).for_each(|_| repository.count_engine());
            Ok(SubmittedDiff { base: Some(base), check: Ok(check), patch_id: Ok(patch_id) })
        };
        self.0.ask_engine(all).await
    }

    async fn checked(&self, base: Option<&str>, diff: &str) -> Result<Checked, GitError> {
        self.0.check_size(diff)?;
        self.0.check_id(base)?;
        let key = CheckKey::new(&[base], diff).await?;
        if let Some(check) = self.0.base_checks.find(&key) {
            self.0.count_remembered();
            return Ok(check);
        }
        let is_remembered = |checked: &Checked| matches!(checked.check, DiffCheck::Applies { to: AppliesTo::Base, .. });
        let start = || {
            let (repository, base, diff) = (self.clone(), base.map(str::to_owned), with_final_newline(diff));
            async move { repository.run_check(base.as_deref(), diff).await }.boxed()
        };
        self.0.base_checks.run(key, is_remembered, start).await
    }

    async fn run_check(&self, base: Option<&str>, diff: Arc<str>) -> Result<Checked, GitError> {
        let (apply, text) = (apply_in_process(base, &diff), Arc::clone(&diff));
        let both = move |engine: &Engine| Ok((apply(engine).ok(), engine.patch_id(&text).ok()));
        let (own, patch_id) = self.0.ask_engine(both).await.unwrap_or_default();
        let patch_id = patch_id.filter(|_| self.0.settings.engine == EngineMode::Auto);
        let check = self.0.settle("check", own, self.check_with_git(base, &diff)).await?;
        Ok(Checked { check, patch_id })
    }

    pub(crate) async fn check_with_git(&self, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        let mut session = self.session_with_index().await?;
        let parts = apply_parts(diff);
        match session.apply_as_shown(base, &parts).await? {
            Ok(tree) => Ok(applies(tree)),
            Err(Rejection { part: Some(part), message }) => session.check_worktree(part, diff, message).await,
            Err(Rejection { part: None, message }) => Ok(DiffCheck::Fails { message }),
        }
    }

    /// Reports whether `diff` applies to HEAD, and how many commits HEAD has that `base` does not have. `None` if HEAD
    /// is `base` or does not name a commit.
    ///
    /// If HEAD is `base`, or the outcome for this HEAD is remembered, only HEAD is resolved.
    pub async fn check_head(&self, base: Option<&str>, diff: &str) -> Result<Option<HeadCheck>, GitError> {
        self.0.check_size(diff)?;
        self.0.check_id(base)?;
        let Ok(commit) = self.find_commit("HEAD").await? else { return Ok(None) };
        if base == Some(commit.as_str()) {
            return Ok(None);
        }
        let key = CheckKey::new(&[base, Some(&commit)], diff).await?;
        if let Some(head) = self.0.head_checks.find(&key) {
            self.0.count_remembered();
            return Ok(head);
        }
        let is_remembered = |head: &Option<HeadCheck>| head.as_ref().is_some_and(|head| head.fits() == Some(true));
        let start = || {
            let (repository, base, diff) = (self.clone(), base.map(str::to_owned), with_final_newline(diff));
            async move { repository.run_head_check(base.as_deref(), commit, diff).await }.boxed()
        };
        self.0.head_checks.run(key, is_remembered, start).await
    }

    async fn run_head_check(
        &self,
        base: Option<&str>,
        commit: String,
        diff: Arc<str>,
    ) -> Result<Option<HeadCheck>, GitError> {
        let own = apply_in_process(Some(&commit), &diff);
        let mut contains = false;
        let check = self.0.ask("check", own, async {
            let mut session = self.session_with_index().await?;
            match session.apply_as_shown(Some(&commit), &apply_parts(&diff)).await? {
                Ok(tree) => Ok(applies(tree)),
                Err(rejection) => {
                    contains = session.is_contained(&commit, &diff).await?;
                    Ok(DiffCheck::Fails { message: rejection.message })
                }
            }
        });
        let check = match check.await {
            // Its objects are missing, so there is nothing to compare with.
            Err(GitError::UnknownBase { .. }) => return Ok(None),
            check => check?,
        };
        let behind = self.count_commits(base, &commit).await?;
        Ok(Some(HeadCheck { commit, behind, check, contains }))
    }

    /// The number of commits in `head` that are not in `base`.
    async fn count_commits(&self, base: Option<&str>, head: &str) -> Result<u64, GitError> {
        let (from, to) = (base.map(str::to_owned), head.to_owned());
        let own = move |engine: &Engine| match from {
            Some(from) => engine.count_commits(&from, &to),
            None => Err(Declined("a count of the whole history")),
        };
        self.0.ask("count", own, async { self.session().await?.count_commits(base, head).await }).await
    }

    /// Computes git's stable patch id, which is equal for diffs that differ only in line numbers and white space.
    ///
    /// Returns `None` if the text has no change, or the changes of several mails.
    pub async fn patch_id(&self, diff: &str) -> Result<Option<String>, GitError> {
        self.0.check_size(diff)?;
        let diff = with_final_newline(diff);
        let text = Arc::clone(&diff);
        let own = move |engine: &Engine| engine.patch_id(&text);
        self.0.ask("patch id", own, async { self.session().await?.patch_id(&diff).await }).await
    }
}

/// What a submission needs to know about its diff.
#[derive(Debug)]
pub struct SubmittedDiff {
    /// The id of the base; `None` is the empty tree.
    pub base: Option<String>,
    pub check: Result<DiffCheck, GitError>,
    pub patch_id: Result<Option<String>, GitError>,
}

/// The outcome of a check.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    check: DiffCheck,
    /// The patch id, if the engine computed it on the way.
    patch_id: Option<Option<String>>,
}

/// The question to the engine whether a diff applies.
pub(crate) fn apply_in_process(
    base: Option<&str>,
    diff: &Arc<str>,
) -> impl FnOnce(&Engine) -> Result<DiffCheck, Declined> + Send + use<> {
    let (base, diff) = (base.map(str::to_owned), Arc::clone(diff));
    move |engine| engine.apply(base.as_deref(), &diff).map(applies)
}

/// Git's answer for a diff that applies.
pub(crate) fn applies(tree: String) -> DiffCheck {
    DiffCheck::Applies { to: AppliesTo::Base, tree_id: Some(tree) }
}

/// Why a diff does not lead to a tree.
pub(crate) struct Rejection<'p, 'a> {
    /// The part that git rejected. `None` if git applied it in another way than it shows.
    part: Option<&'p ApplyPart<'a>>,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Forward,
    /// Takes the changes back.
    Reverse,
}

impl Session<'_> {
    /// Fills the index with `base`, or empties it, and applies `diff`.
    pub(crate) async fn fill_index(&mut self, base: Option<&str>, diff: Option<&str>) -> Result<(), GitError> {
        self.repo.check_id(base)?;
        match base {
            Some(base) => self.load_index(base).await?,
            None => match fs::remove_file(self.index()) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(GitError::failed("emptying the index", error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        let diff = diff.map(with_final_newline);
        for part in diff.as_deref().map(apply_parts).unwrap_or_default() {
            if let Some(message) = self.apply(&part, Direction::Forward).await? {
                return Err(GitError::DoesNotApply { message });
            }
        }
        Ok(())
    }

    /// Applies a diff to `base`: the tree that results, if that is what the diff shows.
    pub(crate) async fn apply_as_shown<'p, 'a>(
        &mut self,
        base: Option<&str>,
        parts: &'p [ApplyPart<'a>],
    ) -> Result<Result<String, Rejection<'p, 'a>>, GitError> {
        self.fill_index(base, None).await?;
        let mut tree = None;
        for part in parts {
            if let Some(message) = self.apply(part, Direction::Forward).await? {
                return Ok(Err(Rejection { part: Some(part), message }));
            }
            let result = self.write_tree().await?;
            let before = tree.as_deref().or(base);
            if let Some(message) = self.find_unshown_change(before, part, &result).await? {
                return Ok(Err(Rejection { part: None, message }));
            }
            tree = Some(result);
        }
        match tree {
            Some(tree) => Ok(Ok(tree)),
            None => Ok(Ok(self.write_tree().await?)),
        }
    }

    pub(crate) async fn patch_id(&mut self, diff: &str) -> Result<Option<String>, GitError> {
        let git = self.scratch("computing the patch id").args(["patch-id", "--stable"]);
        let text = self.run(git, &[diff.as_bytes()]).await?.text();
        let id = (text.lines().count() == 1).then(|| text.split(' ').next()).flatten();
        Ok(id.map(str::to_owned))
    }

    /// Whether `commit` has the changes of `diff`, so that they can be taken back.
    async fn is_contained(&mut self, commit: &str, diff: &str) -> Result<bool, GitError> {
        self.fill_index(Some(commit), None).await?;
        for part in apply_parts(diff).into_iter().rev() {
            if self.apply(&part, Direction::Reverse).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) async fn write_tree(&mut self) -> Result<String, GitError> {
        // A partial clone may lack some of the borrowed objects; the tree id does not depend on them.
        let git = self.scratch("writing the tree").args(["write-tree", "--missing-ok"]);
        let output = self.run(git, &[]).await?;
        let id = output.text();
        if self.repo.layout.is_id(&id) { Ok(id) } else { Err(GitError::failed("writing the tree", output.stderr())) }
    }

    /// Applies to the private index. Returns git's message if it rejects the diff.
    ///
    /// A diff that cannot be read to its end is rejected even if git applies it, or fails at it: no reviewer can learn
    /// which files it changes.
    async fn apply(&mut self, part: &ApplyPart<'_>, direction: Direction) -> Result<Option<String>, GitError> {
        let applied = self.apply_as_git_reads_it(part, direction).await;
        match (&part.error, applied) {
            (Some(error), Ok(None) | Err(GitError::Failed { .. })) => {
                Ok(Some(format!("error: the diff cannot be read: {error}")))
            }
            (_, applied) => applied,
        }
    }

    async fn apply_as_git_reads_it(
        &mut self,
        part: &ApplyPart<'_>,
        direction: Direction,
    ) -> Result<Option<String>, GitError> {
        let certain = part.zero_context == ZeroContext::Certain;
        let rejection = self.apply_once(part, direction, certain).await?;
        if rejection.is_none() || part.zero_context != ZeroContext::Possible {
            return Ok(rejection);
        }
        // The hunk was not a whole file after all. Git leaves the index unchanged when it rejects a diff.
        let second_rejection = self.apply_once(part, direction, true).await?;
        Ok(second_rejection.and(rejection))
    }

    async fn apply_once(
        &mut self,
        part: &ApplyPart<'_>,
        direction: Direction,
        zero_context: bool,
    ) -> Result<Option<String>, GitError> {
        let git = self.scratch("applying the diff").args(["apply", "--cached"]);
        let git = match direction {
            Direction::Forward => git,
            Direction::Reverse => git.args(["--reverse"]),
        };
        let git = git.args(apply_options(part, zero_context));
        find_rejection(&self.try_run(git, &[part.text.as_bytes()]).await?)
    }

    /// Tries the working tree of a trusted repository after `rejection` by the base.
    ///
    /// Git reads the working tree through the scratch repository, so no filter runs here either.
    async fn check_worktree(
        &mut self,
        part: &ApplyPart<'_>,
        diff: &str,
        rejection: String,
    ) -> Result<DiffCheck, GitError> {
        if self.repo.trusted && !self.repo.layout.bare && part.error.is_none() {
            let git =
                self.scratch("checking the working tree").work_tree(&self.repo.layout.root).args(["apply", "--check"]);
            let git = git.args(apply_options(part, part.zero_context != ZeroContext::No));
            if find_rejection(&self.try_run(git, &[diff.as_bytes()]).await?)?.is_none() {
                return Ok(DiffCheck::Applies { to: AppliesTo::Worktree, tree_id: None });
            }
        }
        Ok(DiffCheck::Fails { message: rejection })
    }
}

fn apply_options(part: &ApplyPart<'_>, zero_context: bool) -> [&'static str; 4] {
    let strip = if part.strip == 0 { "-p0" } else { "-p1" };
    let context = if zero_context { "--unidiff-zero" } else { "--no-unidiff-zero" };
    ["--whitespace=nowarn", strip, context, "-"]
}

/// `None` if git applied the whole diff.
fn find_rejection(output: &Output) -> Result<Option<String>, GitError> {
    let message = output.stderr();
    // At a corrupt binary patch git stops, keeps the patches before it and exits with status 0.
    if output.success && !output.reported_error() {
        return Ok(None);
    }
    // `fatal:` reports trouble that the diff did not cause.
    if output.killed || message.lines().any(|line| line.starts_with("fatal: ")) {
        return Err(GitError::failed("git apply", message));
    }
    Ok(Some(message))
}

/// Agents often trim a diff. Git calls a last line without newline corrupt, and an empty line ends a binary patch.
pub(crate) fn with_final_newline(diff: &str) -> Arc<str> {
    if diff.ends_with('\n') { diff.into() } else { format!("{diff}\n\n").into() }
}
