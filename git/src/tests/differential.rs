//! Compares the engine with git. Where the engine gives an answer, git must give the same one; where it declines,
//! git decides, so that only costs time.

mod cases;
mod commits;
mod generated;
mod history;
mod mutation;

use std::collections::BTreeMap;

use domain::diff::AffectedFile;
use domain::diff::FileOperation::{Copy, Create, Delete, Rename};

use super::*;

/// A repository, and how often the engine gave an answer.
struct Comparison {
    repository: Repository,
    /// The engine and git gave the same tree.
    same: usize,
    /// Both did not apply the diff.
    refused: usize,
    /// Git applied what the engine declined, by the engine's reason.
    declined: BTreeMap<&'static str, usize>,
    /// Patch ids that the engine declined.
    declined_patch_ids: usize,
    _scratch: TempDir,
}

impl Comparison {
    async fn open(project: &Path) -> Self {
        let scratch = TempDir::new().unwrap();
        let settings = Arc::new(GitSettings::default());
        let repository = Repository::open(project, scratch.path(), false, settings).await.unwrap();
        let (declined, declined_patch_ids) = (BTreeMap::new(), 0);
        Self { repository, same: 0, refused: 0, declined, declined_patch_ids, _scratch: scratch }
    }

    /// Asks both whether a diff applies, and for its patch id. Returns the tree of git.
    async fn compare(&mut self, about: &str, base: Option<&str>, diff: &str) -> Option<String> {
        let diff = apply::with_final_newline(diff);
        let engine = self.repository.0.engine.as_ref().unwrap();
        let own = engine.apply(base, &diff);
        let by_git = self.repository.check_with_git(base, &diff).await;
        let tree = match &by_git {
            Ok(DiffCheck::Applies { tree_id, .. }) => tree_id.clone(),
            _ => None,
        };
        match (&own, &tree) {
            (Ok(own), _) => assert_eq!(Some(own), tree.as_ref(), "{about}: {by_git:?}\n{diff}"),
            (Err(why), Some(_)) => *self.declined.entry(why.0).or_default() += 1,
            (Err(_), None) => self.refused += 1,
        }
        if let Some(tree) = &tree {
            self.compare_files(about, base, &diff, tree).await;
        }
        self.same += usize::from(own.is_ok());
        match engine.patch_id(&diff) {
            Ok(own) => {
                let by_git = self.repository.session().await.unwrap().patch_id(&diff).await.unwrap();
                assert_eq!(own, by_git, "{about}: patch id\n{diff}");
            }
            Err(_) => self.declined_patch_ids += 1,
        }
        tree
    }

    /// The files and operations that the diff shows must be those in which the trees differ.
    async fn compare_files(&self, about: &str, base: Option<&str>, diff: &str, tree: &str) {
        let mut session = self.repository.session_with_index().await.unwrap();
        let parts = domain::diff::apply_parts(diff);
        let applied = session.apply_as_shown(base, &parts).await.unwrap();
        assert_eq!(applied.ok().as_deref(), Some(tree), "{about}\n{diff}");
        let from = match base {
            Some(base) => base.to_owned(),
            None => {
                let git = session.scratch("test").args(["hash-object", "-t", "tree", "--stdin"]);
                session.run(git, &[]).await.unwrap().text()
            }
        };
        let git = session.scratch("test").stdout_limit(usize::MAX);
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", &from, tree];
        let output = session.run(git.args(args), &[]).await.unwrap();
        let text = String::from_utf8_lossy(output.stdout()).into_owned();
        let fields: Vec<&str> = text.split('\0').collect();
        let files = domain::diff::summarize(diff).files;
        for pair in fields.chunks_exact(2) {
            let (status, path) = (pair[0], pair[1]);
            let names = |file: &&AffectedFile| file.path == path || file.old_path.as_deref() == Some(path);
            let shown: Vec<_> = files.iter().filter(names).map(|file| file.operation).collect();
            let fits = match status {
                "A" => shown.iter().any(|shown| matches!(shown, Create | Rename | Copy)),
                "D" => shown.iter().any(|shown| matches!(shown, Delete | Rename)),
                _ => !shown.is_empty(),
            };
            assert!(fits, "{about}: {status} {path} is shown as {shown:?}\n{diff}");
        }
    }

    fn report(&self, name: &str) {
        println!(
            "{name}: {} same, {} refused, {} patch ids declined",
            self.same, self.refused, self.declined_patch_ids
        );
        println!("  declined, and git applies: {:?}", self.declined);
    }

    fn declined(&self) -> usize {
        self.declined.values().sum()
    }
}

/// Pseudo-random numbers with a fixed start, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
