//! Starts the user's browser: the commands of `$BROWSER`, else the opener of the platform.

use crate::CliError;
use anyhow::anyhow;
use domain::runtime::TOKEN_VARIABLE;
use std::{io, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

/// A command that runs longer is the browser itself.
const OPENER_TIME: Duration = Duration::from_secs(3);

/// Openers of the platform, in the order in which they are tried. `wslview` opens a browser of Windows.
const OPENERS: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };

/// Opens an address with the first command that works.
pub(super) async fn open(url: &str) -> Result<(), CliError> {
    let chosen = std::env::var("BROWSER").unwrap_or_default();
    let mut problems = Vec::new();
    for command in commands(&chosen, url) {
        match run(&command).await {
            Ok(()) => return Ok(()),
            Err(problem) => problems.push(format!("{}: {problem}", command[0])),
        }
    }
    let hint = "set BROWSER to the command of your browser, or open the address that `countersign open --print` prints";
    Err(anyhow!("cannot open a browser ({}); {hint}", problems.join("; ")).into())
}

/// The commands to try. `$BROWSER` is a list separated by colons; `%s` in a command stands for the address.
fn commands(chosen: &str, url: &str) -> Vec<Vec<String>> {
    let chosen = chosen.split(':').map(str::trim).filter(|command| !command.is_empty());
    let chosen = chosen.map(|command| {
        let has_place = command.contains("%s");
        let words = command.split_whitespace().map(|word| word.replace("%s", url));
        words.chain((!has_place).then(|| url.to_owned())).collect()
    });
    chosen.chain(OPENERS.iter().map(|opener| vec![(*opener).to_owned(), url.to_owned()])).collect()
}

async fn run(command: &[String]) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Err("empty".into()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The browser outlives this command, also after Ctrl-C, and needs no token.
    command.process_group(0).env_remove(TOKEN_VARIABLE);
    let mut child = command.spawn().map_err(|error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing { "not installed".to_owned() } else { error.to_string() }
    })?;
    match timeout(OPENER_TIME, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(status.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_still_running) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{OPENERS, commands};

    #[test]
    fn the_chosen_commands_come_before_those_of_the_platform() {
        let all = commands("firefox --new-tab : chromium --app=%s", "http://x/");
        assert_eq!(all[0], ["firefox", "--new-tab", "http://x/"]);
        assert_eq!(all[1], ["chromium", "--app=http://x/"]);
        assert_eq!(all[2], [OPENERS[0], "http://x/"]);
        assert_eq!(commands("", "http://x/").len(), OPENERS.len());
    }
}
