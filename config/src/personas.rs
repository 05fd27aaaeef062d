//! Personas, in layers: `persona.toml` < built in < the user's folder < the project's folder. A file contains only what
//! it changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::glob::Globs;
use domain::persona::{MAX_PERSONA_NAME_CHARS, is_persona_name};
use domain::persona::{Mode, Persona, Personas};
use domain::runtime::{Effort, Runtime};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Origin, PERSONA_DEFAULTS, Problem, display_value};
use crate::merge::{SourceKind, tightened};
use crate::pool::or_empty;
use crate::schema::{PERSONA_RULES, Scope};
use crate::setting_key::Key;
use crate::sources::{PersonaFolder, Sources};
use crate::suggest::unknown_key;
use crate::validate::{PathContext, is_program};

const DEFAULTS: &str = include_str!("../persona.toml");
/// Appended to every prompt: how to report findings.
const FINDINGS: &str = include_str!("../personas/findings.md");

macro_rules! built_in {
    ($($name:literal),+) => {
        [$((
            $name,
            include_str!(concat!("../personas/", $name, ".toml")),
            include_str!(concat!("../personas/", $name, ".md")),
        )),+]
    };
}
const BUILT_IN: [(&str, &str, &str); 5] = built_in!("general", "security", "performance", "architecture", "tests");

/// The personas, and the origin of each of their settings.
#[derive(Default)]
pub(crate) struct Configured {
    pub(crate) personas: Personas,
    pub(crate) origins: BTreeMap<String, BTreeMap<String, Origin>>,
    pub(crate) problems: Vec<Problem>,
}

type Settings = BTreeMap<Key, (Value, Origin)>;

/// The personas of an unchanged configuration.
pub(crate) fn built_in() -> Personas {
    let drafts = Drafts::built_in().drafts;
    drafts.into_iter().filter_map(|(name, draft)| Some((name.clone(), Arc::new(draft.finish(name).ok()?)))).collect()
}

/// Reads every folder. `settings` is the rest of the configuration.
pub(crate) fn load(sources: &Sources, settings: &Settings) -> Configured {
    let mut all = Drafts { sources: Some(sources), ..Drafts::built_in() };
    if let Some(folder) = sources.user_personas() {
        all.folder(&folder, SourceKind::OperatorFile);
    }
    if let Some(folder) = sources.project_personas() {
        all.folder(&folder, SourceKind::ProjectFile);
    }
    let Drafts { drafts, mut problems, .. } = all;
    let mut configured = Configured::default();
    for (name, draft) in drafts {
        problems.extend(draft.contradictions(settings));
        let origins = draft.values.iter().map(|(key, (_, origin))| (key.clone(), origin.clone())).collect();
        configured.origins.insert(name.clone(), origins);
        if problems.is_empty() {
            match draft.finish(name.clone()) {
                Ok(persona) => {
                    configured.personas.insert(name, Arc::new(persona));
                }
                Err(text) => problems.push(Problem::in_source(&Origin::Default, text)),
            }
        }
    }
    Configured { problems, ..configured }
}

#[derive(Default)]
struct Drafts<'a> {
    sources: Option<&'a Sources>,
    drafts: BTreeMap<String, Draft>,
    problems: Vec<Problem>,
}

/// A persona while its layers are merged.
#[derive(Clone, Default)]
struct Draft {
    values: BTreeMap<String, (Value, Origin)>,
    prompt: String,
    /// The last file that changed it.
    last: Option<Origin>,
}

