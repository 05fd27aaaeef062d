//! Attempts to land a change that was not approved. Each runs with both fail modes, against the hooks of a clone, the hook
//! of an agent client, and the hook of a server.
//!
//! The attacker can write every file in the repository and every variable of its own commands, but not the database, the
//! operator's settings, or the repository on the server.

use crate::support::{
    approvals::{approve, approve_staged, git, install, propose, stage, staged},
    broker::TestBroker,
    command::{CommandOutput, command_in},
    reviews::verdict,
};
use serde_json::json;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use testkit::git_command;

const FAIL_MODES: [&str; 2] = ["", "--fail-closed"];

/// A clone with hooks, and its remote.
struct Arena {
    broker: TestBroker,
    remote: tempfile::TempDir,
    /// Copies of both, to start each attempt from.
    start: tempfile::TempDir,
}

impl Arena {
    async fn new() -> Self {
        let broker = TestBroker::start().await;
        let remote = tempfile::tempdir().unwrap();
        git(remote.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
        git(remote.path(), &["config", "receive.denyDeletes", "false"]);
        let repo = broker.repo();
        repo.git(&["remote", "add", "origin", remote.path().to_str().unwrap()]);
        repo.git(&["push", "--quiet", "origin", "main"]);
        repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
        repo.git(&["config", "user.name", "T"]);
        repo.git(&["config", "user.email", "t@example.invalid"]);
        for hooks in [repo.path().join(".git/hooks"), remote.path().join("hooks")] {
            remove(&hooks);
        }
        let arena = Self { broker, remote, start: tempfile::tempdir().unwrap() };
        arena.save();
        arena
    }

    fn path(&self) -> PathBuf {
        self.broker.repo().path()
    }

    fn install(&self, fail: &str) {
        for hook in ["pre-commit", "pre-push"] {
            install(&self.broker, hook, "");
            let file = self.path().join(".git/hooks").join(hook);
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace(" --data-dir", &format!(" {fail} --data-dir"))).unwrap();
        }
    }

    /// Installs `pre-receive` on the server; the clone has no hooks.
    fn install_on_server(&self, options: &str) {
        let file = self.remote.path().join("hooks/pre-receive");
        let (binary, home, data) = (env!("CARGO_BIN_EXE_countersign"), self.broker.home(), self.broker.data_dir());
        let (home, data) = (home.display(), data.display());
        let line = format!("#!/bin/sh\nHOME='{home}' exec '{binary}' hook pre-receive {options} --data-dir '{data}'\n");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, line).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git(&self, args: &[&str]) -> CommandOutput {
        git(&self.path(), args)
    }

    /// Runs a line of the attacker in the clone.
    fn sh(&self, line: &str) -> CommandOutput {
        shell(&self.path(), line)
    }

    /// Puts clone and remote back to how they were, without starting git.
    fn reset(&self) {
        let beside = self.path();
        for entry in std::fs::read_dir(beside.parent().unwrap()).unwrap().flatten() {
            if entry.path() != beside {
                remove(&entry.path());
            }
        }
        for (copy, folder) in [("clone", self.path()), ("remote", self.remote.path().to_owned())] {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                remove(&entry.path());
            }
            copy_into(&self.start.path().join(copy), &folder);
        }
    }

    /// Saves the clone and the remote for [`Self::reset`].
    fn save(&self) {
        for (copy, folder) in [("clone", self.path()), ("remote", self.remote.path().to_owned())] {
            let copy = self.start.path().join(copy);
            std::fs::create_dir(&copy).unwrap();
            copy_into(&folder, &copy);
        }
    }

    /// The commit on `main`, and its tree.
    fn head(&self) -> (String, String) {
        let id = |name: &str| self.git(&["rev-parse", name]).out.trim().to_owned();
        (id("HEAD"), id("HEAD^{tree}"))
    }
}

fn remove(path: &Path) {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
    let removed = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.unwrap();
}

fn copy_into(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The refs of a repository and their ids, read from its files.
fn refs_in(git_dir: &Path) -> Vec<(String, String)> {
    let mut refs = Vec::new();
    let mut folders = vec![git_dir.join("refs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let name = entry.path().strip_prefix(git_dir).unwrap().display().to_string();
                    refs.push((name, std::fs::read_to_string(entry.path()).unwrap().trim().to_owned()));
                }
            }
        }
    }
    let packed = std::fs::read_to_string(git_dir.join("packed-refs")).unwrap_or_default();
    let packed = packed.lines().filter(|line| !line.starts_with(['#', '^'])).filter_map(|line| line.split_once(' '));
    refs.extend(packed.map(|(id, name)| (name.to_owned(), id.to_owned())));
    refs
}

