//! Compares the engine and the parser with git. Where the engine gives an answer, git must give the same one; where it
//! declines, git decides, so that only costs time. What the broker accepts must change the files that the parser lists,
//! in the way it says.

mod cases;
mod commits;
mod generated;
mod history;
mod mutation;

use std::collections::BTreeMap;

use testkit::DiffReading;

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
    /// How the parser reads some diffs in another way than git.
    differences: Vec<String>,
    reading: DiffReading,
    _scratch: TempDir,
}

impl Comparison {
    async fn open(project: &Path) -> Self {
        let scratch = TempDir::new().unwrap();
        let settings = Arc::new(GitSettings::default());
        let repository = Repository::open(project, scratch.path(), false, settings).await.unwrap();
        let (declined, declined_patch_ids) = (BTreeMap::new(), 0);
        let reading = DiffReading::new(project);
        Self {
            repository,
            same: 0,
            refused: 0,
            declined,
            declined_patch_ids,
            differences: Vec::new(),
            reading,
            _scratch: scratch,
        }
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
        if let Some(tree) = &tree
            && let Err(why) = self.reading.compare(base, &diff, tree)
        {
            println!("{about}: {why}\n{diff}");
            self.differences.push(why);
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

    fn report(&self, name: &str) {
        println!(
            "{name}: {} same, {} refused, {} patch ids declined",
            self.same, self.refused, self.declined_patch_ids
        );
        println!("  declined, and git applies: {:?}", self.declined);
        assert!(self.differences.is_empty(), "read in another way:\n{}", self.differences.join("\n"));
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
