//! The environment of a reviewer: an allow-list, what the settings name, and what it has to know.

use std::{
    collections::BTreeMap,
    env::{join_paths, split_paths},
};

use super::{Errand, Launch, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, Runtime, RuntimeSettings, TOKEN_VARIABLE, wsl};

/// Where programs and settings are, who the user is, how text is written. Nothing that is ever a secret:
/// proxies, for one, may carry a password.
const HANDED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // without them nothing reaches its model where an organisation has a certificate of its own
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // no Windows program starts without the first
    "SystemRoot",
    "SystemDrive",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "TEMP",
    "TMP",
];

pub(super) fn of(
    settings: &RuntimeSettings,
    launch: &Launch<'_>,
    own_env: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let taken = |name: &str| Some((name.to_owned(), own_env(name)?));
    let mut env: BTreeMap<_, _> =
        HANDED_ON.iter().chain(home_of(settings.runtime)).filter_map(|name| taken(name)).collect();
    if settings.wsl.is_none()
        && let Some(path) = env.remove("PATH").as_deref().and_then(absolute_only)
    {
        env.insert("PATH".to_owned(), path);
    }
    // Last, so that nothing can stand in for what the broker itself says.
    let mut told: BTreeMap<_, _> = settings.environment.iter().filter_map(|name| taken(name)).collect();
    told.extend(said(settings.runtime, launch));
    if settings.wsl.is_some() {
        env.insert("WSLENV".to_owned(), wsl::crossing(told.keys().map(String::as_str)));
    }
    env.extend(told);
    env.into_iter().collect()
}

/// Where the client keeps the user's login and settings, if not below their home.
const fn home_of(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Codex => &["CODEX_HOME"],
        Runtime::Claude => &["CLAUDE_CONFIG_DIR"],
        Runtime::Command => &[],
    }
}

fn said(runtime: Runtime, launch: &Launch<'_>) -> impl Iterator<Item = (String, String)> {
    let door = match launch.errand {
        Errand::Agent { token, mcp_url } => Some([(TOKEN_VARIABLE, token), (MCP_URL_VARIABLE, mcp_url)]),
        Errand::OneShot { .. } => None,
    };
    let task = door.into_iter().flatten().chain([(REVIEWER_ID_VARIABLE, launch.reviewer_id)]);
    // Several reviewers at once must not replace the program that they run.
    let calm = (runtime == Runtime::Claude).then_some(("DISABLE_AUTOUPDATER", "1"));
    task.chain(calm).map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// Without entries such as `.`, through which a file in the workspace could pass for a program.
fn absolute_only(path: &str) -> Option<String> {
    let entries: Vec<_> = split_paths(path).filter(|entry| entry.is_absolute()).collect();
    let path = join_paths(entries).ok()?.into_string().ok()?;
    (!path.is_empty()).then_some(path)
}
