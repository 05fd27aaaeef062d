//! `countersign personas`: who can review, as the settings say. It needs no broker.

use super::{Failure, place::Place};
use crate::{
    config::{Loaded, Origin, PanelRule},
    telemetry::visible,
};
use actors::personas::Persona;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    time::Duration,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// JSON instead of a table, with prompts and where each setting comes from
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (loaded, _) = args.place.load(None)?;
    let text = if args.json { format!("{}\n", all(&loaded)) } else { table(&loaded) };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn all(loaded: &Loaded) -> Value {
    let config = &loaded.config;
    let personas: Vec<_> = config.personas.values().map(|persona| row(persona, loaded)).collect();
    json!({ "personas": personas, "panel": config.panel })
}

fn row(persona: &Persona, loaded: &Loaded) -> Value {
    let from: BTreeMap<_, _> = origins(persona, loaded).map(|(key, origin)| (key, origin.to_string())).collect();
    json!({
        "name": persona.name, "focus": persona.focus, "prompt": persona.prompt, "ignore": *persona.ignore,
        "mode": persona.mode, "runtime": persona.runtime, "program": persona.program, "command": persona.command,
        "model": persona.model, "effort": persona.effort, "time_limit": friendly(persona.time_limit),
        "budget_usd": persona.budget_usd, "front_matter": persona.front_matter, "from": from,
    })
}

fn origins<'a>(persona: &Persona, loaded: &'a Loaded) -> impl Iterator<Item = (&'a str, &'a Origin)> {
    let all = loaded.personas.get(&persona.name).into_iter().flatten();
    all.map(|(key, origin)| (key.as_str(), origin))
}

fn table(loaded: &Loaded) -> String {
    let config = &loaded.config;
    let width = config.personas.keys().map(String::len).chain([4]).max().unwrap_or_default();
    let mut text =
        format!("{:<width$}  {:<8}  {:<8}  {:<12}  {:<14}  FOCUS\n", "NAME", "MODE", "RUNTIME", "MODEL", "LIMITS");
    for persona in config.personas.values() {
        let runtime = persona.runtime.map_or("pool's", |runtime| runtime.as_str());
        let model = persona.model.as_deref().unwrap_or("pool's");
        let _ = writeln!(
            text,
            "{:<width$}  {:<8}  {runtime:<8}  {model:<12}  {:<14}  {}",
            persona.name,
            persona.mode.as_str(),
            limits(persona),
            visible(&persona.focus)
        );
        let _ = writeln!(text, "{:<width$}  from {}", "", places(persona, loaded).join(", "));
    }
    let _ = writeln!(text, "\nA proposal that names no personas gets {}", config.panel.personas.join(", "));
    for rule in &config.panel.rules {
        let _ = writeln!(text, "{}", said(rule));
    }
    text
}

/// Who says something of it, each once.
fn places(persona: &Persona, loaded: &Loaded) -> Vec<String> {
    let told = origins(persona, loaded).filter(|(_, origin)| !origin.is_default());
    let mut places: Vec<String> = told.map(|(_, origin)| origin.to_string()).collect();
    places.sort();
    places.dedup();
    places
}

fn said(rule: &PanelRule) -> String {
    let category = rule.category.map(|category| format!("category {category}"));
    let paths = rule.paths.as_ref().map(|paths| format!("paths {}", visible(&paths.join(" "))));
    let conditions: Vec<_> = category.into_iter().chain(paths).collect();
    let verb = if rule.replace { "instead" } else { "also" };
    format!("  {}: {verb} {}", conditions.join(", "), rule.personas.join(", "))
}

fn limits(persona: &Persona) -> String {
    let time = friendly(persona.time_limit);
    match persona.budget_usd {
        Some(budget) => format!("{time}, ${budget:.2}"),
        None => time,
    }
}

fn friendly(duration: Duration) -> String {
    jiff::SignedDuration::try_from(duration)
        .map_or_else(|_| format!("{duration:?}"), |duration| format!("{duration:#}"))
}
