//! The error type of the settings, and the type for the origin (file, variable, flag) of each setting.

use std::fmt;

use domain::text::{ellipsize, escape};

/// Longest value in a message.
const MAX_VALUE_CHARS: usize = 81;

/// The built-in file with the defaults of every persona.
pub(crate) const PERSONA_DEFAULTS: &str = "persona";

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// A file of personas that is built in.
    BuiltIn(&'static str),
    /// The path as shown to people: `~` for their home.
    File(String),
    Variable(String),
    Flag(String),
}

impl Origin {
    /// Whether the value is a built-in default.
    pub fn is_default(&self) -> bool {
        matches!(self, Self::Default | Self::BuiltIn(PERSONA_DEFAULTS))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default.toml"),
            Self::BuiltIn(name) => write!(f, "built-in {name}.toml"),
            Self::File(name) | Self::Variable(name) | Self::Flag(name) => f.write_str(&escape(name)),
        }
    }
}

/// All problems found by one load, one per line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    origin: Origin,
    setting: Option<String>,
    text: String,
}

impl Problem {
    /// A problem with a whole file or variable.
    pub(crate) fn in_source(origin: &Origin, text: impl Into<String>) -> Self {
        Self { origin: origin.clone(), setting: None, text: text.into() }
    }

    /// A problem with one setting. `text` says what is allowed.
    pub(crate) fn in_setting(origin: &Origin, key: &str, value: &toml::Value, text: impl Into<String>) -> Self {
        Self { origin: origin.clone(), setting: Some(format!("{key} = {}", display_value(value))), text: text.into() }
    }

    pub(crate) fn is_about(&self, section: &str) -> bool {
        let key = self.setting.as_ref().and_then(|setting| setting.strip_prefix(section));
        key.is_some_and(|key| key.starts_with('.'))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "config: {}: ", self.origin)?;
        if let Some(setting) = &self.setting {
            write!(f, "{setting}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// The value on one line, escaped and truncated: an agent may have written the project's file.
pub fn display_value(value: &toml::Value) -> String {
    let text = match value {
        toml::Value::String(text) => format!("{text:?}"),
        toml::Value::Array(items) => {
            format!("[{}]", items.iter().map(display_value).collect::<Vec<_>>().join(", "))
        }
        toml::Value::Table(_) => "{ … }".to_owned(),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {
            value.to_string()
        }
    };
    ellipsize(&text, MAX_VALUE_CHARS).into_owned()
}
