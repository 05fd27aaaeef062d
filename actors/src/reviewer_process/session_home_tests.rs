use super::*;
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn a_new_home_is_private_and_links_the_login() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join("user");
    fs::create_dir(&user).unwrap();
    for file in ["auth.json", "config.toml", "history.jsonl"] {
        fs::write(user.join(file), file).unwrap();
    }
    let home = path(folder.path(), "security-R-1");
    fs::create_dir_all(home.join("sessions/old")).unwrap();
    let env = |name: &str| (name == "CODEX_HOME").then(|| user.display().to_string());
    create(&home).unwrap();
    link_login(&home, Runtime::Codex, env).unwrap();
    let mut files: Vec<_> =
        fs::read_dir(&home).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["auth.json", "config.toml"], "neither the user's other files nor an earlier session");
    assert_eq!(fs::read_link(home.join("auth.json")).unwrap(), user.join("auth.json"));
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // A refreshed login reaches the user's file.
    fs::write(home.join("auth.json"), "refreshed").unwrap();
    assert_eq!(fs::read_to_string(user.join("auth.json")).unwrap(), "refreshed");
}

#[test]
fn the_login_is_found_in_the_users_home() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".claude")).unwrap();
    fs::write(folder.path().join(".claude/.credentials.json"), "{}").unwrap();
    let home = path(folder.path(), "tests-R-2");
    let env = |name: &str| (name == "HOME").then(|| folder.path().display().to_string());
    create(&home).unwrap();
    link_login(&home, Runtime::Codex, env).unwrap();
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "Codex has no login here");
    link_login(&home, Runtime::Claude, env).unwrap();
    assert!(home.join(".credentials.json").is_file());
    link_login(&home, Runtime::Command, |_| None).unwrap();
}

#[test]
fn a_login_after_the_first_turn_is_linked_before_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (user, home) = (folder.path().join("user"), path(folder.path(), "security-R-1"));
    fs::create_dir(&user).unwrap();
    let env = |name: &str| (name == "CODEX_HOME").then(|| user.display().to_string());
    create(&home).unwrap();
    link_login(&home, Runtime::Codex, env).unwrap();
    fs::write(home.join("rollout"), "a session").unwrap();
    fs::write(user.join("auth.json"), "{}").unwrap();
    for _ in 0..2 {
        link_login(&home, Runtime::Codex, env).unwrap();
        assert_eq!(fs::read_link(home.join("auth.json")).unwrap(), user.join("auth.json"));
    }
    assert!(home.join("rollout").exists(), "the session stays");
}
