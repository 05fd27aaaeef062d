//! Validates values. Returns the value to use, or what was expected.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::default_panel::MAX_SEATS;
use domain::diff::FlagKind;
use domain::glob::{GlobError, Globs};
use domain::persona::{MAX_PERSONA_NAME_CHARS, is_persona_name};
use jiff::SignedDuration;
use toml::Value;
use tracing_subscriber::EnvFilter;

use crate::error::display_value;
use crate::panel;
use crate::schema::{Kind, Rule};
use crate::webhooks;
use domain::text::is_hidden;

/// What relative paths in a value are resolved against.
pub(crate) struct PathContext<'a> {
    pub(crate) home: Option<&'a Path>,
    /// Only for flags and variables. In a file, a relative path would depend on where the broker was started.
    pub(crate) working_dir: Option<&'a Path>,
}

impl Rule {
    /// Parses the text of a flag or a variable. An invalid text stays a string, for `check` to refuse.
    pub(crate) fn parse(&self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match self.kind {
            Kind::Integer(..) => text.parse().map_or_else(|_| as_text(), Value::Integer),
            Kind::Bool => text.parse().map_or_else(|_| as_text(), Value::Boolean),
            // Arguments may contain spaces and commas, so they need the list syntax of a file.
            Kind::ListOf(Kind::Argument) => list(text).unwrap_or_else(as_text),
            Kind::PanelRules | Kind::Receivers => list(text).unwrap_or_else(as_text),
            Kind::FlagKinds | Kind::Hosts | Kind::Globs(_) | Kind::Personas | Kind::ListOf(_) => {
                list(text).unwrap_or_else(|| words(text))
            }
            Kind::Address
            | Kind::DataDir
            | Kind::Folder
            | Kind::ExistingFolder
            | Kind::ReadableFile
            | Kind::Program
            | Kind::LogFilter
            | Kind::Duration(..)
            | Kind::OneOf(_)
            | Kind::Argument
            | Kind::ModelName
            | Kind::VariableName
            | Kind::DistroName
            | Kind::LinuxPath
            | Kind::Line(_)
            | Kind::FileName
            | Kind::Amount(..)
            | Kind::Optional(_) => as_text(),
        }
    }

    pub(crate) fn check(
        &self,
        value: &Value,
        example: Option<&Value>,
        place: &PathContext<'_>,
    ) -> Result<Value, String> {
        self.kind.accept(value, place).ok_or_else(|| {
            let expected = format!("expected {}", self.kind.expected(example));
            match self.kind.fault(value) {
                Some(fault) => format!("{fault}; {expected}"),
                None => expected,
            }
        })
    }
}

impl Kind {
    fn accept(&self, value: &Value, place: &PathContext<'_>) -> Option<Value> {
        let text = value.as_str().filter(|text| !text.contains(is_hidden));
        let fits = match self {
            Kind::Address => return address(text?),
            Kind::DataDir if text?.is_empty() => true,
            Kind::DataDir | Kind::Folder => return absolute(text?, place),
            Kind::ExistingFolder => return absolute(text?, place).filter(|path| there(path).is_dir()),
            Kind::ReadableFile => return absolute(text?, place).filter(|path| is_readable(&there(path))),
            Kind::Program => is_program(text?),
            Kind::LogFilter => !text?.trim().is_empty() && EnvFilter::try_new(text?).is_ok(),
            Kind::Bool => value.is_bool(),
            Kind::Integer(min, max) => (min..=max).contains(&&value.as_integer()?),
            Kind::Duration(min, max) => (min..=max).contains(&&duration(text?)?),
            Kind::OneOf(words) => words.contains(&text?),
            Kind::Hosts => value.as_array()?.iter().all(|item| item.as_str().is_some_and(is_host)),
            Kind::FlagKinds => {
                let known = |item: &Value| item.as_str().and_then(FlagKind::parse).is_some();
                value.as_array()?.iter().all(known)
            }
            Kind::Argument => text?.len() <= MAX_ARGUMENT_BYTES,
            Kind::ModelName => is_word(text?, "._:/@-") && !text?.starts_with('-'),
            Kind::VariableName => is_variable(text?) && !is_guarded(text?),
            Kind::DistroName => is_word(text?, "._-") && !text?.starts_with('-'),
            Kind::LinuxPath => text?.starts_with('/'),
            Kind::Line(max) => !text?.trim().is_empty() && text?.chars().count() <= *max,
            Kind::FileName => is_file_name(text?),
            Kind::Globs(_) => globs(value).is_some_and(|globs| globs.is_ok()) && self.fault(value).is_none(),
            Kind::Amount(min, max) => {
                let amount = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
                return (min..=max).contains(&&amount).then_some(Value::Float(amount));
            }
            Kind::Personas => is_persona_list(value),
            Kind::PanelRules => panel::faults(value).is_empty(),
            Kind::Receivers => return webhooks::accept(value, place),
            Kind::Optional(_) if text?.is_empty() => true,
            Kind::Optional(kind) => return kind.accept(value, place),
            Kind::ListOf(kind) => {
                let items = value.as_array()?.iter().map(|item| kind.accept(item, place));
                return items.collect::<Option<Vec<_>>>().map(Value::Array);
            }
        };
        fits.then(|| value.clone())
    }

