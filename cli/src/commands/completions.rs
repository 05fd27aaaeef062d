//! `countersign completions` and `countersign man`: print shell completions and write manual pages.

use crate::{CliError, EXIT_CODES, terminal};
use anyhow::Context as _;
use clap_complete::Shell;
use std::path::PathBuf;

const NAME: &str = "countersign";

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell to generate completions for: bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, definition: clap::Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut public_commands(&definition), NAME, &mut script);
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
fn public_commands(all: &clap::Command) -> clap::Command {
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let about = all.get_about().cloned().unwrap_or_default();
    let command = clap::Command::new(NAME).about(about).version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    command.after_help(EXIT_CODES).subcommand_required(true).subcommands(shown)
}
