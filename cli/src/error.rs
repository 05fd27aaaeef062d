//! The error type of the command line: an exit code, a message for people, and a JSON body for programs.

use crate::{ADDRESS_IN_USE, NO_BROKER, TAKEN, USAGE, terminal};
use api::ErrorBody;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use domain::StringEnum;
use serde_json::json;
use std::process::ExitCode;

/// Why a command ended, and with which exit code. A refusal of the broker is an [`ErrorBody`].
#[derive(Debug)]
pub struct CliError {
    pub(crate) code: u8,
    pub(crate) error: anyhow::Error,
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

    /// Whether the call may succeed later: no broker answers, or the broker says that the error is temporary.
    pub(crate) fn is_retryable(&self) -> bool {
        self.code == NO_BROKER || self.error.downcast_ref::<ErrorBody>().is_some_and(|body| body.retryable)
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
            terminal::remark(&self.to_json());
        } else {
            terminal::remark(&format!("countersign: {}", self.message()));
        }
        ExitCode::from(self.code)
    }

    /// The error and its causes, without causes that the text before them contains.
    fn message(&self) -> String {
        self.error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.is_empty() {
            true => cause,
            false if text.contains(&cause) => text,
            false => format!("{text}: {cause}"),
        })
    }

    fn to_json(&self) -> String {
        let mut object = match self.error.downcast_ref::<ErrorBody>() {
            Some(body) => json!(body),
            None => {
                let (error, code) = (self.message(), self.code_name());
                json!({ "error": error, "code": code, "retryable": self.is_retryable() })
            }
        };
        object["exit_code"] = self.code.into();
        object.to_string()
    }

    /// The stable code of an error that does not come from the broker.
    fn code_name(&self) -> &'static str {
        match self.code {
            USAGE => "usage",
            TAKEN => "data_dir_taken",
            ADDRESS_IN_USE => "address_in_use",
            NO_BROKER => "no_broker",
            _ => "failed",
        }
    }
}

/// Parses an argument that names a variant of an enum. An unknown name is wrong usage, with the broker's words.
pub(crate) fn parse_variant<T: StringEnum>(field: &str, name: &str) -> Result<T, CliError> {
    T::parse(name).ok_or_else(|| CliError::usage(ErrorBody::unknown_value(field, name, T::NAMES)))
}

/// Like [`parse_variant`], for an argument that may be absent.
pub(crate) fn parse_optional<T: StringEnum>(field: &str, name: Option<&str>) -> Result<Option<T>, CliError> {
    name.map(|name| parse_variant(field, name)).transpose()
}

/// A clap parser for an option that names a variant of an enum.
pub(crate) fn possible_values<T: StringEnum>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::NAMES).try_map(|name| T::parse(&name).ok_or("unknown value"))
}

impl<E: Into<anyhow::Error>> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { code: 1, error: error.into() }
    }
}
