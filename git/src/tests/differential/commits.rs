//! Commits, the changes between them, and their files: what the gate and targets ask about a history.

use super::generated::commit_steps;
use super::*;
use crate::engine::Declined;

/// How many questions the engine answered, and how many it left to git.
#[derive(Debug, Default)]
struct Answers {
    own: usize,
    declined: usize,
}

impl Answers {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, about: &str, own: Result<T, Declined>, git: T) {
        match own {
            Ok(own) => {
                assert_eq!(own, git, "{about}");
                self.own += 1;
            }
            Err(_) => self.declined += 1,
        }
    }
}

/// Asks both about the newest commits of a repository, and about pairs of them.
async fn compare_commits(project: &Path, count: usize) -> Answers {
    let (scratch, mut answers) = (TempDir::new().unwrap(), Answers::default());
    let location = RepoLocation::find(project).unwrap();
    let repository = Repository::open_at(&location, scratch.path(), Arc::default()).await.unwrap();
    let engine = repository.0.engine.as_ref().unwrap();
    let list = git_in(project, &["rev-list", "--topo-order", &format!("-n{count}"), "HEAD"]);
    let ids: Vec<String> = list.lines().map(str::to_owned).collect();
    let all = ids.iter().enumerate();
    for (at, id) in all {
        let one = std::slice::from_ref(id);
        let tree = repository.tree_with_git(Some(id)).await.unwrap();
        answers.compare(id, engine.tree(Some(id)), tree.clone());
        for walk in [Walk::TipsOnly, Walk::Ancestors { max: 7 }, Walk::Ancestors { max: 1001 }] {
            let listed = repository.list_commits_with_git(one, &[], walk).await.unwrap();
            answers.compare(&format!("{id} {walk:?}"), engine.list_commits(one, &[], walk), listed);
        }
        let Some(other) = ids.get((at * 7 + 3) % ids.len()) else { continue };
        let ends = std::slice::from_ref(other);
        for walk in [Walk::Ancestors { max: 1001 }, Walk::Ancestors { max: 3 }, Walk::Descendants] {
            let listed = repository.list_commits_with_git(one, ends, walk).await.unwrap();
            answers.compare(&format!("{other}..{id} {walk:?}"), engine.list_commits(one, ends, walk), listed);
        }
        let other_tree = repository.tree_with_git(Some(other)).await.unwrap();
        let changed = repository.changed_paths_with_git(&other_tree, &tree).await.unwrap();
        for path in changed.iter().take(5).map(String::as_str).chain(["no/such", "src", "", "Cargo.toml/x"]) {
            let file = repository.read_committed_file_with_git(id, path).await.unwrap();
            answers.compare(&format!("{id}:{path}"), engine.read_file(id, path, 1 << 20), file);
        }
        answers.compare(&format!("{other} {id} files"), engine.changed_paths(&other_tree, &tree), changed);
        let mut session = repository.session().await.unwrap();
        let fork = session.merge_base_with_git(id, other).await.unwrap();
        answers.compare(&format!("{id} {other} fork"), engine.merge_base(id, other).map(Some), fork);
        let listed = session.list_commits_with_git(Some(other), id).await.unwrap();
        let own = engine.commits_since(other, id).map(|own| (crate::targets::shown(&own), own.len() as u64));
        answers.compare(&format!("{other}..{id} shown"), own, listed);
        drop(session);
        let range = format!("{other}..{id}");
        let revisions = repository.resolve_revisions_with_git(&range).await.unwrap();
        assert_eq!(repository.resolve_revisions(&range).await.unwrap(), revisions);
    }
    let empty = repository.tree_with_git(None).await.unwrap();
    answers.compare("the empty tree", engine.tree(None), empty);
    answers
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_commits_and_what_they_change() {
    for format in ["sha1", "sha256"] {
        let repo = TestRepo::with_format(format);
        let commits = commit_steps(&repo);
        let line = compare_commits(&repo.project, 30).await;
        assert!(line.own > 4 * line.declined, "{format}: {line:?}");
        repo.git(&["switch", "--quiet", "--create", "side", &commits[12]]);
        for message in ["one line\nand another\n\nbody", "trailing blanks   \n\nbody", "ünï\tcode"] {
            repo.write("side", message);
            repo.git(&["add", "--all"]);
            repo.git(&["commit", "--quiet", "--message", message]);
        }
        repo.write("side", "latin");
        repo.git(&["add", "--all"]);
        repo.git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--message", "caf\u{e9}"]);
        repo.git(&["merge", "--quiet", "--strategy=ours", "--no-edit", "main"]);
        repo.write("side", "after the merge");
        repo.commit();
        let merged = compare_commits(&repo.project, 40).await;
        println!("  {format}: {line:?}, with a merge {merged:?}");
    }
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_the_commits_of_this_repository() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if !project.join(".git").exists() {
        println!("SKIPPED: the sources are not in a git repository");
        return;
    }
    println!("  {:?}", compare_commits(project, 12).await);
}
