//! Any text that the broker accepts as a diff must change the files that the parser lists, in the way it says. The engine
//! must not give an answer that git does not give.
#![no_main]

use std::sync::{Arc, LazyLock, Mutex};

use domain::git_engine_mode::EngineMode;
use domain::review::DiffCheck;
use git::{EngineState, GitSettings, Repository};
use libfuzzer_sys::fuzz_target;
use testkit::{DiffReading, Repo};
use tokio::runtime::Runtime;

struct Scene {
    runtime: Runtime,
    repository: Repository,
    answers: EngineState,
    reading: Mutex<DiffReading>,
    base: String,
    _repo: Repo,
    _scratch: tempfile::TempDir,
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let repo = Repo::new();
    repo.write("empty", "");
    repo.write("bare", "no newline");
    repo.write("dir/file", "a\nb\na\nb\n");
    std::os::unix::fs::symlink("greeting.txt", repo.path().join("link")).unwrap();
    repo.commit("files");
    repo.git(&["update-index", "--chmod=+x", "dir/file"]);
    repo.git(&["commit", "--quiet", "--message", "a mode"]);
    let base = repo.git(&["rev-parse", "HEAD"]);
    let scratch = tempfile::tempdir().unwrap();
    let settings = GitSettings { engine: EngineMode::Both, ..GitSettings::default() };
    let answers = settings.engine_state.clone();
    let runtime = Runtime::new().unwrap();
    let project = repo.path();
    let open = Repository::open(&project, scratch.path(), false, Arc::new(settings));
    let repository = runtime.block_on(open).unwrap();
    let reading = Mutex::new(DiffReading::new(&repo.path()));
    Scene { runtime, repository, answers, reading, base, _repo: repo, _scratch: scratch }
});

fuzz_target!(|diff: &str| {
    let scene = &*SCENE;
    let check = scene.runtime.block_on(scene.repository.check(Some(&scene.base), diff));
    assert_eq!(scene.answers.counts().differences, 0, "the engine and git disagree");
    let Ok(DiffCheck::Applies { tree_id: Some(tree), .. }) = check else { return };
    // The check adds a final newline too.
    let diff = if diff.ends_with('\n') { diff.to_owned() } else { format!("{diff}\n\n") };
    let compared = scene.reading.lock().unwrap().compare(Some(&scene.base), &diff, &tree);
    assert_eq!(compared, Ok(()));
});