#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while git runs")]
fn shell(dir: &Path, line: &str) -> CommandOutput {
    // The variables with which git finds nothing of this machine.
    let plain = git_command(dir);
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(line).current_dir(dir);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    CommandOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Lines that try to commit an unapproved change. Each may fail or be refused, but HEAD must not get the change.
const COMMITS: &[(&str, &str)] = &[
    ("plain", "git commit -qam evil"),
    ("a broken project file", "mkdir -p .countersign; echo x >.countersign/config.toml; git commit -qam evil"),
    ("a project file that is a folder", "mkdir -p .countersign/config.toml; git commit -qam evil"),
    ("a project file that is a pipe", "mkdir -p .countersign; mkfifo .countersign/config.toml; git commit -qam evil"),
    (
        "a project file out of bounds",
        "mkdir -p .countersign; echo 'git.time_limit = \"1ms\"' >.countersign/config.toml; git commit -qam evil",
    ),
    (
        "a project file with a tiny limit",
        "mkdir -p .countersign; echo 'limits.diff_bytes = 1024' >.countersign/config.toml; seq 4000 >greeting.txt; git commit -qam evil",
    ),
    (
        "a project file that exempts",
        "mkdir -p .countersign; echo 'gate.exempt = [\"*\"]' >.countersign/config.toml; git commit -qam evil",
    ),
    (
        "a project file that opens",
        "mkdir -p .countersign; echo 'gate.fail = \"open\"' >.countersign/config.toml; git commit -qam evil",
    ),
    (
        "a broken persona",
        "mkdir -p .countersign/personas; echo x >.countersign/personas/general.toml; git commit -qam evil",
    ),
    (
        "core.worktree",
        "mkdir -p ../elsewhere; git config core.worktree ../../elsewhere; cp greeting.txt ../elsewhere; git commit -qam evil",
    ),
    ("core.bare", "git config core.bare true; git --work-tree=. commit -qam evil"),
    ("core.bare on the line", "git -c core.bare=true --work-tree=. commit -qam evil"),
    ("extensions.objectFormat", "git config extensions.objectFormat sha256; git commit -qam evil"),
    (
        "another format version",
        "git config core.repositoryformatversion 1; git config extensions.objectFormat sha1; git commit -qam evil",
    ),
    ("i18n.logOutputEncoding", "git config i18n.logOutputEncoding UTF-16; git commit -qam evil"),
    ("i18n.commitEncoding", "git config i18n.commitEncoding UTF-16; git commit -qam evil"),
    ("GIT_WORK_TREE", "GIT_WORK_TREE=$PWD git commit -qam evil"),
    ("GIT_DIR", "GIT_DIR=$PWD/.git git commit -qam evil"),
    ("GIT_DIR and GIT_WORK_TREE", "cd ..; GIT_DIR=$OLDPWD/.git GIT_WORK_TREE=$OLDPWD git commit -qam evil"),
    ("GIT_INDEX_FILE", "cp .git/index ../evil-index; GIT_INDEX_FILE=$PWD/../evil-index git commit -qam evil"),
    (
        "GIT_OBJECT_DIRECTORY",
        "mkdir -p ../objects; GIT_OBJECT_DIRECTORY=$PWD/../objects GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/.git/objects git commit -qam evil",
    ),
    (
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.worktree GIT_CONFIG_VALUE_0=/nowhere git commit -qam evil",
    ),
    (
        "GIT_CONFIG_GLOBAL",
        "printf '[core]\\n\\tbare = true\\n' >../evil; GIT_CONFIG_GLOBAL=$PWD/../evil git commit -qam evil",
    ),
    ("GIT_NAMESPACE", "GIT_NAMESPACE=x git commit -qam evil"),
    ("GIT_CEILING_DIRECTORIES", "GIT_CEILING_DIRECTORIES=$PWD/.. git commit -qam evil"),
    ("GIT_REPLACE_REF_BASE", "GIT_REPLACE_REF_BASE=refs/evil git commit -qam evil"),
    ("TMPDIR", "TMPDIR=/nowhere git commit -qam evil"),
    ("COUNTERSIGN_GIT_PROGRAM", "COUNTERSIGN_GIT_PROGRAM=/bin/false git commit -qam evil"),
    ("COUNTERSIGN_GIT_TIME_LIMIT", "COUNTERSIGN_GIT_TIME_LIMIT=100ms git commit -qam evil"),
    ("COUNTERSIGN_SERVER_DATA_DIR", "COUNTERSIGN_SERVER_DATA_DIR=/nowhere git commit -qam evil"),
    ("COUNTERSIGN_GATE_EXEMPT", "COUNTERSIGN_GATE_EXEMPT='*' git commit -qam evil"),
    ("COUNTERSIGN_GATE_FAIL", "COUNTERSIGN_GATE_FAIL=open git commit -qam evil"),
    ("an unknown variable", "COUNTERSIGN_NO_SUCH_SETTING=1 git commit -qam evil"),
    ("COUNTERSIGN_REVIEWER_ID", "COUNTERSIGN_REVIEWER_ID=x git commit -qam evil"),
    ("XDG_CONFIG_HOME", "XDG_CONFIG_HOME=/nowhere git commit -qam evil"),
    (
        "planning settings",
        "mkdir -p .planning; echo '{\"review\": {\"required_gates\": []}}' >.planning/config.json; git add .; git commit -qam evil",
    ),
    ("broken planning settings", "mkdir -p .planning; echo x >.planning/config.json; git add .; git commit -qam evil"),
    (
        "a clean merge",
        "git stash -q; git checkout -q -b side; git stash pop -q; git commit -q --no-verify -am side; git checkout -q main; git commit -q --no-verify --allow-empty -m main; git merge -q --no-commit --no-ff side; git commit -q -m evil",
    ),
    ("an amendment", "git commit -q --amend -am evil"),
    ("an amendment of an empty commit", "git commit -q --no-verify --allow-empty -m x; git commit -q --amend -am evil"),
    (
        "an octopus merge",
        "git stash -q; git checkout -q -b side; git stash pop -q; git commit -q --no-verify -am side; git checkout -q -b other main; git commit -q --no-verify --allow-empty -m other; git checkout -q main; git commit -q --no-verify --allow-empty -m main; git merge -q --no-commit --no-ff side other; git commit -q -m evil",
    ),
    ("a merge that is not one", "git rev-parse HEAD >.git/MERGE_HEAD; git commit -qam evil"),
    (
        "a merge of a stranger's history",
        "git checkout -q --orphan x; git commit -q --no-verify -am x; git checkout -q main; git merge -q --no-commit --allow-unrelated-histories -s ours x; git checkout -q x -- .; git commit -q -m evil",
    ),
    (
        "a commit-graph with another tree",
        "git commit-graph write --reachable; git replace HEAD $(git commit-tree $(git stash create)^{tree} -m x); git commit -qam evil",
    ),
    ("GIT_GRAFT_FILE", "git rev-parse HEAD >../grafts; GIT_GRAFT_FILE=$PWD/../grafts git commit -qam evil"),
    ("GIT_SHALLOW_FILE", "git rev-parse HEAD >../shallow; GIT_SHALLOW_FILE=$PWD/../shallow git commit -qam evil"),
    ("GIT_ATTR_SOURCE", "GIT_ATTR_SOURCE=HEAD git commit -qam evil"),
    ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_PARAMETERS=\"'core.bare=true'\" git --work-tree=. commit -qam evil"),
    ("GIT_DEFAULT_HASH", "GIT_DEFAULT_HASH=sha256 git commit -qam evil"),
    ("COUNTERSIGN_TOKEN", "COUNTERSIGN_TOKEN=cs_x COUNTERSIGN_SERVER_LISTEN=127.0.0.1:1 git commit -qam evil"),
    ("a graft", "git rev-parse HEAD >.git/info/grafts; git commit -qam evil"),
    ("a shallow file", "git rev-parse HEAD >.git/shallow; git commit -qam evil"),
    ("a replaced commit", "git replace HEAD $(git commit-tree $(git write-tree) -m x); git commit -qam evil"),
    ("attributes", "echo '* -diff -text merge=ours' >.git/info/attributes; git commit -qam evil"),
    (
        "a filter",
        "echo '* filter=x' >.git/info/attributes; git config filter.x.clean 'echo evil'; git add --renormalize .; git commit -qam evil",
    ),
    ("skip-worktree", "git update-index --skip-worktree greeting.txt; git add -f greeting.txt; git commit -qam evil"),
    ("assume-unchanged", "git add greeting.txt; git update-index --assume-unchanged greeting.txt; git commit -qm evil"),
    ("sparse checkout", "git add .; git sparse-checkout set --no-cone nothing; git commit -qm evil"),
    (
        "a split index",
        "git config core.splitIndex true; git update-index --split-index; git add .; git commit -qm evil",
    ),
    ("a path", "git commit -q -m evil greeting.txt"),
    ("a mode", "git checkout -q greeting.txt; chmod +x greeting.txt; git commit -qam evil"),
    (
        "a submodule",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git config submodule.sub.ignore all; git config diff.ignoreSubmodules all; git commit -qm evil",
    ),
    ("a symbolic link", "rm greeting.txt; ln -s /etc/passwd greeting.txt; git commit -qam evil"),
    ("intent to add", "echo evil >new.txt; git add -N new.txt; git commit -qam evil"),
    ("a file with an odd name", "echo evil >\"$(printf 'a\\nb')\"; git add .; git commit -qm evil"),
    ("core.quotePath", "git config core.quotePath true; echo evil >é; git add .; git commit -qm evil"),
    ("diff.noprefix", "git config diff.noprefix true; git config diff.external /bin/true; git commit -qam evil"),
    ("core.fsmonitor", "git config core.fsmonitor /bin/false; git commit -qam evil"),
    (
        "an alternate",
        "mkdir -p ../alt; echo ../../../alt >.git/objects/info/alternates; git commit -qam evil; rm .git/objects/info/alternates",
    ),
    ("few open files", "(ulimit -n 12; git commit -qam evil)"),
    ("an index of version 4", "git update-index --index-version 4; git commit -qam evil"),
    ("index.skipHash", "git config index.skipHash true; git add .; git commit -qm evil"),
    (
        "a sparse index",
        "mkdir d; echo x >d/x; git add d; git commit -q --no-verify -m d; git reset -q --soft HEAD~1; git config index.sparse true; git sparse-checkout set --cone --sparse-index nothing; git commit -qam evil",
    ),
    ("reftable", "git refs migrate --ref-format=reftable; git commit -qam evil; git refs migrate --ref-format=files"),
    ("GIT_COMMON_DIR", "GIT_COMMON_DIR=$PWD/.git git commit -qam evil"),
    (
        "a squashed branch",
        "git stash -q; git checkout -q -b side; git stash pop -q; git commit -q --no-verify -am side; git checkout -q main; git merge -q --squash side; git commit -qm evil",
    ),
    (
        "a cherry-pick",
        "git stash -q; git checkout -q -b side; git stash pop -q; git commit -q --no-verify -am side; git checkout -q main; git cherry-pick -n side; git rev-parse side >.git/CHERRY_PICK_HEAD; git commit -qm evil",
    ),
    (
        "a broken merge head",
        "git add .; echo garbage >.git/MERGE_HEAD; git commit -qm evil; rm -f .git/MERGE_HEAD; git commit -qm evil",
    ),
    (
        "a graft beside a commit graph",
        "git commit-graph write --reachable; echo \"$(git rev-parse HEAD) $(git rev-parse HEAD)\" >.git/info/grafts; git commit -qam evil",
    ),
];

