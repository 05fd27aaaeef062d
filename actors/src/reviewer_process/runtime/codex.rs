//! The command line of Codex: `codex exec`.

use serde_json::{Value, json};

use super::{RunMode, RuntimeSettings, SERVER_NAME, TOKEN_VARIABLE, strings};

pub(crate) fn argv(settings: &RuntimeSettings, mode: RunMode<'_>, workspace: &str) -> Vec<String> {
    let mut argv = vec![settings.program_or("codex")];
    argv.extend(strings(["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"]));
    argv.extend(strings(["-C", workspace]));
    if let Some(model) = &settings.model {
        argv.extend(strings(["-m", model]));
    }
    // Values are TOML, which writes strings, numbers and booleans like JSON.
    let mut set = |key: &str, value: Value| argv.extend(["-c".to_owned(), format!("{key}={value}")]);
    if let Some(effort) = settings.effort {
        set("model_reasoning_effort", effort.as_str().into());
    }
    // By default every command that the model runs gets the whole environment of Codex, including the token.
    set("shell_environment_policy.inherit", "core".into());
    // A client that reads untrusted text must not be able to send data out.
    set("web_search", "disabled".into());
    match mode {
        RunMode::Agent { mcp_url, .. } => {
            for (key, value) in [
                ("url", json!(mcp_url)),
                ("bearer_token_env_var", json!(TOKEN_VARIABLE)),
                // Without it the first turn may start before the broker's tools are available.
                ("required", json!(true)),
                ("startup_timeout_sec", json!(30)),
                // Longer than the longest wait that the broker allows.
                ("tool_timeout_sec", json!(120)),
            ] {
                set(&format!("mcp_servers.{SERVER_NAME}.{key}"), value);
            }
        }
        RunMode::OneShot { schema_file, .. } => {
            argv.extend(["--output-schema".to_owned(), schema_file.to_string_lossy().into_owned()]);
        }
    }
    argv.push("-".to_owned());
    argv
}
