//! Is this value allowed? Answers with the value to use, or with what was expected.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::diff::FlagKind;
use jiff::SignedDuration;
use toml::Value;
use tracing_subscriber::EnvFilter;

use super::error::show;
use super::rules::{Kind, Rule};
use crate::telemetry::is_hidden;

/// Where relative things in a value start.
pub(super) struct Place<'a> {
    pub(super) home: Option<&'a Path>,
    /// Only for flags and variables: in a file, "here" would depend on where the broker started.
    pub(super) working_dir: Option<&'a Path>,
}

impl Rule {
    /// The value as typed in a flag or a variable. What does not fit stays text, for `check`.
    pub(super) fn read(&self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match self.kind {
            Kind::Integer(..) => text.parse().map_or_else(|_| as_text(), Value::Integer),
            Kind::Bool => text.parse().map_or_else(|_| as_text(), Value::Boolean),
            Kind::FlagKinds => text
                .split([',', ' '])
                .filter(|word| !word.is_empty())
                .map(|word| Value::String(word.to_owned()))
                .collect::<Vec<_>>()
                .into(),
            Kind::Address
            | Kind::DataDir
            | Kind::Folder
            | Kind::Program
            | Kind::LogFilter
            | Kind::Duration(..)
            | Kind::OneOf(_) => as_text(),
        }
    }

    pub(super) fn check(&self, value: &Value, example: Option<&Value>, place: &Place<'_>) -> Result<Value, String> {
        self.accept(value, place).ok_or_else(|| format!("expected {}", self.expected(example)))
    }

    fn accept(&self, value: &Value, place: &Place<'_>) -> Option<Value> {
        let text = value.as_str().filter(|text| !text.contains(is_hidden));
        let fits = match &self.kind {
            Kind::Address => return address(text?),
            Kind::DataDir if text?.is_empty() => true,
            Kind::DataDir | Kind::Folder => return absolute(text?, place),
            Kind::Program => is_program(text?),
            Kind::LogFilter => !text?.trim().is_empty() && EnvFilter::try_new(text?).is_ok(),
            Kind::Bool => value.is_bool(),
            Kind::Integer(min, max) => (min..=max).contains(&&value.as_integer()?),
            Kind::Duration(min, max) => (min..=max).contains(&&duration(text?)?),
            Kind::OneOf(words) => words.contains(&text?),
            Kind::FlagKinds => {
                let known = |item: &Value| item.as_str().and_then(FlagKind::from_word).is_some();
                value.as_array()?.iter().all(known)
            }
        };
        fits.then(|| value.clone())
    }

    fn expected(&self, example: Option<&Value>) -> String {
        let such_as = example.map(|value| format!(" such as {}", show(value)));
        let such_as = such_as.unwrap_or_default();
        match &self.kind {
            Kind::Address => format!(
                "a loopback address and a port{such_as}; whoever reaches the port can \
                 act as any agent, so every other address is refused until tokens exist"
            ),
            Kind::DataDir | Kind::Folder => "an absolute path to a folder, or one that begins \
                 with \"~/\", without control characters"
                .to_owned(),
            Kind::Program => format!("the name of a program{such_as}, or its absolute path"),
            Kind::LogFilter => format!("a log filter{such_as} or \"warn,countersign=debug\""),
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer(min, max) => format!("a whole number between {min} and {max}"),
            Kind::Duration(min, max) => {
                let (min, max) = (friendly(*min), friendly(*max));
                format!("a duration{such_as}, between {min} and {max}")
            }
            Kind::OneOf(words) => format!("one of {}", words.join(", ")),
            Kind::FlagKinds => {
                let words: Vec<_> = FlagKind::ALL.iter().map(|kind| kind.as_str()).collect();
                format!("a list of any of {}", words.join(", "))
            }
        }
    }
}

/// Loopback only. `localhost` is taken for its IPv4 form, without asking a resolver.
fn address(text: &str) -> Option<Value> {
    let address: SocketAddr = match text.strip_prefix("localhost:") {
        Some(port) => (Ipv4Addr::LOCALHOST, port.parse().ok()?).into(),
        None => text.parse().ok()?,
    };
    let loopback = address.ip().is_loopback();
    loopback.then(|| Value::String(address.to_string()))
}

/// A relative path would name another program in every folder.
fn is_program(text: &str) -> bool {
    !text.is_empty() && (Path::new(text).is_absolute() || !text.contains(['/', '\\']))
}

fn absolute(text: &str, place: &Place<'_>) -> Option<Value> {
    let path = match text.strip_prefix("~/") {
        Some(below) => place.home?.join(below),
        None if text == "~" => place.home?.to_owned(),
        None if text.is_empty() => return None,
        None => match place.working_dir {
            Some(here) => here.join(text),
            None => PathBuf::from(text),
        },
    };
    let path = path.is_absolute().then_some(path)?;
    Some(Value::String(path.to_str()?.to_owned()))
}

pub(super) fn duration(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok()?.try_into().ok()
}

fn friendly(duration: Duration) -> String {
    SignedDuration::try_from(duration).map_or_else(|_| format!("{duration:?}"), |duration| format!("{duration:#}"))
}