/// `docs/hostile-cases.md` says which tests cover which case.
#[test]
fn every_documented_case_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut sources) = (vec![root.join("tests/it"), root.join("domain/src")], String::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false if entry.path().extension().is_some_and(|kind| kind == "rs") => {
                    sources.push_str(&std::fs::read_to_string(entry.path()).unwrap());
                }
                false => {}
            }
        }
    }
    let lines: Vec<&str> = COMMITS.iter().chain(PUSHES).map(|(name, _)| *name).collect();
    let document = std::fs::read_to_string(root.join("docs/hostile-cases.md")).unwrap();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).skip(1);
    let mut named = 0;
    for (case, tests) in rows {
        let quoted = |mark: char| tests.split(mark).skip(1).step_by(2);
        let (lacks_line, lacks_test) = (
            quoted('"').find(|name| !lines.contains(name)),
            quoted('`').find(|name| !sources.contains(&format!("fn {name}("))),
        );
        assert_eq!((lacks_line, lacks_test), (None, None), "{case}");
        assert!(tests.contains(['"', '`']), "{case} has no test");
        named += 1;
    }
    assert!(named > 25 && lines.len() * 2 + AGENT_LINES.len() > 100, "{named}");
}

#[tokio::test]
async fn no_setting_or_variable_lets_an_unapproved_commit_pass() {
    let arena = Arena::new().await;
    let (start, tree) = arena.head();
    for fail in FAIL_MODES {
        for (name, line) in COMMITS {
            arena.reset();
            arena.install(fail);
            arena.broker.repo().write("greeting.txt", "evil\n");
            let ended = arena.sh(line);
            let main = std::fs::read_to_string(arena.path().join(".git/refs/heads/main")).unwrap_or_default();
            if main.trim() == start {
                continue;
            }
            let config = arena.path().join(".git/config");
            let settings = std::fs::read_to_string(&config).unwrap();
            std::fs::write(&config, "[core]\n\trepositoryformatversion = 0\n").unwrap();
            let head = arena.git(&["--no-replace-objects", "rev-parse", "refs/heads/main^{tree}"]).out;
            assert_eq!(head.trim(), tree, "{name} {fail}: {}{}\n{settings}", ended.out, ended.err);
        }
    }
    // The same hooks allow what was approved.
    arena.reset();
    arena.install("");
    stage(&arena.broker, "zwei");
    approve_staged(&arena.broker, &[]).await;
    let ended = arena.sh("git commit -qm good");
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// Lines that try to push an unapproved change. `evil` makes an unapproved commit past the hooks, `$REMOTE` is the remote.
const PUSHES: &[(&str, &str)] = &[
    ("plain", "evil; git push -q origin main"),
    ("a new branch", "evil; git push -q origin main:new"),
    ("all branches", "evil; git push -q --all origin"),
    ("a mirror", "evil; git push -q --mirror origin"),
    ("an address", "evil; git push -q $REMOTE main"),
    ("an address with a protocol", "evil; git push -q file://$REMOTE main"),
    ("a forced push", "git commit -q --amend --no-verify --allow-empty -m x; evil; git push -q --force origin main"),
    ("an atomic push", "evil; git push -q --atomic origin main main:a main:b"),
    ("a good branch first", "git push -q origin main:good; evil; git push -q origin main~1:good main"),
    ("a tag", "evil; git tag t; git push -q origin t"),
    ("an annotated tag", "evil; git tag -am t t; git push -q origin t"),
    ("tags with a branch", "evil; git tag -am t t; git reset -q --hard HEAD~1; git push -q --tags origin main"),
    ("a tag of a tag", "evil; git tag -am t t; git tag -am u u t; git push -q origin u"),
    ("a tag of a tree", "evil; git tag t HEAD^{tree}; git push -q origin t"),
    ("an annotated tag of a tree", "evil; git tag -am t t HEAD^{tree}; git push -q origin t"),
    ("a tree as a tag", "evil; git push -q origin HEAD^{tree}:refs/tags/t"),
    ("a file as a tag", "git push -q origin $(echo evil | git hash-object -w --stdin):refs/tags/t"),
    ("a tag of a file", "git tag -am t t $(echo evil | git hash-object -w --stdin); git push -q origin t"),
    ("a tree as a branch", "git push -q origin HEAD^{tree}:refs/heads/t"),
    ("a file as a branch", "git push -q origin HEAD:greeting.txt:refs/heads/t"),
    ("a file as a ref of its own", "git push -q origin $(echo evil | git hash-object -w --stdin):refs/evil/t"),
    ("a tag of a tag of a tree", "evil; git tag -am t t HEAD^{tree}; git tag -am u u t; git push -q origin u"),
    (
        "a tag of a tag with ten more around it",
        "evil; git tag -am t t0; for n in 1 2 3 4 5 6 7 8 9 10 11; do git tag -am t t$n t$((n-1)); done; git push -q origin t11",
    ),
    ("notes", "evil; git push -q origin HEAD:refs/notes/x"),
    ("a replacement", "evil; git push -q origin HEAD:refs/replace/$(git rev-parse HEAD~1)"),
    ("another namespace", "evil; git push -q origin HEAD:refs/evil/x"),
    ("a fetched tracking ref", "evil; git fetch -q . HEAD:refs/remotes/origin/z; git push -q origin main"),
    ("a written tracking ref", "evil; git update-ref refs/remotes/origin/main HEAD; git push -q origin main:new"),
    (
        "a packed tracking ref",
        "evil; git update-ref refs/remotes/origin/z HEAD; git pack-refs --all; git push -q origin main:new",
    ),
    (
        "a tracking ref of another remote",
        "evil; git remote add other $REMOTE; git update-ref refs/remotes/other/z HEAD; git push -q other main:new",
    ),
    (
        "another repository to ask",
        "evil; git init -q --bare ../fake1; git push -q --no-verify ../fake1 main; git config remote.origin.pushurl $REMOTE; git config remote.origin.url ../fake1; git push -q origin main:new",
    ),
    (
        "another address to ask",
        "evil; git init -q --bare ../fake2; git push -q --no-verify ../fake2 main; git config url.$PWD/../fake2.insteadOf $REMOTE; git config remote.origin.pushurl $REMOTE/.; git push -q origin main:new",
    ),
    (
        "another upload-pack",
        "evil; git config remote.origin.uploadpack \"git-upload-pack $PWD/.git; :\"; git push -q origin main:new",
    ),
    (
        "a commit and its revert, as a branch",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main; git push -q origin main~1:refs/heads/z",
    ),
    (
        "a commit and its revert, as a tag",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main; git tag t main~1; git push -q origin t",
    ),
    (
        "a commit and its revert, then forced",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main; git push -q --force origin main~1:main",
    ),
    (
        "a commit and its revert, in one push",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main main~1:z",
    ),
    (
        "an empty commit on a reverted one",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main; git checkout -q -b z main~1; git commit -q --no-verify --allow-empty -m x; git push -q origin z",
    ),
    (
        "a merge of a reverted commit",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main; git checkout -q -b z main~2; git commit -q --no-verify --allow-empty -m x; git merge -q --no-ff --no-verify -m m main~1; git push -q origin z",
    ),
    (
        "a commit and its revert, far apart",
        "evil; for n in $(seq 17); do git commit -q --no-verify --allow-empty -m x; done; git checkout -q main~18 -- .; git commit -q --no-verify -m back; git push -q origin main:z; git push -q origin main~1:main",
    ),
    (
        "a commit behind a merge that ignores it",
        "git checkout -q -b x main~1; evil; git checkout -q main; git merge -q --no-verify -s ours -m m x; git push -q origin main:z; git checkout -q -b y origin/main; git merge -q --no-verify --no-ff -m n x; git push -q origin y:main",
    ),
    (
        "an unrelated commit behind a merge that ignores it",
        "git checkout -q --orphan x; evil; git checkout -q -f main; git merge -q --no-verify -s ours --allow-unrelated-histories -m m x; git push -q origin main; git push -q origin x:z",
    ),
    (
        "a commit, its revert and more",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git commit -q --no-verify --allow-empty -m more; git push -q origin main; git push -q origin main~2:z",
    ),
    (
        "an unrelated history",
        "git checkout -q --orphan z; echo evil >greeting.txt; git add .; git commit -q --no-verify -m evil; git push -q origin z",
    ),
    (
        "an empty history",
        "git push -q --force origin $(git commit-tree $(git hash-object -t tree --stdin </dev/null) -m x):refs/heads/main",
    ),
    (
        "an empty commit after an empty history",
        "a=$(git commit-tree $(git hash-object -t tree --stdin </dev/null) -m x); git push -q --force origin $(git commit-tree -p $a $a^{tree} -m y):refs/heads/main",
    ),
    (
        "a merge",
        "git checkout -q -b side; evil; git checkout -q main; git merge -q --no-ff --no-verify -m m side; git push -q origin main",
    ),
    (
        "a merge with other content",
        "git checkout -q -b side; git commit -q --no-verify --allow-empty -m x; git checkout -q main; git merge -q --no-ff --no-commit side; echo evil >greeting.txt; git commit -q --no-verify -am m; git push -q origin main",
    ),
    (
        "a merge of three",
        "git checkout -q -b a; git commit -q --no-verify --allow-empty -m a; git checkout -q -b b main; git commit -q --no-verify --allow-empty -m b; echo evil >greeting.txt; git add .; git push -q origin $(git commit-tree $(git write-tree) -p main -p a -p b -m m):refs/heads/z",
    ),
    (
        "a merge with itself",
        "evil; git push -q origin $(git commit-tree HEAD^{tree} -p HEAD~1 -p HEAD~1 -m m):refs/heads/z",
    ),
    ("a graft", "evil; echo \"$(git rev-parse HEAD)\" >.git/info/grafts; git push -q origin main"),
    (
        "a graft to an equal parent",
        "evil; echo \"$(git rev-parse HEAD) $(git rev-parse HEAD)\" >.git/info/grafts; git push -q origin main",
    ),
    ("a replaced commit", "evil; git replace HEAD HEAD~1; git push -q origin main"),
    ("a replaced tree", "evil; git replace HEAD^{tree} HEAD~1^{tree}; git push -q origin main"),
    ("a replaced file", "evil; git replace HEAD:greeting.txt HEAD~1:greeting.txt; git push -q origin main"),
    ("a shallow file", "evil; git rev-parse HEAD >.git/shallow; git push -q origin main"),
    (
        "a commit graph",
        "evil; git commit-graph write --reachable; git push -q origin main; rm -rf .git/objects/info/commit-graph*",
    ),
    ("a broken project file", "mkdir -p .countersign; echo x >.countersign/config.toml; evil; git push -q origin main"),
    (
        "a broken project file in the push",
        "mkdir -p .countersign; echo x >.countersign/config.toml; git add .; evil; git push -q origin main",
    ),
    (
        "planning settings in the push",
        "mkdir -p .planning; echo '{\"review\": {\"required_gates\": []}}' >.planning/config.json; git add .; evil; git push -q origin main",
    ),
    (
        "planning settings before",
        "mkdir -p .planning; echo '{\"review\": {\"required_gates\": []}}' >.planning/config.json; git add .; git commit -q --no-verify -m s; git push -q origin main; evil; git push -q origin main",
    ),
    (
        "planning settings in another branch",
        "mkdir -p .planning; echo '{\"review\": {\"required_gates\": []}}' >.planning/config.json; git add .; git commit -q --no-verify -m s; git push -q origin HEAD:s; evil; git push -q origin main:s",
    ),
    ("core.worktree", "evil; git config core.worktree /nowhere; git push -q origin main"),
    ("core.bare", "evil; git config core.bare true; git push -q origin main"),
    ("i18n.logOutputEncoding", "evil; git config i18n.logOutputEncoding UTF-16; git push -q origin main"),
    (
        "log settings",
        "evil; git config log.showSignature true; git config format.pretty x; git config log.mailmap true; git push -q origin main",
    ),
    ("GIT_DIR", "evil; GIT_DIR=$PWD/.git git push -q origin main"),
    ("GIT_WORK_TREE", "evil; GIT_WORK_TREE=/nowhere git push -q origin main"),
    ("GIT_GRAFT_FILE", "evil; git rev-parse HEAD >../grafts; GIT_GRAFT_FILE=$PWD/../grafts git push -q origin main"),
    ("GIT_SSH_COMMAND", "evil; GIT_SSH_COMMAND=/bin/true git push -q origin main"),
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "evil; GIT_ALTERNATE_OBJECT_DIRECTORIES=/nowhere git push -q origin main"),
    ("TMPDIR", "evil; TMPDIR=/nowhere git push -q origin main"),
    ("COUNTERSIGN_GIT_PROGRAM", "evil; COUNTERSIGN_GIT_PROGRAM=/bin/true git push -q origin main"),
    ("COUNTERSIGN_GATE_EXEMPT", "evil; COUNTERSIGN_GATE_EXEMPT='*' git push -q origin main"),
    ("COUNTERSIGN_LIMITS_DIFF_BYTES", "evil; COUNTERSIGN_LIMITS_DIFF_BYTES=1024 git push -q origin main"),
    (
        "a refspec in the settings",
        "evil; git config remote.origin.push refs/heads/main:refs/heads/x; git push -q origin",
    ),
    ("matching branches", "evil; git config push.default matching; git push -q origin"),
    (
        "a linked worktree",
        "git worktree add -q ../wt$$ -b wt; cd ../wt$$; evil; git push -q origin wt; cd -; git worktree remove --force ../wt$$",
    ),
    (
        "a submodule",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git config submodule.sub.ignore all; git commit -q --no-verify -m evil; git push -q origin main",
    ),
    ("a mode", "git update-index --chmod=+x greeting.txt; git commit -q --no-verify -m evil; git push -q origin main"),
    ("an empty file", "touch empty; git add .; git commit -q --no-verify -m evil; git push -q origin main"),
    ("an empty push option", "evil; git push -q -o x origin main; git push -q origin main"),
    (
        "another remote to ask by XDG_CONFIG_HOME",
        "evil; git init -q --bare ../fake3; git push -q --no-verify ../fake3 main; mkdir -p ../xdg/git; printf '[url \"%s\"]\\n\\tinsteadOf = %s\\n[url \"%s/.\"]\\n\\tpushInsteadOf = zzz:\\n' $PWD/../fake3 $REMOTE $REMOTE >../xdg/git/config; git remote add p zzz:; unset GIT_CONFIG_GLOBAL; export XDG_CONFIG_HOME=$PWD/../xdg; git push -q p main:new",
    ),
    ("few open files", "evil; (ulimit -n 12; git push -q origin main)"),
    (
        "a ref that looks like receipts",
        "evil; git push -q origin HEAD:refs/heads/refs/notes/countersign; git push -q origin HEAD:refs/notes/Countersign; git push -q origin HEAD:refs/notes/countersign/x",
    ),
    (
        "a commit and its revert on a branch that is deleted",
        "evil; git revert -n HEAD; git commit -q --no-verify -m back; git push -q origin main:z; git push -q origin :z; git push -q origin main~1:main",
    ),
    (
        "a crafted commit with two trees",
        "evil; c=$(printf 'tree %s\\ntree %s\\nparent %s\\nauthor T <t@e> 1 +0000\\ncommitter T <t@e> 1 +0000\\n\\nx\\n' $(git rev-parse main^{tree} main~1^{tree} main~1) | git hash-object -t commit -w --stdin --literally); git push -q origin $c:refs/heads/z",
    ),
    (
        "a crafted commit with two trees, the good one first",
        "evil; c=$(printf 'tree %s\\ntree %s\\nparent %s\\nauthor T <t@e> 1 +0000\\ncommitter T <t@e> 1 +0000\\n\\nx\\n' $(git rev-parse main~1^{tree} main^{tree} main~1) | git hash-object -t commit -w --stdin --literally); git push -q origin $c:refs/heads/z",
    ),
    (
        "a crafted commit with a parent after its author",
        "evil; c=$(printf 'tree %s\\nauthor T <t@e> 1 +0000\\nparent %s\\ncommitter T <t@e> 1 +0000\\n\\nx\\n' $(git rev-parse main^{tree} main) | git hash-object -t commit -w --stdin --literally); git push -q origin $c:refs/heads/z",
    ),
    (
        "a crafted commit with an encoding and a NUL",
        "evil; c=$(printf 'tree %s\\nparent %s\\nauthor T <t@e> 1 +0000\\ncommitter T <t@e> 1 +0000\\nencoding UTF-16\\n\\nx\\0y\\n' $(git rev-parse main^{tree} main~1) | git hash-object -t commit -w --stdin --literally); git push -q origin $c:refs/heads/z",
    ),
    (
        "a crafted commit without an author",
        "evil; c=$(printf 'tree %s\\nparent %s\\n\\nx\\n' $(git rev-parse main^{tree} main~1) | git hash-object -t commit -w --stdin --literally); git push -q origin $c:refs/heads/z",
    ),
    (
        "a tree with a .git in it",
        "b=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\\t.GIT\\n' $b | git mktree); git push -q origin $(git commit-tree $t -p main -m x):refs/heads/z",
    ),
    ("a symbolic ref", "evil; git symbolic-ref refs/heads/s refs/heads/main; git push -q origin s"),
    (
        "branches with strange names",
        "evil; git push -q origin HEAD:refs/heads/HEAD; git push -q origin HEAD:refs/heads/é; git push -q origin HEAD:refs/heads/-x",
    ),
    ("reftable", "git refs migrate --ref-format=reftable; evil; git push -q origin main"),
    (
        "a compatible object format",
        "git config core.repositoryformatversion 1; git config extensions.compatObjectFormat sha256; evil; git push -q origin main",
    ),
    (
        "a partial clone",
        "git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.promisor true; evil; git push -q origin main",
    ),
    (
        "another upload-pack on the line",
        "evil; git init -q --bare ../fake4; git push -q --no-verify ../fake4 main; printf '#!/bin/sh\\nexec git-upload-pack %s\\n' $PWD/../fake4 >../up; chmod +x ../up; git config remote.origin.uploadpack $PWD/../up; git push -q origin main:new",
    ),
    (
        "alternates",
        "evil; git clone -q --bare . ../other; echo $PWD/../other/objects >.git/objects/info/alternates; git push -q origin main",
    ),
    (
        "a worktree config",
        "git config extensions.worktreeConfig true; git config --worktree core.bare true; evil; git push -q origin main; git -c core.bare=false push -q origin main",
    ),
    (
        "a broken HEAD",
        "evil; echo 'ref: refs/heads/nothing' >.git/HEAD; git push -q origin main; echo garbage >.git/HEAD; git push -q origin main",
    ),
    (
        "quarantine variables",
        "evil; GIT_QUARANTINE_PATH=/nowhere GIT_OBJECT_DIRECTORY=$PWD/.git/objects git push -q origin main",
    ),
    (
        "push options of the caller",
        "evil; GIT_PUSH_OPTION_COUNT=1 GIT_PUSH_OPTION_0=skip COUNTERSIGN_PROJECT=other git push -q origin main",
    ),
    ("two pushes at once", "evil; git push -q origin main & git push -q origin main:refs/heads/y & wait"),
    (
        "a tag with the name of a branch",
        "evil; git tag main; git push -q origin refs/tags/main:refs/heads/main; git push -q origin refs/tags/main",
    ),
    (
        "a hidden submodule",
        "git init -q ../sub; git -C ../sub commit -q --allow-empty -m s; git update-index --add --cacheinfo 160000,$(git -C ../sub rev-parse HEAD),sub; git commit -q --no-verify -m s; git push -q --recurse-submodules=no origin main",
    ),
    (
        "settings in another case",
        "mkdir .Planning; echo '{\"review\":{\"required_gates\":[]}}' >.Planning/Config.json; git add .; evil; git push -q origin main",
    ),
];

