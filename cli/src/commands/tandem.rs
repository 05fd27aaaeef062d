//! `countersign tandem`: prints whether the project requires a review for its changes (tandem mode) and its settings for
//! that, or switches tandem mode on or off. It needs no broker.

use crate::{CliError, USAGE, config_overrides::ConfigArgs, init, terminal};
use anyhow::anyhow;
use config::planning_config::{PLANNING_FILE, PlanningConfig};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 tandem, or switched; 1 solo; 2 invalid settings")]
pub struct Args {
    /// Switch tandem mode on or off [default: print the settings]
    switch: Option<Switch>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let (_, repo) = args.config.load(None)?;
    let root: PathBuf = match repo {
        Some(repo) => repo,
        None => std::env::current_dir()?,
    };
    let file = root.join(PLANNING_FILE);
    if let Some(switch) = args.switch {
        return switch_to(switch, &root, args.json);
    }
    let tandem = PlanningConfig::load(&root).map_err(|error| CliError::new(USAGE, error))?;
    if !args.json {
        tandem.warnings.iter().for_each(|warning| terminal::remark(&format!("{PLANNING_FILE}: {warning}")));
    }
    let written = if args.json {
        let mut all = json!(tandem);
        all["file"] = json!(file.exists().then_some(&file));
        terminal::write_json(&format!("{all:#}\n"))
    } else {
        terminal::write(&render(&tandem))
    };
    match (tandem.tandem_enabled, file.exists()) {
        (true, _) => written,
        (false, true) => Err(anyhow!("solo: {} does not enable tandem", file.display()).into()),
        (false, false) => Err(anyhow!("solo: {} does not exist", file.display()).into()),
    }
}

/// Writes the key `tandem_enabled` and leaves the rest of the file as it is.
fn switch_to(switch: Switch, root: &Path, json: bool) -> Result<(), CliError> {
    let before = PlanningConfig::load(root).map_err(|error| CliError::new(USAGE, error))?;
    let enabled = switch == Switch::On;
    let changed = before.tandem_enabled != enabled || before.is_solo == enabled;
    if changed {
        init::set_json_key(&root.join(PLANNING_FILE), "tandem_enabled", enabled.into())?;
    }
    if json {
        return terminal::write_json(&format!("{}\n", json!({ "tandem_enabled": enabled, "changed": changed })));
    }
    let state = if enabled { "on" } else { "off" };
    if !changed {
        return terminal::write(&format!("tandem mode is {state} already\n"));
    }
    terminal::write(&format!(
        "tandem mode is {state} in {PLANNING_FILE}\nnext: commit this file and push it; git hooks go by the committed \
         file, and a change of it needs an approval: git add {PLANNING_FILE} && countersign request --staged\n"
    ))
}

/// One setting per line, as shell assignments.
fn render(tandem: &PlanningConfig) -> String {
    let gates: Vec<_> = tandem.review.required_gates.iter().map(|gate| gate.to_string()).collect();
    format!(
        "tandem_enabled={}\nreview_granularity={}\nexecution_mode={}\nrequired_gates={}\n",
        tandem.tandem_enabled,
        tandem.review_granularity,
        tandem.execution_mode,
        gates.join(",")
    )
}
