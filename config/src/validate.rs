//! Validates the value of a setting against its type and bounds. Returns the value to use, or what was expected.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::glob::{GlobError, Globs};
use domain::text::is_hidden;
use jiff::SignedDuration;
use toml::{Table, Value};
use tracing_subscriber::EnvFilter;

use crate::error::display_value;
use crate::schema::{FOLDER, Kind, MAX_GLOBS, Rule};
use crate::setting_values::unknown_key;

/// What relative paths in a value are resolved against.
pub(crate) struct PathContext<'a> {
    pub(crate) home: Option<&'a Path>,
    /// Only for flags and variables. In a file, a relative path would depend on where the broker was started.
    pub(crate) working_dir: Option<&'a Path>,
}

/// A setting that is a list of tables, such as the rules of a panel.
pub(crate) struct Tables {
    /// What one table is called.
    pub(crate) item: &'static str,
    pub(crate) max: usize,
    pub(crate) keys: &'static [&'static str],
    /// The key of a path, which is made absolute.
    pub(crate) path: Option<&'static str>,
    /// The problems of one table, except unknown keys.
    pub(crate) faults: fn(&Table) -> Vec<String>,
    pub(crate) expected: &'static str,
}

impl Tables {
    fn faults(&self, value: &Value) -> Vec<String> {
        let item = self.item;
        let tables = value.as_array().and_then(|all| all.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
        let Some(tables) = tables else { return vec![format!("this is not a list of {item}s")] };
        let mut faults = Vec::new();
        if tables.len() > self.max {
            faults.push(format!("{} {item}s are too many; at most {} are allowed", tables.len(), self.max));
        }
        let mut names = BTreeSet::new();
        for (i, table) in tables.into_iter().enumerate() {
            let unknown = table.keys().filter(|key| !self.keys.contains(&key.as_str()));
            let unknown = unknown.map(|key| format!("{key:?}: {}", unknown_key(key, self.keys.iter().copied())));
            let is_repeated = table.get("name").and_then(Value::as_str).is_some_and(|name| !names.insert(name));
            let repeated = is_repeated.then(|| format!("another {item} has this name"));
            let all = unknown.chain(repeated).chain((self.faults)(table));
            faults.extend(all.map(|fault| format!("{item} {}: {fault}", i + 1)));
        }
        faults
    }

    fn accept(&self, value: &Value, context: &PathContext<'_>) -> Option<Value> {
        let mut value = value.clone();
        if !self.faults(&value).is_empty() {
            return None;
        }
        for table in value.as_array_mut()? {
            if let Some(path) = self.path.and_then(|key| table.get_mut(key)) {
                *path = absolute(path.as_str()?, context)?;
            }
        }
        Some(value)
    }
}

impl Rule {
    /// Parses the text of a flag or a variable. An invalid text stays a string, for `check` to refuse.
    pub(crate) fn parse(&self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match self.kind {
            Kind::Integer(..) => text.parse().map_or_else(|_| as_text(), Value::Integer),
            Kind::Bool => text.parse().map_or_else(|_| as_text(), Value::Boolean),
            // Arguments may contain spaces and commas, so they need the list syntax of a file.
            Kind::ListOf(_) if self.key == "pool.command" => list(text).unwrap_or_else(as_text),
            Kind::Tables(_) => list(text).unwrap_or_else(as_text),
            Kind::Words(..) | Kind::Globs | Kind::ListOf(_) => list(text).unwrap_or_else(|| words(text)),
            Kind::Address
            | Kind::Amount(..)
            | Kind::DataDir
            | Kind::Duration(..)
            | Kind::Line(_)
            | Kind::OneOf(_)
            | Kind::Optional(_)
            | Kind::Path(..)
            | Kind::Text(..)
            | Kind::VariableName => as_text(),
        }
    }

