//! Hostile and damaged repositories: the engine declines quickly, and git has the last word.

use std::io::Write as _;
use std::time::Instant;

use super::*;
use flate2::{Compression, write::ZlibEncoder};

/// Far more than any of these takes, and far less than the work that they ask for.
const SHORT: Duration = Duration::from_secs(5);

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn declines(repo: &TestRepo, base: &str, diff: &str) -> &'static str {
    let repository = repo.open().await;
    let began = Instant::now();
    let declined = repository.0.engine.as_ref().unwrap().apply(Some(base), diff).unwrap_err();
    assert!(began.elapsed() < SHORT, "{:?}", began.elapsed());
    declined.0
}

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";

/// A repository with one commit, and its loose object for `x`.
fn one_blob() -> (TestRepo, String, PathBuf) {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let id = repo.git(&["rev-parse", "HEAD:x"]);
    let file = repo.project.join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    (repo, base, file)
}

#[tokio::test]
async fn a_loose_object_that_inflates_without_end_is_declined() {
    let (repo, base, file) = one_blob();
    let bomb = vec![0; 80 * 1024 * 1024];
    fs::write(&file, deflate(&[format!("blob {}\0", bomb.len()).as_bytes(), &bomb].concat())).unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "data that cannot be inflated");
    fs::write(&file, deflate(b"blob 1099511627776\x001\n")).unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "a malformed object");
}

#[tokio::test]
async fn a_damaged_object_is_declined() {
    let (repo, base, file) = one_blob();
    fs::write(&file, deflate(b"blob 2\x001\r")).unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "an object with another hash");
    fs::write(&file, b"").unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "data that cannot be inflated");
    fs::remove_file(&file).unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "a missing object");
}

#[tokio::test]
async fn a_pack_that_is_truncated_in_place_is_declined() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    for n in 0..50 {
        repo.write(&format!("f{n}"), numbers(n, n + 500));
    }
    let base = repo.commit();
    repo.git(&["repack", "-a", "-d", "--quiet"]);
    let repository = repo.open().await;
    let engine = repository.0.engine.as_ref().unwrap();
    assert_eq!(engine.resolve("HEAD").unwrap(), base);
    for pack in children(&repo.project.join(".git/objects/pack")) {
        fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).unwrap();
        let length = fs::metadata(&pack).unwrap().len();
        fs::OpenOptions::new().write(true).open(&pack).unwrap().set_len(length / 3).unwrap();
    }
    assert!(engine.apply(Some(&base), DIFF).is_err());
}

/// Writes a pack with one entry, and an index of version 2 that gives it the id `id`.
fn write_pack(repo: &TestRepo, id: &str, entry: &[u8]) {
    let folder = repo.project.join(".git/objects/pack");
    fs::create_dir_all(&folder).unwrap();
    let first = usize::from_str_radix(&id[..2], 16).unwrap();
    let fanout = (0..256).flat_map(|at| u32::from(at >= first).to_be_bytes());
    let bytes: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    index.extend(fanout);
    index.extend(bytes);
    index.extend([0; 4]);
    index.extend(12_u32.to_be_bytes());
    index.extend([0; 40]);
    fs::write(folder.join("pack-hostile.idx"), index).unwrap();
    fs::write(folder.join("pack-hostile.pack"), [b"PACK\0\0\0\x02\0\0\0\x01", entry].concat()).unwrap();
}

#[tokio::test]
async fn hostile_pack_entries_are_declined() {
    let (repo, base, file) = one_blob();
    let id = repo.git(&["rev-parse", "HEAD:x"]);
    fs::remove_file(&file).unwrap();
    let id_bytes: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    // A copy of nothing: base size 2, result size 2, one copy command.
    let delta = deflate(&[2, 2, 0x90, 2]);
    let itself = [&[0x74][..], &id_bytes, &delta].concat();
    write_pack(&repo, &id, &itself);
    assert_eq!(declines(&repo, &base, DIFF).await, "a long chain of deltas", "a delta to itself");

    let backwards = [&[0x64, 0x00][..], &delta].concat();
    write_pack(&repo, &id, &backwards);
    assert_eq!(declines(&repo, &base, DIFF).await, "a malformed pack", "a delta to the same offset");

    let huge = [&[0xbf, 0xff, 0xff, 0xff, 0xff, 0x1f][..], &deflate(b"1\n")].concat();
    write_pack(&repo, &id, &huge);
    assert_eq!(declines(&repo, &base, DIFF).await, "an object over the limit", "a size beyond any file");

    let large = [&[0xbf, 0xff, 0xff, 0xff, 0x7f][..], &deflate(b"1\n")].concat();
    write_pack(&repo, &id, &large);
    assert_eq!(declines(&repo, &base, DIFF).await, "an object over the limit");

    let bomb = [&[0x32][..], &deflate(&vec![0; 80 * 1024 * 1024])].concat();
    write_pack(&repo, &id, &bomb);
    assert_eq!(declines(&repo, &base, DIFF).await, "data that cannot be inflated", "more data than the header says");

    let good = [&[0x32][..], &deflate(b"1\n")].concat();
    write_pack(&repo, &id, &good);
    let repository = repo.open().await;
    repository.0.engine.as_ref().unwrap().apply(Some(&base), DIFF).unwrap();
}