fn attack(arena: &Arena, line: &str, options: &str) -> CommandOutput {
    let remote = arena.remote.path().display();
    let evil = "evil() { echo evil >greeting.txt; git add .; git commit -q --no-verify -m evil; }";
    let line = line.replace("git push", &format!("git push {options}"));
    arena.sh(&format!("REMOTE={remote}; {evil}; {line}"))
}

/// Every ref of the remote must lead to the commit at the start, or to another one with its tree.
fn assert_only(arena: &Arena, (start, tree): &(String, String), about: &str, ended: &CommandOutput) {
    for (name, id) in refs_in(arena.remote.path()) {
        if id == *start {
            continue;
        }
        let commit = format!("{id}^{{commit}}^{{tree}}");
        let landed = git(arena.remote.path(), &["rev-parse", "--verify", "--quiet", &commit]).out;
        assert_eq!(landed.trim(), tree, "{about}: {name} {id} landed\n{}{}", ended.out, ended.err);
    }
}

#[tokio::test]
async fn no_trick_lets_an_unapproved_commit_be_pushed() {
    let arena = Arena::new().await;
    let start = arena.head();
    for fail in FAIL_MODES {
        for (name, line) in PUSHES {
            arena.reset();
            arena.install(fail);
            let ended = attack(&arena, line, "");
            assert_only(&arena, &start, &format!("{name} {fail}"), &ended);
        }
    }
}

