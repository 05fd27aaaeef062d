//! `countersign tandem`: prints whether the project requires a review for its changes (tandem mode), and its settings
//! for that. It needs no broker.

use crate::{CliError, USAGE, config_overrides::ConfigArgs, terminal};
use anyhow::anyhow;
use config::planning_config::{PLANNING_FILE, PlanningConfig};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 tandem, 1 solo, 2 invalid settings")]
pub struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let (_, repo) = args.config.load(None)?;
    let root: PathBuf = match repo {
        Some(repo) => repo,
        None => std::env::current_dir()?,
    };
    let tandem = PlanningConfig::load(&root).map_err(|error| CliError::new(USAGE, error))?;
    let file = root.join(PLANNING_FILE);
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