    /// The exact problem, if `expected` alone is not precise enough.
    fn fault(&self, value: &Value) -> Option<String> {
        match self {
            Kind::Globs(max) => match globs(value)? {
                Err(error) => Some(error.to_string()),
                Ok(globs) if globs.len() > *max => Some(format!("these are {}", globs.len())),
                Ok(_) => None,
            },
            Kind::PanelRules => Some(panel::faults(value).join("; ")).filter(|faults| !faults.is_empty()),
            Kind::Receivers => Some(webhooks::faults(value).join("; ")).filter(|faults| !faults.is_empty()),
            Kind::Address
            | Kind::Hosts
            | Kind::DataDir
            | Kind::Folder
            | Kind::ExistingFolder
            | Kind::ReadableFile
            | Kind::Program
            | Kind::LogFilter
            | Kind::Bool
            | Kind::Integer(..)
            | Kind::Duration(..)
            | Kind::OneOf(_)
            | Kind::FlagKinds
            | Kind::Argument
            | Kind::ModelName
            | Kind::VariableName
            | Kind::DistroName
            | Kind::LinuxPath
            | Kind::Line(_)
            | Kind::FileName
            | Kind::Amount(..)
            | Kind::Personas
            | Kind::Optional(_)
            | Kind::ListOf(_) => None,
        }
    }

    fn expected(&self, example: Option<&Value>) -> String {
        let such_as = example.map(|value| format!(" such as {}", display_value(value)));
        let such_as = such_as.unwrap_or_default();
        match self {
            Kind::Address => format!("an address and a port{such_as}"),
            Kind::Hosts => "a list of host names or addresses without a port, such as [\"review.example\"]".to_owned(),
            Kind::DataDir | Kind::Folder => "an absolute path to a folder, or one that begins \
                 with \"~/\", without control characters"
                .to_owned(),
            Kind::ExistingFolder => "an absolute path to an existing folder".to_owned(),
            Kind::ReadableFile => "an absolute path to a readable file".to_owned(),
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
            Kind::Argument => format!("text without control characters, at most {MAX_ARGUMENT_BYTES} bytes"),
            Kind::ModelName => {
                "a model's name of 1 to 100 letters, digits and the characters . _ : / @ -, not beginning with -"
                    .to_owned()
            }
            Kind::VariableName => format!(
                "the name of a variable (letters, digits and _), but none that the broker sets or that makes a program \
                 load others: {}",
                GUARDED.join(" ")
            ),
            Kind::DistroName => {
                "the name of a WSL distribution: letters, digits and the characters . _ -, not beginning with -"
                    .to_owned()
            }
            Kind::LinuxPath => "an absolute path as Linux writes it, such as \"/home/me/code\"".to_owned(),
            Kind::Line(max) => format!("text on one line, of 1 to {max} characters, none of them invisible"),
            Kind::FileName => "the name of a file in the same folder, without a path".to_owned(),
            Kind::Globs(max) => format!("a list of at most {max} patterns of paths, such as [\"*.lock\", \"docs/\"]"),
            Kind::Amount(min, max) => format!("an amount between {min} and {max}"),
            Kind::Personas => format!(
                "a list of 1 to {MAX_SEATS} personas, each 1 to {MAX_PERSONA_NAME_CHARS} letters, digits and the characters . _ -"
            ),
            Kind::PanelRules => "a list of rules with personas and category or paths, such as \
                 [{ paths = [\"migrations/**\"], personas = [\"architecture\"] }]"
                .to_owned(),
            Kind::Receivers => "a list of receivers with name and url, such as \
                 [{ name = \"ci\", url = \"https://ci.example/hook\", events = [\"verdict_given\"] }]"
                .to_owned(),
            // An empty value is not a useful example.
            Kind::Optional(kind) => format!("{}, or \"\"", kind.expected(None)),
            Kind::ListOf(kind) => format!("a list, each item {}", kind.expected(None)),
        }
    }
}

