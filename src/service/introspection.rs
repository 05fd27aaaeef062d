//! Reads personas, settings and the actor tree for an operator.

use super::{Call, error::CallError};
use actors::actor_tree_report::{MAX_LISTED_REVIEWS, Node};
use api::introspection::{
    ActorNode, Actors, CallCounters, Config, ConfigFile, ListPersonasResponse, OpenApi, Persona, Setting, SettingLayer,
    StoreCounters,
};
use api::operation::NoArguments;
use config::{Loaded, Origin, default_settings};
use domain::persona;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What the settings say, as far as callers may read it. It does not change while the broker runs.
pub struct ConfigView {
    config: Config,
    personas: Vec<Persona>,
    logs: PathBuf,
    /// The broker can be reached only from this machine.
    is_local: bool,
}

impl ConfigView {
    pub fn new(loaded: &Loaded) -> Self {
        let config = &loaded.config;
        Self {
            config: shown_config(loaded),
            personas: config.personas.values().map(|persona| describe(persona)).collect(),
            logs: config.server.data_dir.reviewers(),
            is_local: config.server.listen.ip().is_loopback(),
        }
    }

    pub(super) const fn is_local(&self) -> bool {
        self.is_local
    }

    pub(super) fn logs_folder(&self) -> &Path {
        &self.logs
    }
}

fn shown_config(loaded: &Loaded) -> Config {
    let defaults = default_settings();
    let settings = loaded.settings().map(|(name, value, origin)| {
        let default = defaults.get(name);
        Setting {
            name: name.to_owned(),
            value: without_secrets(loaded, name, value),
            default: default.map(|default| without_secrets(loaded, name, &default.value)),
            layer: layer(loaded, origin),
            source: (!origin.is_default()).then(|| origin.to_string()),
            description: default.and_then(|default| default.description.clone()),
        }
    });
    let file = |(file, origin): &(config::SettingsFile, Origin)| ConfigFile {
        layer: layer(loaded, origin),
        path: origin.to_string(),
        exists: file.exists,
    };
    Config { settings: settings.collect(), files: loaded.files.iter().map(file).collect() }
}

fn layer(loaded: &Loaded, origin: &Origin) -> SettingLayer {
    let file = || loaded.files.iter().rev().find(|(_, of)| of == origin).map(|(file, _)| file.layer);
    match origin {
        Origin::Default | Origin::BuiltIn(_) => SettingLayer::Default,
        Origin::Variable(_) => SettingLayer::Environment,
        Origin::Flag(_) => SettingLayer::Option,
        Origin::File(_) => match file() {
            Some("user") => SettingLayer::UserFile,
            Some("project") => SettingLayer::ProjectFile,
            Some(_) | None => SettingLayer::NamedFile,
        },
    }
}

/// Settings hold neither tokens nor values of variables. A command may hold a key, though, and the path of a
/// receiver's URL is often one.
fn without_secrets(loaded: &Loaded, name: &str, value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    match (name, &mut value) {
        ("pool.command", Value::Array(command)) => {
            command.iter_mut().skip(1).for_each(|argument| *argument = "(hidden)".into());
        }
        ("webhooks.receivers", Value::Array(receivers)) => {
            for (value, receiver) in receivers.iter_mut().zip(&loaded.config.webhooks.receivers) {
                value["url"] = format!("{}/(hidden)", receiver.origin()).into();
            }
        }
        _ => {}
    }
    value
}

fn describe(persona: &persona::Persona) -> Persona {
    Persona {
        name: persona.name.clone(),
        focus: persona.focus.clone(),
        prompt: persona.prompt.to_string(),
        ignore: persona.ignore.to_vec(),
        mode: persona.mode.as_str().into(),
        runtime: persona.runtime.map(|runtime| runtime.as_str().into()),
        model: persona.model.clone(),
        effort: persona.effort.map(|effort| effort.as_str().into()),
        time_limit_seconds: persona.time_limit.as_secs(),
        budget_usd: persona.budget_usd,
        max_turns: (persona.mode == persona::Mode::Dedicated).then_some(persona.max_turns),
        max_tokens: persona.max_tokens,
        front_matter: persona.front_matter,
    }
}

pub(super) async fn personas(call: &Call<'_>, _: NoArguments) -> Result<ListPersonasResponse, CallError> {
    Ok(ListPersonasResponse { personas: call.service.config.personas.clone() })
}

pub(super) async fn config(call: &Call<'_>, _: NoArguments) -> Result<Config, CallError> {
    Ok(call.service.config.config.clone())
}

pub(super) async fn actors(call: &Call<'_>, _: NoArguments) -> Result<Actors, CallError> {
    let tree = call.broker.actors(MAX_LISTED_REVIEWS).await?;
    let (store, calls) = (tree.store, tree.calls);
    Ok(Actors {
        root: actor(tree.root),
        store: StoreCounters { commits: store.commits, changes: store.changes, waiting: store.waiting },
        calls: CallCounters { in_flight: calls.in_flight, waiting: calls.waiting },
        more_reviews: tree.more_reviews,
    })
}

fn actor(node: Node) -> ActorNode {
    let Node { kind, id, state, mailbox, handled, restarts, uptime_ms, last_error, children } = node;
    let children = children.into_iter().map(actor).collect();
    ActorNode { kind: kind.into(), id, state, mailbox, handled, restarts, uptime_ms, last_error, children }
}

pub(super) async fn openapi(_: &Call<'_>, _: NoArguments) -> Result<OpenApi, CallError> {
    Ok(OpenApi(object(api::openapi::document().clone())))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