#[tokio::test]
async fn a_server_with_the_hook_accepts_nothing_unapproved() {
    let arena = Arena::new().await;
    let start = arena.head();
    for options in ["", "--fail-open"] {
        for (name, line) in PUSHES {
            arena.reset();
            arena.install_on_server(options);
            let ended = attack(&arena, line, "--no-verify");
            assert_only(&arena, &start, &format!("{name} {options}"), &ended);
        }
        arena.reset();
        arena.install_on_server(options);
        let sent =
            attack(&arena, "evil; git send-pack -q $REMOTE main; git send-pack -q $REMOTE main:refs/heads/z", "");
        assert_only(&arena, &start, "send-pack", &sent);
    }
    // The same hook accepts what was approved.
    arena.reset();
    let (start, _) = start;
    stage(&arena.broker, "zwei");
    let project = arena.path().file_name().unwrap().to_str().unwrap().to_owned();
    approve_staged(&arena.broker, &[]).await;
    arena.git(&["commit", "--quiet", "--message", "good"]);
    for options in ["".to_owned(), format!("--project {project}")] {
        arena.install_on_server(&options);
        git(arena.remote.path(), &["update-ref", "refs/heads/main", &start]);
        let pushed = arena.git(&["push", "--quiet", "origin", "main", "main:new"]);
        assert_eq!(pushed.code, 0, "{options}: {}", pushed.err);
    }
    arena.install_on_server("--project other");
    git(arena.remote.path(), &["update-ref", "refs/heads/main", &start]);
    git(arena.remote.path(), &["update-ref", "-d", "refs/heads/new"]);
    assert_eq!(arena.git(&["push", "--quiet", "origin", "main"]).code, 1, "an approval of another project");
    arena.install_on_server("--data-dir /nowhere");
    assert_eq!(arena.git(&["push", "--quiet", "origin", "main"]).code, 1, "without a database a server refuses");
}

