//! Loads personas from TOML files, in layers: `persona.toml` < built in < the user's folder < the project's folder. A
//! file contains only what it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::persona::{MAX_PERSONA_NAME_CHARS, Persona, Personas, is_persona_name};
use serde::Deserialize;
use toml::{Table, Value};

use crate::error::{Origin, PERSONA_DEFAULTS, Problem};
use crate::merge::{Layer, LayerKind};
use crate::schema::PERSONA_RULES;
use crate::setting_values::{Settings, unknown_key};
use crate::sources::{PersonaFolder, Sources};
use crate::validate::{duration, is_program};

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

/// The personas of an unchanged configuration.
pub(crate) fn built_in() -> Personas {
    let personas = built_in_drafts().into_iter();
    personas.filter_map(|(name, draft)| Some((name.clone(), Arc::new(draft.finish(name).ok()?)))).collect()
}

fn built_in_drafts() -> BTreeMap<String, Draft> {
    let draft = |(name, text, prompt): (&'static str, _, &str)| {
        let mut draft = Draft { prompt: prompt.to_owned(), ..Draft::with_defaults() };
        draft.values.extend(table(text), &Origin::BuiltIn(name));
        (name.to_owned(), draft)
    };
    BUILT_IN.into_iter().map(draft).collect()
}

/// Reads every folder. `settings` is the rest of the configuration.
pub(crate) fn load(sources: &Sources, settings: &Settings) -> Configured {
    let mut loader = Loader { sources, drafts: built_in_drafts(), problems: Vec::new() };
    if let Some(folder) = sources.user_personas() {
        loader.folder(&folder, LayerKind::OperatorFile);
    }
    if let Some(folder) = sources.project_personas() {
        loader.folder(&folder, LayerKind::ProjectFile);
    }
    let mut configured = Configured { problems: loader.problems, ..Configured::default() };
    for (name, draft) in loader.drafts {
        configured.problems.extend(draft.contradictions(settings));
        let origins = draft.values.0.iter().map(|(key, (_, origin))| (key.clone(), origin.clone())).collect();
        configured.origins.insert(name.clone(), origins);
        if configured.problems.is_empty() {
            match draft.finish(name.clone()) {
                Ok(persona) => drop(configured.personas.insert(name, Arc::new(persona))),
                Err(text) => configured.problems.push(Problem::in_source(&Origin::Default, text)),
            }
        }
    }
    configured
}

struct Loader<'a> {
    sources: &'a Sources,
    drafts: BTreeMap<String, Draft>,
    problems: Vec<Problem>,
}

/// A persona while its layers are merged.
#[derive(Default)]
struct Draft {
    values: Settings,
    prompt: String,
    /// The last file that changed it.
    last: Option<Origin>,
    /// Keys that may have no effect: a project cannot know the user's mode and client, and an invalid value has a problem
    /// already.
    excused: Vec<String>,
}

impl Loader<'_> {
    fn folder(&mut self, folder: &PersonaFolder<'_>, kind: LayerKind) {
        let files = folder.files().unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        });
        for (name, path) in files {
            let layer = Layer { origin: folder.origin_of(&path), kind, sources: self.sources };
            if !is_persona_name(&name) {
                let text = format!(
                    "a persona is called like its file; expected 1 to {MAX_PERSONA_NAME_CHARS} letters, digits and the \
                     characters . _ - before .toml"
                );
                self.problems.push(Problem::in_source(&layer.origin, text));
                continue;
            }
            match folder.read(&path) {
                Ok(table) => self.file(&name, table, folder, &layer),
                Err(problem) => {
                    self.problems.push(problem);
                    // Panels may name it although its file is invalid.
                    self.drafts.entry(name).or_default();
                }
            }
        }
    }

    fn file(&mut self, name: &str, table: Table, folder: &PersonaFolder<'_>, layer: &Layer<'_>) {
        let mut draft = self.drafts.remove(name).unwrap_or_else(Draft::with_defaults);
        for (key, value) in table {
            let accepted = self.checked(&draft, &key, &value, layer, name).and_then(|value| {
                if key == "prompt" {
                    draft.add_prompt(&folder.read_prompt(value.as_str().unwrap_or_default())?, layer.kind);
                }
                Ok(value)
            });
            // An invalid value counts as set, so that only one problem is reported for it.
            if layer.kind == LayerKind::ProjectFile || accepted.is_err() {
                draft.excused.push(key.clone());
            }
            let kept = accepted.unwrap_or_else(|text| {
                self.problems.push(Problem::in_setting(&layer.origin, &key, &value, text));
                draft.values.value(&key).cloned().unwrap_or(value)
            });
            draft.values.extend([(key, kept)], &layer.origin);
        }
        draft.last = Some(layer.origin.clone());
        self.drafts.insert(name.to_owned(), draft);
    }

    fn checked(
        &self,
        draft: &Draft,
        key: &str,
        value: &Value,
        layer: &Layer<'_>,
        persona: &str,
    ) -> Result<Value, String> {
        let rule = PERSONA_RULES.iter().find(|rule| rule.key == key);
        let rule = rule.ok_or_else(|| unknown_key(key, PERSONA_RULES.iter().map(|rule| rule.key)))?;
        let elsewhere = || match self.sources.user_personas() {
            Some(folder) => folder.origin_of(&folder.file(persona)).to_string(),
            None => "the user's own personas".to_owned(),
        };
        layer.check(rule, value, draft.values.value(key), draft.values.0.get(key), elsewhere)
    }
}

