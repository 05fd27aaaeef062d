//! `countersign personas`: lists the personas and default panels in the settings. It needs no broker.

use crate::{CliError, config_overrides::ConfigArgs, render::table, terminal};
use config::{Loaded, Origin};
use domain::default_panel::PanelRule;
use domain::persona::{Mode, Persona};
use domain::runtime::Runtime;
use domain::text::escape;
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON instead of a table, with prompts and the origin of each setting
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let (loaded, _) = args.config.load(None)?;
    if !args.json {
        return terminal::page(&render(&loaded));
    }
    let personas: Vec<_> = loaded.config.personas.values().map(|persona| row(persona, &loaded)).collect();
    terminal::write_json(&format!("{}\n", json!({ "personas": personas, "panel": loaded.config.panel })))
}

fn row(persona: &Persona, loaded: &Loaded) -> impl Serialize {
    let from: BTreeMap<_, _> = origins(persona, loaded).map(|(key, origin)| (key, origin.to_string())).collect();
    let is_dedicated = persona.mode == Mode::Dedicated;
    json!({
        "name": persona.name, "focus": persona.focus, "prompt": persona.prompt, "ignore": *persona.ignore,
        "mode": persona.mode, "runtime": persona.runtime, "program": persona.program, "command": persona.command,
        "model": persona.model, "effort": persona.effort, "time_limit": has_runs(persona).then(|| format_duration(persona.time_limit)),
        "budget_usd": enforced_budget(persona, loaded), "max_turns": is_dedicated.then_some(persona.max_turns),
        "max_tokens": persona.max_tokens.filter(|_| is_dedicated),
        "keep_seat": is_dedicated.then(|| format_duration(persona.keep_seat)), "front_matter": persona.front_matter, "from": from,
    })
}

fn origins<'a>(persona: &Persona, loaded: &'a Loaded) -> impl Iterator<Item = (&'a str, &'a Origin)> {
    let all = loaded.personas.get(&persona.name).into_iter().flatten();
    all.map(|(key, origin)| (key.as_str(), origin))
}

fn render(loaded: &Loaded) -> String {
    let config = &loaded.config;
    let line = |persona: &std::sync::Arc<Persona>| {
        [
            persona.name.clone(),
            persona.mode.as_str().to_owned(),
            persona.runtime.map_or("pool's", |runtime| runtime.as_str()).to_owned(),
            escape(persona.model.as_deref().unwrap_or("pool's")).into_owned(),
            limits(persona, loaded),
            escape(&persona.focus).into_owned(),
        ]
    };
    let mut text = table(["NAME", "MODE", "RUNTIME", "MODEL", "LIMITS", "FOCUS"], config.personas.values().map(line));
    text.push_str("\nsettings from\n");
    for persona in config.personas.values() {
        let _ = writeln!(text, "  {}: {}", persona.name, escape(&sources(persona, loaded).join(", ")));
    }
    let _ = writeln!(text, "\nDefault panel: {}", config.panel.personas.join(", "));
    for rule in &config.panel.rules {
        let _ = writeln!(text, "{}", render_rule(rule));
    }
    text
}

/// The files that set something of a persona, without duplicates.
fn sources(persona: &Persona, loaded: &Loaded) -> Vec<String> {
    let set = origins(persona, loaded).filter(|(_, origin)| !origin.is_default());
    let mut files: Vec<String> = set.map(|(_, origin)| origin.to_string()).collect();
    files.sort();
    files.dedup();
    files
}

fn render_rule(rule: &PanelRule) -> String {
    let category = rule.category.map(|category| format!("category {category}"));
    let paths = rule.paths.as_ref().map(|paths| format!("paths {}", escape(&paths.join(" "))));
    let conditions: Vec<_> = category.into_iter().chain(paths).collect();
    let verb = if rule.replace { "instead" } else { "also" };
    format!("  {}: {verb} {}", conditions.join(", "), rule.personas.join(", "))
}

/// Whether the broker runs a client for each of its seats, and so can limit it. An agent reviews one after another.
fn has_runs(persona: &Persona) -> bool {
    persona.mode != Mode::Agent
}

/// Codex reports no cost.
fn enforced_budget(persona: &Persona, loaded: &Loaded) -> Option<f64> {
    let runtime = persona.runtime.unwrap_or(loaded.config.pool.runtime);
    persona.budget_usd.filter(|_| has_runs(persona) && runtime != Runtime::Codex)
}

/// The limits that the broker enforces.
fn limits(persona: &Persona, loaded: &Loaded) -> String {
    if !has_runs(persona) {
        return "pool's".to_owned();
    }
    let budget = enforced_budget(persona, loaded).map(|budget| format!("${budget:.2}"));
    let is_dedicated = persona.mode == Mode::Dedicated;
    let turns = is_dedicated.then(|| format!("{} turns", persona.max_turns));
    let tokens = persona.max_tokens.filter(|_| is_dedicated).map(|tokens| format!("{tokens} tokens"));
    let limits: Vec<_> =
        [Some(format_duration(persona.time_limit)), budget, turns, tokens].into_iter().flatten().collect();
    limits.join(", ")
}

fn format_duration(duration: Duration) -> String {
    jiff::SignedDuration::try_from(duration)
        .map_or_else(|_| format!("{duration:?}"), |duration| format!("{duration:#}"))
}