/// A commit from the middle of commits that were approved together.
#[tokio::test]
async fn a_part_of_commits_approved_together_does_not_become_a_branch() {
    for fail in FAIL_MODES {
        let arena = Arena::new().await;
        let repo = arena.broker.repo();
        for (name, text) in [("a", "half\n"), ("a", "whole\n"), ("b", "more\n")] {
            repo.write(name, text);
            repo.commit(text);
        }
        approve(&arena.broker, json!({ "target": { "range": "HEAD~3..HEAD~1" } })).await;
        approve(&arena.broker, json!({ "target": { "commit": "HEAD" } })).await;
        arena.install(fail);
        let push = |spec: &str| arena.git(&["push", "--quiet", "--force", "origin", spec]);
        assert_eq!(push("main").code, 0);
        let no = push("main~2:refs/heads/half");
        assert!(no.code == 1 && no.err.contains("was accepted only together with later commits"), "{}", no.err);
        assert_eq!(push("main~2:main").code, 1);
        assert_eq!(push("main~1:refs/heads/whole").code, 0, "the end of the series");
        assert_eq!(push("main~3:refs/heads/old").code, 0, "the start");
        // An approved change on top of it does not help.
        arena.git(&["checkout", "--quiet", "-b", "on-half", "main~2"]);
        arena.git(&["cherry-pick", "main"]);
        assert_eq!(push("on-half").code, 1);
        arena.git(&["checkout", "--quiet", "-B", "on-whole", "main~1"]);
        arena.git(&["cherry-pick", "--allow-empty", "--keep-redundant-commits", "main"]);
        let yes = push("on-whole");
        assert_eq!(yes.code, 0, "{}", yes.err);
    }
}