impl Draft {
    /// The settings of `persona.toml`.
    fn with_defaults() -> Self {
        let mut draft = Self::default();
        draft.values.extend(table(DEFAULTS), &Origin::BuiltIn(PERSONA_DEFAULTS));
        draft
    }

    /// A project's prompt is added to the operator's and does not replace it.
    fn add_prompt(&mut self, text: &str, kind: LayerKind) {
        if kind == LayerKind::ProjectFile && !self.prompt.is_empty() {
            self.prompt = format!("{}\n\n## Of this project\n\n{}", self.prompt.trim_end(), text.trim());
        } else {
            self.prompt = text.to_owned();
        }
    }

    /// Problems between settings that are valid by themselves. A setting without effect counts as a problem.
    fn contradictions(&self, settings: &Settings) -> Vec<Problem> {
        let Some(last) = &self.last else { return Vec::new() };
        let missing = ["focus", "prompt"].into_iter().filter(|name| !self.values.is_given(name));
        let mut problems: Vec<Problem> = missing
            .map(|name| Problem::in_source(last, format!("expected {name} = \"…\": a persona of your own needs it")))
            .collect();
        let mode = self.values.text("mode");
        let mut faults = self.without_effect(mode);
        faults.extend(self.runtime_problems(settings));
        if mode == "dedicated" && !settings.text("pool.wsl_distro").is_empty() {
            let text = "expected \"agent\" or \"one_shot\" beside pool.wsl_distro: a session cannot be kept inside WSL";
            faults.push(("mode", text.to_owned()));
        }
        problems.extend(faults.into_iter().filter_map(|(name, text)| self.values.problem(name, text)));
        problems
    }

    fn without_effect(&self, mode: &str) -> Vec<(&'static str, String)> {
        const LIMITS: [&str; 2] = ["time_limit", "budget_usd"];
        const SESSION: [&str; 3] = ["max_turns", "max_tokens", "keep_seat"];
        let given = |names: &[&'static str], text: &str| -> Vec<(&'static str, String)> {
            let defaults = Self::with_defaults();
            let is_default = |name: &str| self.values.value(name) == defaults.values.value(name);
            let is_set = |name: &&&str| self.values.is_given(name) && !is_default(name);
            names.iter().filter(is_set).map(|name| (*name, text.to_owned())).collect()
        };
        let for_dedicated = "expected mode = \"dedicated\" beside it: other reviewers have no turns";
        match mode {
            "dedicated" => Vec::new(),
            "one_shot" => given(&SESSION, for_dedicated),
            _ => {
                let text = "expected mode = \"one_shot\" or \"dedicated\" beside it: an agent of the pool has no limits \
                            per seat; pool.ttl limits its age";
                let mut faults = given(&LIMITS, text);
                faults.retain(|(name, _)| !self.excused.iter().any(|key| key == name));
                faults.extend(given(&SESSION, for_dedicated));
                faults
            }
        }
    }

    /// Checks a persona with a client of its own like the pool. Settings that it leaves out come from the pool.
    fn runtime_problems(&self, settings: &Settings) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let own = self.values.text("runtime");
        let program = self.values.list("command").first().and_then(Value::as_str);
        match (own, self.values.is_given("command")) {
            ("command", false) => {
                faults.push(("runtime", "expected command beside it, a list that begins with a program".to_owned()));
            }
            ("command", true) if !program.is_some_and(is_program) => {
                faults.push((
                    "command",
                    "expected a list that begins with the name of a program or its absolute path".to_owned(),
                ));
            }
            ("command", true) | (_, false) => {}
            (_, true) => faults.push(("command", "expected runtime = \"command\" beside it".to_owned())),
        }
        if (if own.is_empty() { settings.text("pool.runtime") } else { own }) == "command" {
            let text = "expected \"\", since the command says it all when the runtime is \"command\"";
            let idle = ["program", "model", "effort"].into_iter().filter(|name| self.values.is_given(name));
            faults.extend(idle.map(|name| (name, text.to_owned())));
        }
        let is_codex = (if own.is_empty() { settings.text("pool.runtime") } else { own }) == "codex";
        let sets_budget = self.values.is_given("budget_usd") && !self.excused.iter().any(|key| key == "budget_usd");
        if is_codex && sets_budget && self.values.text("mode") != "agent" {
            let text = "expected another runtime beside it: codex reports no cost, so no budget can be enforced; \
                        time_limit limits each run, and with mode = \"dedicated\" max_tokens and max_turns limit all";
            faults.push(("budget_usd", text.to_owned()));
        }
        let model = self.values.text("model");
        if !model.is_empty() && !settings.allows("pool.models", model) {
            faults
                .push(("model", format!("expected one of pool.models, which is {}", settings.describe("pool.models"))));
        }
        faults
    }

    fn finish(self, name: String) -> Result<Persona, String> {
        let time = |key| duration(self.values.text(key)).unwrap_or_default();
        let (time_limit, keep_seat) = (time("time_limit"), time("keep_seat"));
        // An empty text means that the pool's setting applies.
        let given = self.values.0.into_iter().filter(|(_, (value, _))| value.as_str() != Some(""));
        let values: Table = given.map(|(key, (value, _))| (key, value)).collect();
        let persona = Persona::deserialize(values).map_err(|error| format!("persona {name}: {error}"))?;
        let prompt = format!("{}\n\n{FINDINGS}", self.prompt.trim_end()).into();
        Ok(Persona { name, prompt, time_limit, keep_seat, ..persona })
    }
}

fn table(text: &'static str) -> Table {
    match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => unreachable!("config/personas is built in and tested: {error}"),
    }
}