impl Drafts<'_> {
    fn built_in() -> Self {
        let mut all = Self::default();
        for (name, text, prompt) in BUILT_IN {
            let mut draft = Draft::fresh();
            for (key, value) in table(text) {
                draft.values.insert(key, (value, Origin::BuiltIn(name)));
            }
            draft.prompt = prompt.to_owned();
            all.drafts.insert(name.to_owned(), draft);
        }
        all
    }

    fn folder(&mut self, folder: &PersonaFolder<'_>, source_kind: SourceKind) {
        let files = folder.files().unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        });
        for (name, path) in files {
            let origin = folder.origin_of(&path);
            if !is_persona_name(&name) {
                let text = format!(
                    "a persona is called like its file; expected 1 to {MAX_PERSONA_NAME_CHARS} letters, digits and the \
                     characters . _ - before .toml"
                );
                self.problems.push(Problem::in_source(&origin, text));
                continue;
            }
            match folder.read(&path) {
                Ok(table) => self.file(&name, table, &origin, folder, source_kind),
                Err(problem) => {
                    self.problems.push(problem);
                    // Panels may name it although its file is invalid.
                    self.drafts.entry(name).or_insert_with(Draft::unreadable);
                }
            }
        }
    }

    fn file(&mut self, name: &str, table: Table, origin: &Origin, folder: &PersonaFolder<'_>, source_kind: SourceKind) {
        let mut draft = self.drafts.remove(name).unwrap_or_else(Draft::fresh);
        for (key, value) in table {
            let checked = self.checked(&draft, &key, &value, source_kind, name);
            let accepted = checked.and_then(|value| {
                if key == "prompt" {
                    draft.add_prompt(&folder.read_prompt(value.as_str().unwrap_or_default())?, source_kind);
                }
                Ok(value)
            });
            // An invalid value counts as set, so that only one problem is reported for it.
            let kept = accepted.unwrap_or_else(|text| {
                self.problems.push(Problem::in_setting(origin, &Key::new([key.as_str()]), &value, text));
                draft.values.get(&key).map_or(value, |(below, _)| below.clone())
            });
            draft.values.insert(key, (kept, origin.clone()));
        }
        draft.last = Some(origin.clone());
        self.drafts.insert(name.to_owned(), draft);
    }

    fn checked(
        &self,
        draft: &Draft,
        key: &str,
        value: &Value,
        source_kind: SourceKind,
        persona: &str,
    ) -> Result<Value, String> {
        let Some(rule) = PERSONA_RULES.iter().find(|rule| rule.key == key) else {
            let known: Vec<_> = PERSONA_RULES.iter().map(|rule| rule.key).collect();
            return Err(unknown_key(key, &known));
        };
        if source_kind == SourceKind::ProjectFile && rule.scope == Scope::OperatorOnly {
            return Err(self.not_for_projects(persona));
        }
        let place = PathContext { home: self.sources.and_then(|sources| sources.home.as_deref()), working_dir: None };
        let below = draft.values.get(key);
        let value = rule.check(value, below.map(|(below, _)| below), &place)?;
        match (source_kind, below) {
            (SourceKind::ProjectFile, Some((below, origin))) => tightened(rule, value, below, origin),
            (SourceKind::ProjectFile | SourceKind::OperatorFile | SourceKind::CommandLine, _) => Ok(value),
        }
    }

    fn not_for_projects(&self, persona: &str) -> String {
        let file = self.sources.and_then(|sources| {
            let folder = sources.user_personas()?;
            Some(folder.origin_of(&folder.file(persona)).to_string())
        });
        let place = file.unwrap_or_else(|| "the user's own personas".to_owned());
        format!("not allowed in a project's file, which an agent may have written; it may stand in {place}")
    }
}

impl Draft {
    fn fresh() -> Self {
        let values = table(DEFAULTS).into_iter().map(|(key, value)| (key, (value, Origin::BuiltIn(PERSONA_DEFAULTS))));
        Self { values: values.collect(), ..Self::default() }
    }

    /// Placeholder for a file that was refused as a whole.
    fn unreadable() -> Self {
        Self::default()
    }

    /// A project's prompt is added to the operator's and does not replace it.
    fn add_prompt(&mut self, text: &str, source_kind: SourceKind) {
        if source_kind == SourceKind::ProjectFile && !self.prompt.is_empty() {
            self.prompt = format!("{}\n\n## Of this project\n\n{}", self.prompt.trim_end(), text.trim());
        } else {
            self.prompt = text.to_owned();
        }
    }

    fn text(&self, name: &str) -> &str {
        self.values.get(name).and_then(|(value, _)| value.as_str()).unwrap_or_default()
    }

    fn is_given(&self, name: &str) -> bool {
        let empty = |value: &Value| value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        self.values.get(name).is_some_and(|(value, _)| !empty(value))
    }