/// A project waives the approval of pushes on one branch. What landed there is not approved for the others.
#[tokio::test]
async fn commits_of_a_branch_that_waives_approvals_do_not_reach_a_stricter_branch() {
    let waiver = r#"{"tandem_enabled": true, "review": {"required_gates": []}}"#;
    let arena = Arena::new().await;
    let repo = arena.broker.repo();
    arena.git(&["checkout", "--quiet", "-b", "lax"]);
    repo.write(".planning/config.json", waiver);
    repo.commit("waive");
    approve(&arena.broker, json!({ "target": { "commit": "HEAD" } })).await;
    assert_eq!(arena.git(&["push", "--quiet", "origin", "lax"]).code, 0);
    repo.write("evil.txt", "evil\n");
    let evil = repo.commit("evil");
    arena.git(&["checkout", "--quiet", "main"]);
    std::fs::remove_dir_all(arena.start.path().join("clone")).unwrap();
    std::fs::remove_dir_all(arena.start.path().join("remote")).unwrap();
    arena.save();
    let tricks = [
        "git push -q origin lax:main",
        "git push -q origin lax lax:main",
        "git push -q origin lax:new",
        "git tag t lax; git push -q origin t",
        "git tag -am t t lax; git push -q origin t",
        "git reset -q --hard lax; git commit -q --no-verify --allow-empty -m x; git push -q origin main",
        "git merge -q --no-ff --no-verify -m m lax; git push -q origin main",
        "git push -q origin lax~1:refs/heads/other; git push -q origin lax:other; git push -q origin lax:main",
        // The branch becomes strict again, by an approved commit on top of the others.
        "git checkout -q lax; git rm -q .planning/config.json; git commit -q --no-verify -m strict; git push -q origin lax; git push -q origin lax:main",
    ];
    for on_server in [true, false] {
        for fail in FAIL_MODES {
            for line in tricks {
                arena.reset();
                if on_server {
                    arena.install_on_server(fail);
                } else {
                    arena.install(fail);
                }
                let lands = arena.git(&["push", "--quiet", "origin", "lax"]);
                assert_eq!(lands.code, 0, "the branch waives the approval: {}", lands.err);
                let ended = attack(&arena, line, "");
                for (name, id) in refs_in(arena.remote.path()) {
                    let has_it = git(arena.remote.path(), &["merge-base", "--is-ancestor", &evil, &id]).code == 0;
                    let is_lax = ["refs/heads/lax", "refs/heads/other"].contains(&&*name);
                    assert!(is_lax || !has_it, "{line} {fail}: {name}\n{}{}", ended.out, ended.err);
                }
            }
        }
    }
    // An approved commit of the branch still lands elsewhere.
    arena.reset();
    arena.install_on_server("");
    approve(&arena.broker, json!({ "target": { "commit": &evil } })).await;
    let pushed = arena.git(&["push", "--quiet", "origin", "lax", "lax:main"]);
    assert_eq!(pushed.code, 0, "{}", pushed.err);
}

/// Command lines that an agent client must not run while an unapproved change is staged, after these settings.
const AGENT_LINES: &[(&str, &str)] = &[
    ("true", "git commit -m x"),
    ("git config core.bare true", "git commit -m x"),
    ("git config core.bare true", "git config core.bare false; git commit -m x"),
    ("git config core.worktree /nowhere", "git commit -m x"),
    ("git config core.worktree /nowhere", "git --work-tree=. commit -m x"),
    ("git config extensions.objectFormat sha256", "git config --unset extensions.objectFormat; git commit -m x"),
    ("git config core.repositoryformatversion 9", "git config core.repositoryformatversion 0; git commit -m x"),
    ("echo x >.git/config", "rm .git/config; git commit -m x"),
    ("mkdir -p .countersign; echo x >.countersign/config.toml", "git commit -m x"),
    ("mkdir -p .countersign; echo 'gate.exempt = [\"*\"]' >.countersign/config.toml", "git commit -m x"),
    ("true", "git -c core.worktree=/nowhere commit -m x"),
    ("true", "git -c core.hooksPath=/dev/null commit -m x"),
    ("true", "GIT_WORK_TREE=. git commit -m x"),
    ("true", "GIT_INDEX_FILE=.git/other git commit -m x"),
    ("true", "COUNTERSIGN_GATE_EXEMPT='*' git commit -m x"),
    ("true", "HOME=/nowhere git commit -m x"),
    ("true", "git commit-tree $(git write-tree) -p HEAD -m x"),
    ("true", "git update-ref refs/heads/main $(git commit-tree $(git write-tree) -p HEAD -m x)"),
    ("true", "git update-ref refs/heads/main 0123456789012345678901234567890123456789"),
    ("true", "git fast-import <file"),
    ("true", "git send-pack ../far main"),
    ("true", "git --exec-path=. commit -m x"),
    ("true", "git -C . update-ref HEAD $(git commit-tree $(git write-tree) -p HEAD -m x)"),
    ("true", "git branch -f main $(git commit-tree $(git write-tree) -p HEAD -m x)"),
    ("true", "git reset --soft $(git commit-tree $(git write-tree) -p HEAD -m x)"),
    ("true", "echo x | git commit-tree HEAD^{tree} -p HEAD"),
    ("true", "git symbolic-ref HEAD refs/heads/x; git commit -m x"),
    ("true", "env -i git send-pack --all ../far"),
    ("true", "git http-push http://127.0.0.1:1/x main"),
    ("git commit -q --no-verify -m evil", "git push origin main"),
    ("git commit -q --no-verify -m evil", "git push origin main:new"),
    ("git commit -q --no-verify -m evil; git update-ref refs/remotes/origin/z HEAD", "git push origin main"),
    ("git tag t $(git write-tree)", "git push origin t"),
    (
        "git commit -q --no-verify -m evil; git checkout -q -b side HEAD~1; git config remote.origin.push refs/heads/main",
        "git push",
    ),
    (
        "git commit -q --no-verify -m evil; git config push.default matching; git checkout -q -b side HEAD~1",
        "git push origin",
    ),
    ("git commit -q --no-verify -m evil; echo x >.git/info/grafts", "git push origin main"),
    ("git commit -q --no-verify -m evil; git replace HEAD HEAD~1", "git push origin main"),
    ("git commit -q --no-verify -m evil", "git subtree push --prefix=x origin main"),
];

#[tokio::test]
async fn an_agent_is_denied_whatever_the_repository_says() {
    let arena = Arena::new().await;
    for fail in FAIL_MODES {
        for (before, line) in AGENT_LINES {
            arena.reset();
            stage(&arena.broker, "evil");
            arena.sh(before);
            let input = json!({ "cwd": arena.path(), "tool_name": "Bash", "tool_input": { "command": line } });
            let hook: Vec<_> = ["hook", "pre-tool-use"].into_iter().chain((!fail.is_empty()).then_some(fail)).collect();
            let answer = arena.broker.command(&hook).stdin(&input.to_string()).json().await;
            assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{before}; {line} {fail}: {answer}");
        }
    }
}

/// The operator's settings apply, whatever the project's file contains.
#[tokio::test]
async fn a_broken_project_file_does_not_open_a_gate_that_the_operator_closed() {
    let mut broker = TestBroker::start().await;
    broker.terminate().await;
    std::fs::remove_file(broker.data_dir().join("countersign.db")).unwrap();
    let settings = broker.home().join("operator.toml");
    std::fs::write(&settings, "gate.fail = 'closed'\n").unwrap();
    install(&broker, "pre-commit", "");
    let hook = broker.repo().path().join(".git/hooks/pre-commit");
    let text = std::fs::read_to_string(&hook).unwrap();
    let option = format!(" --config '{}' --data-dir", settings.display());
    std::fs::write(&hook, text.replace(" --data-dir", &option)).unwrap();
    for project in ["x", "gate.fail = 'open'", "gate.exempt = ['*']", ""] {
        stage(&broker, "zwei");
        broker.repo().write(".countersign/config.toml", project);
        let ended = git(&broker.repo().path(), &["commit", "--quiet", "--message", "x"]);
        assert_eq!(ended.code, 1, "{project}: {}", ended.err);
    }
}

