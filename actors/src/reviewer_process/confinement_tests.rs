use super::{Confined, Confinement, ProcessSpec, Sandbox, variable};
use crate::reviewer_process::runtime::{Runtime, SESSION_DIR_VARIABLE};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A home folder with a client in `.npm/bin`, a login of Codex and a data folder.
fn home() -> (TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let home = temporary.path().canonicalize().unwrap();
    for folder in [".npm/bin", ".npm/lib/node_modules/@openai/codex/bin", ".codex", "data", "copy", ".npm/share"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    let script = home.join(".npm/lib/node_modules/@openai/codex/bin/codex.js");
    fs::write(&script, "").unwrap();
    std::os::unix::fs::symlink(script, home.join(".npm/bin/codex")).unwrap();
    for file in [".codex/auth.json", ".codex/config.toml", ".codex/history.jsonl"] {
        fs::write(home.join(file), "").unwrap();
    }
    (temporary, home)
}

fn confined(home: &Path, more: &[(&str, &str)]) -> ProcessSpec {
    let own = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let path = format!("/usr/bin:{}:{}:{}", own(".npm/bin"), own(""), own("missing"));
    let mut env =
        vec![("PATH".to_owned(), path), ("HOME".to_owned(), own("")), ("XDG_CONFIG_HOME".to_owned(), own(".config"))];
    env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let spec = ProcessSpec {
        argv: [&own(".npm/bin/codex"), "exec", "--sandbox", "read-only", "-C"].map(str::to_owned).to_vec(),
        env,
        cwd: home.join("copy"),
        prompt: String::new(),
        sandbox: None,
    };
    let confinement = Confinement::On { readable: vec!["/srv/tools".into()], data_dir: home.join("data") };
    let own_env = |name: &str| (name == "HOME").then(|| home.to_str().unwrap().to_owned());
    let work_dir = home.join("data-reviewers");
    let reviewer = Confined { id: "codex-r1", runtime: Runtime::Codex, work_dir: &work_dir, changes_copy: false };
    confinement.apply(spec, &reviewer, own_env).unwrap()
}

#[test]
fn a_reviewer_gets_private_folders_and_the_login_of_its_client() {
    let (_temporary, home) = home();
    let spec = confined(&home, &[]);
    let private = home.join("data-reviewers/private/codex-r1");
    let folder = |name: &str| Some(private.join(name).to_str().unwrap().to_owned());
    let set = |name: &str| variable(&spec, name).map(str::to_owned);
    assert_eq!(
        [set("HOME"), set("TMPDIR"), set("CODEX_HOME"), set("XDG_CONFIG_HOME")],
        [folder("home"), folder("tmp"), folder("client"), None]
    );
    assert_eq!(spec.argv[1..], ["exec", "--sandbox", "danger-full-access", "-C"], "its own sandbox cannot be nested");
    assert_eq!(fs::read_link(private.join("client/auth.json")).unwrap(), home.join(".codex/auth.json"));
    let Sandbox { shared, hidden, readable, writable } = spec.sandbox.clone().unwrap();
    assert_eq!(writable, [private, home.join(".codex/auth.json")]);
    assert_eq!(readable, [home.join("copy"), home.join(".codex/config.toml"), home.join(".npm/bin/codex")]);
    assert_eq!(hidden, [home.join("data"), home.join("data-reviewers")]);
    // Not the home folder, which PATH names, and of the folder with the client only what belongs to programs.
    let below: Vec<_> = shared.iter().filter(|path| path.starts_with(&home)).collect();
    let expected = [".npm/bin", ".npm/lib", ".npm/lib/node_modules", ".npm/lib/node_modules/@openai/codex/bin"];
    assert_eq!(below, expected.map(|path| home.join(path)).iter().collect::<Vec<_>>());
    assert!(shared.contains(&"/srv/tools".into()) && !shared.contains(&"/".into()));
}

#[test]
fn a_dedicated_reviewer_keeps_the_folder_of_its_session() {
    let (_temporary, home) = home();
    let session = home.join("data-reviewers/sessions/security-R-1");
    let session = session.to_str().unwrap();
    let spec = confined(&home, &[(SESSION_DIR_VARIABLE, session), ("CODEX_HOME", session)]);
    assert_eq!(variable(&spec, "CODEX_HOME"), Some(session));
    assert!(spec.sandbox.unwrap().writable.contains(&session.into()));
}

#[test]
fn a_sandbox_that_is_required_and_impossible_stops_the_reviewer() {
    let (_temporary, home) = home();
    let spec = ProcessSpec { sandbox: None, ..confined(&home, &[]) };
    let confinement = Confinement::Impossible("the kernel has no Landlock");
    let reviewer = Confined { id: "r1", runtime: Runtime::Command, work_dir: &home, changes_copy: false };
    let error = confinement.apply(spec, &reviewer, |_| None).unwrap_err();
    assert_eq!(error.to_string(), "the kernel has no Landlock");
}
