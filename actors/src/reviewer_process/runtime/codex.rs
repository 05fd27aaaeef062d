//! `codex exec`.

use serde_json::{Value, json};

use super::{Errand, RuntimeSettings, SERVER, TOKEN_VARIABLE, texts};

pub(super) fn argv(settings: &RuntimeSettings, errand: Errand<'_>, workspace: &str) -> Vec<String> {
    let mut argv = vec![settings.program_or("codex")];
    argv.extend(texts(["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"]));
    argv.extend(texts(["-C", workspace]));
    if let Some(model) = &settings.model {
        argv.extend(texts(["-m", model]));
    }
    // Values are TOML, which writes strings, numbers and truth as JSON does.
    let mut set = |key: &str, value: Value| argv.extend(["-c".to_owned(), format!("{key}={value}")]);
    if let Some(effort) = settings.effort {
        set("model_reasoning_effort", effort.as_str().into());
    }
    // Else every command that the model runs is given all of Codex's own environment, the token included.
    set("shell_environment_policy.inherit", "core".into());
    // Who reads what strangers wrote must not be able to send anything out.
    set("web_search", "disabled".into());
    match errand {
        Errand::Agent { mcp_url, .. } => {
            for (key, value) in [
                ("url", json!(mcp_url)),
                ("bearer_token_env_var", json!(TOKEN_VARIABLE)),
                // Else the first turn may begin before the broker's tools are there.
                ("required", json!(true)),
                ("startup_timeout_sec", json!(30)),
                // More than the longest wait that the broker allows.
                ("tool_timeout_sec", json!(120)),
            ] {
                set(&format!("mcp_servers.{SERVER}.{key}"), value);
            }
        }
        Errand::OneShot { schema_file, .. } => {
            argv.extend(["--output-schema".to_owned(), schema_file.to_string_lossy().into_owned()]);
        }
    }
    argv.push("-".to_owned());
    argv
}