#[tokio::test]
async fn hunks_that_match_nowhere_in_a_long_file_are_declined_quickly() {
    let repo = TestRepo::new();
    repo.write("x", "1\n".repeat(300_000));
    let base = repo.commit();
    let hunk: String = (0..2_000).map(|n| format!(" {}\n", if n == 1_999 { 2 } else { 1 })).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -100,2002 +100,2001 @@\n 1\n-1\n{hunk}");
    assert_eq!(declines(&repo, &base, &diff).await, "too many steps");
}

#[tokio::test]
async fn long_lines_that_are_almost_equal_are_declined_quickly() {
    let repo = TestRepo::new();
    let line = "a".repeat(20_000);
    repo.write("x", format!("{line}\n").repeat(1_000));
    let base = repo.commit();
    let context = format!(" {line}\n").repeat(20);
    let hunk = format!("@@ -100,22 +100,22 @@\n{context}-{line}\n+b\n {}b\n", "a".repeat(19_999));
    assert_eq!(declines(&repo, &base, &format!("--- a/x\n+++ b/x\n{hunk}")).await, "too many steps");
}

#[tokio::test]
async fn a_pipe_in_the_place_of_a_file_does_not_block() {
    let (repo, base, file) = one_blob();
    fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(declines(&repo, &base, DIFF).await, "a missing object");
    let head = repo.project.join(".git/refs/heads/main");
    fs::remove_file(&head).unwrap();
    nix::unistd::mkfifo(&head, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let repository = repo.open().await;
    assert!(repository.0.engine.as_ref().unwrap().resolve("main").is_err());
}

#[tokio::test]
async fn very_many_hunks_or_files_are_declined_quickly() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 60_000));
    let base = repo.commit();
    let hunks: String = (1..20_000).map(|n| format!("@@ -{0} +{0} @@\n-{0}\n+{0}x\n", 3 * n)).collect();
    assert_eq!(declines(&repo, &base, &format!("--- a/x\n+++ b/x\n{hunks}")).await, "too many steps");
    let files: String = (0..60_000).map(|n| format!("--- /dev/null\n+++ b/n{n}\n@@ -0,0 +1 @@\n+1\n")).collect();
    assert_eq!(declines(&repo, &base, &files).await, "no patch, or too many");
}

#[tokio::test]
async fn a_tree_that_unfolds_to_billions_of_files_is_declined() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let blob = repo.git(&["rev-parse", "HEAD:x"]);
    let make = |lines: String| {
        fs::write(repo.repo.beside("lines"), lines).unwrap();
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", "git mktree < ../lines"]).current_dir(&repo.project).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    let mut tree = make(format!("100644 blob {blob}\tx\n"));
    for _ in 0..10 {
        tree = make((0..10).map(|n| format!("040000 tree {tree}\td{n}\n")).collect());
    }
    let root = make(format!("040000 tree {tree}\td\n100644 blob {blob}\tx\n"));
    let commit = repo.git(&["commit-tree", "-p", &base, "-m", "bomb", &root]);
    assert_eq!(declines(&repo, &commit, DIFF).await, "a tree without files, or with too many");
}

/// An answer for the same text must not be used for another base or another text.
#[tokio::test]
async fn remembered_checks_differ_by_base_and_diff() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    repo.write("y", "1\n");
    let first = repo.commit();
    repo.write("y", "2\n");
    let second = repo.commit();
    let repository = repo.open().await;
    let mut trees = Vec::new();
    for base in [&first, &second, &first] {
        for diff in [DIFF, &DIFF.replace("+2", "+3"), DIFF] {
            let DiffCheck::Applies { tree_id, .. } = repository.check(Some(base), diff).await.unwrap() else {
                panic!()
            };
            trees.push(tree_id.unwrap());
        }
    }
    assert_eq!(trees[0], trees[2]);
    assert_eq!(trees[0..3], trees[6..9]);
    trees.sort();
    trees.dedup();
    assert_eq!(trees.len(), 4);
    let counts = repository.0.settings.engine_state.counts();
    assert_eq!((counts.by_engine, counts.remembered, counts.by_git), (4, 5, 0));
}

#[tokio::test]
async fn both_answers_are_compared_and_git_is_used() {
    let (repo, base, _) = one_blob();
    let settings = GitSettings { engine: EngineMode::Both, ..GitSettings::default() };
    let repository = repo.open_with(settings).await;
    assert_eq!(repository.resolve_base(None).await.unwrap(), Some(base.clone()));
    assert!(matches!(repository.check(Some(&base), DIFF).await.unwrap(), DiffCheck::Applies { .. }));
    repository.patch_id(&format!("diff --git a/x b/x\n{DIFF}")).await.unwrap().unwrap();
    let state = &repository.0.settings.engine_state;
    assert_eq!(state.counts(), AnswerCounts { by_engine: 0, by_git: 3, remembered: 0, differences: 0 });

    let wrong = repository.0.ask("check", |_| Ok(1), async { Ok(2) }).await.unwrap();
    assert_eq!((wrong, state.counts().differences), (2, 1));
    let refused = async { Err(GitError::DoesNotApply { message: "no".into() }) };
    assert!(repository.0.ask("check", |_| Ok(1), refused).await.is_err());
    assert_eq!(state.counts().differences, 2, "a yes where git says no");
    let trouble = async { Err(GitError::TimedOut { after: SHORT }) };
    assert!(repository.0.ask("check", |_| Ok(1), trouble).await.is_err());
    assert_eq!(state.counts().differences, 2, "trouble is not an answer");
}
