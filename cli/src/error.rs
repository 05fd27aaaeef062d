//! Why a command ended, for people and for programs.

use crate::{ADDRESS_IN_USE, NO_BROKER, TAKEN, USAGE, terminal};
use api::ErrorCode;
use domain::text::escape;
use serde_json::{Map, Value};
use std::{fmt::Display, process::ExitCode};

/// Why a command ended, and with which exit code.
#[derive(Debug)]
pub struct CliError {
    pub(crate) code: u8,
    pub(crate) error: anyhow::Error,
}

/// A refusal of the broker: message, stable code, and details (`allowed`, `candidates`, `retryable`).
#[derive(Debug, thiserror::Error)]
#[error("{} ({code})", escape(.message))]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) code: String,
    pub(crate) details: Map<String, Value>,
}

/// The end of a command whose answer is its exit code, with nothing more to print.
#[derive(Debug, thiserror::Error)]
#[error("")]
pub(crate) struct ExitWith;

impl CliError {
    pub fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: error.into() }
    }

    /// Wrong usage that clap cannot detect.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(USAGE, error)
    }

    /// Ends the command with an exit code that is its answer.
    pub(crate) fn answer(code: u8) -> Self {
        Self::new(code, ExitWith)
    }

    /// A refusal that needs no call to the broker.
    pub(crate) fn refuse(code: &str, message: String) -> Self {
        Refused { message, code: code.to_owned(), details: Map::new() }.into()
    }

    pub(crate) fn refused(&self) -> Option<&Refused> {
        self.error.downcast_ref()
    }

    /// Whether the call may succeed later: no broker answers, or the broker says that the error is temporary.
    pub(crate) fn is_retryable(&self) -> bool {
        self.code == NO_BROKER
            || self.refused().is_some_and(|refused| refused.details.get("retryable") == Some(&true.into()))
    }

    /// Prints the error on stderr, as text or as one JSON object, and returns the exit code.
    pub(crate) fn end(self, json: bool) -> ExitCode {
        if self.error.is::<terminal::OutputClosed>() {
            return ExitCode::SUCCESS;
        }
        if self.error.is::<ExitWith>() {
            return ExitCode::from(self.code);
        }
        if json {
            terminal::remark(&self.object().to_string());
        } else {
            terminal::remark(&format!("countersign: {:#}", self.error));
        }
        ExitCode::from(self.code)
    }

    fn object(&self) -> Value {
        let mut object = Map::new();
        if let Some(refused) = self.refused() {
            object.clone_from(&refused.details);
            object.insert("error".into(), refused.message.clone().into());
        } else {
            object.insert("error".into(), format!("{:#}", self.error).into());
        }
        object.insert("code".into(), self.word().into());
        object.insert("exit_code".into(), self.code.into());
        Value::Object(object)
    }

    /// Stable, for programs.
    fn word(&self) -> String {
        match (self.refused(), self.code) {
            (Some(refused), _) => refused.code.clone(),
            (None, USAGE) => "usage".into(),
            (None, TAKEN) => "data_dir_taken".into(),
            (None, ADDRESS_IN_USE) => "address_in_use".into(),
            (None, NO_BROKER) => "no_broker".into(),
            (None, _) => "failed".into(),
        }
    }
}

/// Parses an option that names a variant of an enum. An unknown name is refused with the code that the broker uses.
pub(super) fn parse_variant<T: Display>(
    option: &str,
    code: ErrorCode,
    name: &str,
    parse: fn(&str) -> Option<T>,
    all: &[T],
) -> Result<T, CliError> {
    parse(name).ok_or_else(|| {
        let allowed: Vec<_> = all.iter().map(ToString::to_string).collect();
        CliError::refuse(code.as_str(), format!("{option}: {name:?} is not known; allowed: {}", allowed.join(", ")))
    })
}

impl<E: Into<anyhow::Error>> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { code: 1, error: error.into() }
    }
}
