//! `countersign completions` and `countersign man`: print shell completions and write manual pages.

use crate::{CliError, EXIT_CODES, terminal};
use anyhow::Context as _;
use clap_complete::{Shell, env::Shells};
use std::path::PathBuf;

const NAME: &str = "countersign";
/// A shell sets it when it asks the program for completions.
pub(crate) const VARIABLE: &str = "COUNTERSIGN_COMPLETE";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Set up:
  bash  echo 'source <(countersign completions bash)' >> ~/.bashrc
  zsh   echo 'source <(countersign completions zsh)' >> ~/.zshrc
  fish  echo 'countersign completions fish | source' >> ~/.config/fish/config.fish")]
pub struct CompletionsArgs {
    /// Shell to generate completions for: bash, zsh, fish, elvish or powershell
    shell: Shell,
}

/// The script asks this program for each completion, so it knows ids, statuses and personas.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    let shell = args.shell.to_string();
    let shells = Shells::builtins();
    let adapter = shells.completer(&shell).context("no completions for this shell")?;
    let mut script = Vec::new();
    adapter.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    terminal::write_raw(&script)
}

#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page per command into this folder instead of the main page to stdout
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs, definition: clap::Command) -> Result<(), CliError> {
    let command = public_commands(&definition);
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        clap_mangen::generate_to(command, dir).with_context(|| dir.display().to_string())?;
        return Ok(());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    terminal::write_raw(&page)
}

/// The command line without hidden commands.
pub(crate) fn public_commands(all: &clap::Command) -> clap::Command {
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let about = all.get_about().cloned().unwrap_or_default();
    let command = clap::Command::new(NAME).about(about).version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    command.after_help(EXIT_CODES).subcommand_required(true).args(all.get_arguments().cloned()).subcommands(shown)
}