#[tokio::test]
async fn an_exemption_never_covers_the_settings_of_the_gate() {
    let broker = TestBroker::start().await;
    let gate = async |file: &str| {
        broker.repo().write(file, "{}");
        broker.repo().git(&["add", "--all"]);
        let gate = broker.command(&["gate"]).var("COUNTERSIGN_GATE_EXEMPT", ".planning/,.countersign/,*.txt");
        let code = gate.finish().await.code;
        broker.repo().git(&["rm", "--quiet", "--force", file]);
        code
    };
    assert_eq!(gate(".planning/notes.md").await, 0);
    for file in
        [".planning/config.json", ".Planning/Config.json", ".countersign/config.toml", ".countersign/personas/a.toml"]
    {
        assert_eq!(gate(file).await, 1, "{file}");
    }
}

/// An approval counts in the repository that it was given for.
#[tokio::test]
async fn an_approval_of_another_project_does_not_count_once_its_base_is_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let lax = folder.path().join("lax");
    let repo = testkit::Repo::new();
    repo.git(&["clone", "--quiet", ".", lax.to_str().unwrap()]);
    std::fs::write(lax.join("greeting.txt"), "evil\n").unwrap();
    git(&lax, &["commit", "--quiet", "--allow-empty", "--message", "a base of its own"]);
    let broker = TestBroker::with_settings(&format!("[projects.lax]\npath = '{}'\n", lax.display())).await;
    let diff = git(&lax, &["diff"]).out;
    approve(&broker, json!({ "diff": diff, "project": "lax" })).await;
    let data_dir = broker.data_dir().display().to_string();
    let gate = async |dir: &Path| {
        let gate = command_in(broker.home(), dir, &["gate"]).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir);
        gate.finish().await
    };
    git(&lax, &["add", "--all"]);
    assert_eq!(gate(&lax).await.code, 0, "it counts where it belongs");
    let here = broker.repo();
    here.git(&["fetch", "--quiet", lax.to_str().unwrap(), "HEAD:refs/heads/fetched"]);
    here.git(&["checkout", "--quiet", "-B", "main", "fetched"]);
    here.write("greeting.txt", "evil\n");
    here.git(&["add", "--all"]);
    let no = gate(&here.path()).await;
    assert_eq!(no.code, 1, "{}{}", no.out, no.err);
    // A clone that is not registered must at least share the history of the base.
    let clone = folder.path().join("clone");
    here.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    git(&clone, &["checkout", "--quiet", "--orphan", "other"]);
    git(&clone, &["commit", "--quiet", "--message", "another history"]);
    std::fs::write(clone.join("greeting.txt"), "evil\n").unwrap();
    git(&clone, &["add", "--all"]);
    assert_eq!(gate(&clone).await.code, 1);
}

/// The proposer cannot vote the operator's panel away.
#[tokio::test]
async fn a_required_persona_must_approve_whatever_the_proposer_asks_for() {
    let rule = "[[panel.rules]]\npaths = ['greeting.txt']\npersonas = ['security']\nrequired = true\n";
    let broker = TestBroker::with_settings(rule).await;
    let vote = async |review: &str, persona: &str, by: &str| {
        let claim = json!({ "review_id": review, "reviewer_id": by, "persona": persona });
        broker.client().call("claim_review", claim).await;
        broker.client().call("submit_verdict", verdict(review, by, "approved")).await;
        broker.client().status(review).await["status"].clone()
    };
    let lax = json!({ "rule": "min_approvals", "min_approvals": 1 });
    for personas in [json!(["general"]), json!(["poetry", "general"])] {
        let word = format!("zwei {personas}");
        stage(&broker, &word);
        let diff = staged(&broker, &[]);
        let review = propose(&broker, json!({ "diff": diff, "personas": personas, "policy": lax })).await;
        assert_ne!(vote(&review, "general", "ada").await, "approved", "{personas}");
        assert_eq!(broker.command(&["gate"]).finish().await.code, 1, "{personas}");
        assert_eq!(vote(&review, "security", "eve").await, "approved", "{personas}");
        assert_eq!(broker.command(&["gate"]).finish().await.code, 0, "{personas}");
        broker.repo().git(&["reset", "--quiet", "--hard"]);
    }
    // The guarded file comes in the second round.
    broker.repo().write("harmless.txt", "x\n");
    broker.repo().git(&["add", "--all"]);
    let review =
        propose(&broker, json!({ "diff": staged(&broker, &[]), "personas": ["general"], "policy": lax })).await;
    stage(&broker, "later");
    let next = json!({ "review_id": review, "intent": "more", "diff": staged(&broker, &[]) });
    broker.client().call("create_review", next).await;
    assert_ne!(vote(&review, "general", "ada").await, "approved");
    assert_eq!(broker.command(&["gate"]).finish().await.code, 1);
    assert_eq!(vote(&review, "security", "eve").await, "approved");
    assert_eq!(broker.command(&["gate"]).finish().await.code, 0);
}

/// A counter-patch cannot bring the guarded file past the operator's panel.
#[tokio::test]
async fn a_counter_patch_with_a_guarded_file_needs_the_required_persona() {
    let rule = "[[panel.rules]]\npaths = ['greeting.txt']\npersonas = ['security']\nrequired = true\n";
    let broker = TestBroker::with_settings(rule).await;
    let client = broker.client();
    let lax = json!({ "rule": "min_approvals", "min_approvals": 1 });
    for skips in [false, true] {
        broker.repo().write("harmless.txt", "x\n");
        broker.repo().git(&["add", "--all"]);
        let harmless = staged(&broker, &[]);
        stage(&broker, &format!("guarded {skips}"));
        let guarded = staged(&broker, &[]);
        let more = json!({ "diff": harmless, "personas": ["general"], "policy": lax, "skip_diff_validation": skips });
        let review = propose(&broker, more).await;
        client.claim(&review, "ada").await;
        let offer = crate::support::reviews::with(
            verdict(&review, "ada", "changes_requested"),
            json!({ "counter_patch": guarded }),
        );
        client.call("submit_verdict", offer).await;
        client.call("accept_counter_patch", json!({ "review_id": review })).await;
        let claim = |persona: &str, by: &str| json!({ "review_id": review, "reviewer_id": by, "persona": persona });
        client.call("claim_review", claim("general", "ada")).await;
        client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
        assert_ne!(client.status(&review).await["status"], "approved", "{skips}");
        for fail in ["--fail-open", "--fail-closed"] {
            assert_eq!(broker.command(&["gate", fail]).finish().await.code, 1, "{skips} {fail}");
        }
        client.call("claim_review", claim("security", "eve")).await;
        client.call("submit_verdict", verdict(&review, "eve", "approved")).await;
        assert_eq!(broker.command(&["gate"]).finish().await.code, 0, "{skips}");
        broker.repo().git(&["reset", "--quiet", "--hard"]);
    }
}