    pub(crate) fn check(
        &self,
        value: &Value,
        example: Option<&Value>,
        context: &PathContext<'_>,
    ) -> Result<Value, String> {
        self.kind.accept(value, context).ok_or_else(|| {
            let expected = format!("expected {}", self.kind.expected(example));
            match self.kind.fault(value) {
                Some(fault) => format!("{fault}; {expected}"),
                None => expected,
            }
        })
    }
}

impl Kind {
    fn accept(&self, value: &Value, context: &PathContext<'_>) -> Option<Value> {
        let text = value.as_str().filter(|text| !text.contains(is_hidden));
        let fits = match self {
            Kind::Bool => value.is_bool(),
            Kind::Integer(min, max) => (min..=max).contains(&&value.as_integer()?),
            Kind::Amount(min, max) => {
                let amount = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
                return (min..=max).contains(&&amount).then_some(Value::Float(amount));
            }
            Kind::Duration(min, max) => (min..=max).contains(&&duration(text?)?),
            Kind::OneOf(words) => words.contains(&text?),
            Kind::Text(is_valid, _) => is_valid(text?),
            Kind::Line(max) => !text?.trim().is_empty() && text?.chars().count() <= *max,
            Kind::VariableName => is_variable(text?) && !is_guarded(text?),
            Kind::Address => return address(text?),
            Kind::Path(is_valid, _) => {
                return absolute(text?, context)
                    .filter(|path| path.as_str().is_some_and(|path| is_valid(path.as_ref())));
            }
            Kind::DataDir if text?.is_empty() => true,
            Kind::DataDir => return absolute(text?, context),
            Kind::Words(is_valid, min, max, _) => {
                let items = value.as_array()?;
                (min..=max).contains(&&items.len()) && items.iter().all(|item| item.as_str().is_some_and(is_valid))
            }
            Kind::Globs => globs(value)?.is_ok_and(|globs| globs.len() <= MAX_GLOBS),
            Kind::Tables(tables) => return tables.accept(value, context),
            Kind::Optional(_) if text?.is_empty() => true,
            Kind::Optional(kind) => return kind.accept(value, context),
            Kind::ListOf(kind) => {
                let items = value.as_array()?.iter().map(|item| kind.accept(item, context));
                return items.collect::<Option<Vec<_>>>().map(Value::Array);
            }
        };
        fits.then(|| value.clone())
    }

    /// The exact problem, if `expected` alone is not precise enough.
    fn fault(&self, value: &Value) -> Option<String> {
        if let Kind::Tables(tables) = self {
            return Some(tables.faults(value).join("; ")).filter(|faults| !faults.is_empty());
        }
        match globs(value).filter(|_| matches!(self, Kind::Globs))? {
            Err(error) => Some(error.to_string()),
            Ok(globs) => (globs.len() > MAX_GLOBS).then(|| format!("these are {}", globs.len())),
        }
    }

    fn expected(&self, example: Option<&Value>) -> String {
        let such_as = example.map(|value| format!(" such as {}", display_value(value))).unwrap_or_default();
        match self {
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer(min, max) => format!("a whole number between {min} and {max}"),
            Kind::Amount(min, max) => format!("an amount between {min} and {max}"),
            Kind::Duration(min, max) => {
                let (min, max) = (friendly(*min), friendly(*max));
                format!("a duration{such_as}, between {min} and {max}")
            }
            Kind::OneOf(words) => format!("one of {}", words.join(", ")),
            Kind::Text(_, expected) => expected.replace("{}", &such_as),
            Kind::Line(max) => format!("text on one line, of 1 to {max} characters, none of them invisible"),
            Kind::VariableName => format!(
                "the name of a variable (letters, digits and _), but none that the broker sets or that makes a program \
                 load others: {}",
                GUARDED.join(" ")
            ),
            Kind::Address => format!("an address and a port{such_as}"),
            Kind::Path(_, expected) => (*expected).to_owned(),
            Kind::DataDir => FOLDER.expected(None),
            Kind::Words(.., expected) => expected(),
            Kind::Globs => format!("a list of at most {MAX_GLOBS} patterns of paths, such as [\"*.lock\", \"docs/\"]"),
            Kind::Tables(tables) => tables.expected.to_owned(),
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

pub(crate) fn is_log_filter(text: &str) -> bool {
    !text.trim().is_empty() && EnvFilter::try_new(text).is_ok()
}

pub(crate) fn is_file_name(text: &str) -> bool {
    (1..=200).contains(&text.len()) && !text.contains(['/', '\\']) && !matches!(text, "." | "..")
}

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
    let table: Table = toml::from_str(&format!("list = {text}")).ok()?;
    table.get("list").filter(|value| value.is_array()).cloned()
}

fn words(text: &str) -> Value {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(|word| Value::String(word.to_owned())).collect::<Vec<_>>().into()
}

/// Whether this is a regular file that can be opened. Opening a pipe could block.
pub(crate) fn is_readable(file: &Path) -> bool {
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

pub(crate) fn is_host(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    text.parse::<IpAddr>().is_ok() || ((1..=253).contains(&text.len()) && text.chars().all(plain))
}

/// A relative path would mean another program in each folder.
pub(crate) fn is_program(text: &str) -> bool {
    !text.is_empty() && (Path::new(text).is_absolute() || !text.contains(['/', '\\']))
}

fn absolute(text: &str, context: &PathContext<'_>) -> Option<Value> {
    let path = match text.strip_prefix("~/") {
        Some(below) => context.home?.join(below),
        None if text == "~" => context.home?.to_owned(),
        None if text.is_empty() => return None,
        None => match context.working_dir {
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
