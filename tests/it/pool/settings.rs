//! Invalid settings of the pool are errors at startup.

use crate::support::broker::{TIMEOUT, countersign};
use std::fs;
use tempfile::TempDir;
use tokio::time::timeout;

/// The error of `serve` with these settings. It must exit with 2 and start nothing.
async fn refused(pool: &str) -> String {
    let home = TempDir::new().unwrap();
    let (file, trace) = (home.path().join("pool.toml"), home.path().join("ran"));
    // A reviewer that leaves a file if it runs.
    let reviewer = format!("[\"touch\", {trace:?}]");
    fs::write(&file, format!("[pool]\nenabled = true\n{}", pool.replace("TOUCH", &reviewer))).unwrap();
    let mut command = countersign(home.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    let output = timeout(TIMEOUT, command.output()).await.expect("it ends by itself").unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{words}");
    assert!(!trace.exists() && !home.path().join(".local").exists(), "{words}");
    words
}

#[tokio::test]
async fn an_invalid_setting_is_a_startup_error_with_the_allowed_values() {
    for (pool, said) in [
        ("runtime = 'command'\ncommand = TOUCH\nmax_size = 11", "pool.max_size = 11: expected a whole number"),
        ("runtime = 'shell'\ncommand = TOUCH", "pool.runtime = \"shell\": expected one of codex, claude, command"),
        ("runtime = 'command'", "pool.runtime = \"command\": expected pool.command beside it, a list that begins with"),
        ("command = TOUCH", "expected [], since pool.runtime is \"codex\" (default.toml)"),
        ("model = 'dear-1'", "pool.model = \"dear-1\": expected one of pool.models"),
        ("workspace = '/nowhere'", "pool.workspace = \"/nowhere\": expected an absolute path to an existing folder"),
        ("prompt = '/nowhere'", "pool.prompt = \"/nowhere\": expected an absolute path to a readable file"),
    ] {
        let words = refused(pool).await;
        assert!(words.contains("pool.toml: ") && words.contains(said), "{pool}: {words}");
    }
}

#[tokio::test]
async fn an_unknown_placeholder_in_the_prompt_is_a_startup_error() {
    let folder = TempDir::new().unwrap();
    let prompt = folder.path().join("prompt.md");
    fs::write(&prompt, "You are {{reviewer_id}}.\nYour colour is {{ colour }}.\n").unwrap();
    let words = refused(&format!("runtime = 'command'\ncommand = TOUCH\nprompt = {prompt:?}")).await;
    let said = "line 2: unknown variable {{colour}}; known: reviewer_id, project,";
    assert!(words.contains("pool.prompt = ") && words.contains(said), "{words}");
}