/// `None` if the value is not a list of strings.
pub(crate) fn globs(value: &Value) -> Option<Result<Globs, GlobError>> {
    let texts = value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned));
    let texts = texts.collect::<Option<Vec<_>>>()?;
    match texts.iter().find(|text| text.contains(is_hidden)) {
        Some(text) => Some(Err(GlobError { pattern: text.clone(), reason: "has invisible characters".into() })),
        None => Some(Globs::new(texts)),
    }
}

pub(crate) fn is_persona_list(value: &Value) -> bool {
    let named = |item: &Value| item.as_str().is_some_and(is_persona_name);
    value.as_array().is_some_and(|items| (1..=MAX_SEATS).contains(&items.len()) && items.iter().all(named))
}

fn is_file_name(text: &str) -> bool {
    (1..=200).contains(&text.len()) && !text.contains(['/', '\\']) && !matches!(text, "." | "..")
}

const MAX_ARGUMENT_BYTES: usize = 4096;

/// Variables that are never passed to a reviewer. `*` matches any ending.
const GUARDED: &[&str] =
    &["COUNTERSIGN_*", "LD_*", "DYLD_*", "PATH", "BASH_ENV", "ENV", "NODE_OPTIONS", "BUN_OPTIONS", "WSLENV"];

fn is_guarded(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    GUARDED.iter().any(|guarded| match guarded.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *guarded,
    })
}

fn is_variable(name: &str) -> bool {
    is_word(name, "_") && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// 1 to 100 letters, digits and characters of `more`.
pub(crate) fn is_word(text: &str, more: &str) -> bool {
    (1..=100).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// A list in the syntax of a file: `["a", "b"]`.
fn list(text: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(&format!("list = {text}")).ok()?;
    table.get("list").filter(|value| value.is_array()).cloned()
}

fn words(text: &str) -> Value {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(|word| Value::String(word.to_owned())).collect::<Vec<_>>().into()
}

fn there(path: &Value) -> PathBuf {
    path.as_str().unwrap_or_default().into()
}

/// Whether this is a regular file that can be opened. Opening a pipe could block.
fn is_readable(file: &Path) -> bool {
    file.is_file() && File::open(file).is_ok()
}

/// `localhost` means 127.0.0.1; no resolver is used.
fn address(text: &str) -> Option<Value> {
    let address: SocketAddr = match text.strip_prefix("localhost:") {
        Some(port) => (Ipv4Addr::LOCALHOST, port.parse().ok()?).into(),
        None => text.parse().ok()?,
    };
    Some(Value::String(address.to_string()))
}

fn is_host(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    text.parse::<IpAddr>().is_ok() || ((1..=253).contains(&text.len()) && text.chars().all(plain))
}

/// A relative path would mean another program in each folder.
pub(crate) fn is_program(text: &str) -> bool {
    !text.is_empty() && (Path::new(text).is_absolute() || !text.contains(['/', '\\']))
}

pub(crate) fn absolute(text: &str, place: &PathContext<'_>) -> Option<Value> {
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

pub(crate) fn duration(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok()?.try_into().ok()
}

fn friendly(duration: Duration) -> String {
    SignedDuration::try_from(duration).map_or_else(|_| format!("{duration:?}"), |duration| format!("{duration:#}"))
}
