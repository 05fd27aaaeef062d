//! Reads the settings in force for an operator.

use super::{Call, error::CallError, personas};
use api::operation::NoArguments;
use api::personas::Persona;
use api::settings::{Config, ConfigFile, Setting, SettingLayer};
use config::{Loaded, Origin, default_settings};
use serde::Serialize;
use serde_json::Value;
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
            personas: config.personas.values().map(|persona| personas::describe(persona)).collect(),
            logs: config.server.data_dir.reviewers(),
            is_local: config.server.listen.ip().is_loopback(),
        }
    }

    pub(super) const fn is_local(&self) -> bool {
        self.is_local
    }

    pub(super) fn personas(&self) -> &[Persona] {
        &self.personas
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

pub(super) async fn get(call: &Call<'_>, _: NoArguments) -> Result<Config, CallError> {
    Ok(call.service.config.config.clone())
}