    /// Problems between settings that are valid by themselves. A setting without effect counts as a problem.
    fn contradictions(&self, settings: &Settings) -> Vec<Problem> {
        let Some(last) = &self.last else { return Vec::new() };
        let missing = ["focus", "prompt"].into_iter().filter(|name| !self.is_given(name));
        let mut problems: Vec<Problem> = missing
            .map(|name| Problem::in_source(last, format!("expected {name} = \"…\": a persona of your own needs it")))
            .collect();
        let faults = if self.text("mode") == "agent" { self.without_effect() } else { self.runtime_problems(settings) };
        for (name, text) in faults {
            if let Some((value, origin)) = self.values.get(name) {
                problems.push(Problem::in_setting(origin, &Key::new([name]), value, text));
            }
        }
        problems
    }

    fn begins_with_program(&self) -> bool {
        let first = self.values.get("command").and_then(|(value, _)| value.as_array()?.first()?.as_str());
        first.is_some_and(is_program)
    }

    fn without_effect(&self) -> Vec<(&'static str, String)> {
        let text = "expected mode = \"one_shot\" beside it: a seat of mode \"agent\" is taken by whichever reviewer the \
                    pool has";
        let runs = ["runtime", "program", "command", "model", "effort"];
        runs.into_iter().filter(|name| self.is_given(name)).map(|name| (name, text.to_owned())).collect()
    }

    /// Checks a one-shot persona like the pool. Settings that it leaves out come from the pool.
    fn runtime_problems(&self, settings: &Settings) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let pool = |name: &str| settings.get(&Key::new(["pool", name]));
        let own = self.text("runtime");
        match (own, self.is_given("command")) {
            ("command", false) => {
                faults.push(("runtime", "expected command beside it, a list that begins with a program".to_owned()));
            }
            ("command", true) if !self.begins_with_program() => {
                faults.push((
                    "command",
                    "expected a list that begins with the name of a program or its absolute path".to_owned(),
                ));
            }
            ("command", true) | (_, false) => {}
            (_, true) => faults.push(("command", "expected runtime = \"command\" beside it".to_owned())),
        }
        let of_pool = pool("runtime").and_then(|(value, _)| value.as_str()).unwrap_or_default();
        if (if own.is_empty() { of_pool } else { own }) == "command" {
            let text = "expected \"\", since the command says it all when the runtime is \"command\"";
            let idle = ["program", "model", "effort"].into_iter().filter(|name| self.is_given(name));
            faults.extend(idle.map(|name| (name, text.to_owned())));
        }
        if let Some((models, origin)) = pool("models").filter(|_| self.is_given("model")) {
            let mut known = models.as_array().into_iter().flatten().filter_map(Value::as_str);
            if !known.any(|known| known == self.text("model")) {
                faults.push((
                    "model",
                    format!("expected one of pool.models, which is {} ({origin})", display_value(models)),
                ));
            }
        }
        faults
    }

    fn finish(self, name: String) -> Result<Persona, String> {
        let values: Table = self.values.into_iter().map(|(key, (value, _))| (key, value)).collect();
        let fields = Fields::deserialize(values).map_err(|error| format!("persona {name}: {error}"))?;
        let prompt = format!("{}\n\n{FINDINGS}", self.prompt.trim_end());
        Ok(Persona {
            name,
            focus: fields.focus,
            prompt: prompt.into(),
            ignore: Globs::new(fields.ignore).map_err(|error| error.to_string())?,
            mode: fields.mode,
            runtime: fields.runtime,
            program: fields.program,
            command: fields.command,
            model: fields.model,
            effort: fields.effort,
            time_limit: fields.time_limit,
            budget_usd: fields.budget_usd,
            front_matter: fields.front_matter,
        })
    }
}

/// The settings of one persona, checked and merged.
#[derive(Deserialize)]
struct Fields {
    focus: String,
    ignore: Vec<String>,
    mode: Mode,
    #[serde(deserialize_with = "or_empty::deserialize")]
    runtime: Option<Runtime>,
    #[serde(deserialize_with = "or_empty::deserialize")]
    program: Option<PathBuf>,
    command: Vec<String>,
    #[serde(deserialize_with = "or_empty::deserialize")]
    model: Option<String>,
    #[serde(deserialize_with = "or_empty::deserialize")]
    effort: Option<Effort>,
    #[serde(with = "duration")]
    time_limit: Duration,
    budget_usd: Option<f64>,
    front_matter: bool,
}

fn table(text: &'static str) -> Table {
    match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => unreachable!("config/personas is built in and tested: {error}"),
    }
}
