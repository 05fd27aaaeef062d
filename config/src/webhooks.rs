//! Receivers of webhooks. Only the operator can configure them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use domain::event_kind::{is_event_name, list_event_names};
use http::Uri;
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::suggest::unknown_key;
use crate::validate::{PathContext, absolute, is_word};
use domain::text::is_hidden;

const MAX_RECEIVERS: usize = 20;
const KEYS: &[&str] = &["name", "url", "events", "project", "secret_file", "allow_http"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub attempts: u32,
    #[serde(with = "duration")]
    pub first_pause: Duration,
    #[serde(with = "duration")]
    pub timeout: Duration,
    pub receivers: Vec<Receiver>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    pub name: String,
    pub url: String,
    /// Kinds and topics; empty: all.
    #[serde(default)]
    pub events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Absolute. `None`: a file in the data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    #[serde(default)]
    pub allow_http: bool,
}

impl Receiver {
    /// Scheme, host and port. The path may contain a secret.
    pub fn origin(&self) -> String {
        let uri: Option<Uri> = self.url.parse().ok();
        let parts = uri.as_ref().and_then(|uri| Some((uri.scheme_str()?, uri.authority()?)));
        parts.map(|(scheme, authority)| format!("{scheme}://{authority}")).unwrap_or_default()
    }
}

/// The value with absolute paths, or `None` if it is invalid.
pub(crate) fn accept(value: &Value, place: &PathContext<'_>) -> Option<Value> {
    if !faults(value).is_empty() {
        return None;
    }
    let receivers = value.as_array()?.iter().map(|receiver| {
        let mut receiver = receiver.clone();
        if let Some(file) = receiver.as_table_mut()?.get_mut("secret_file") {
            *file = absolute(file.as_str()?, place)?;
        }
        Some(receiver)
    });
    receivers.collect::<Option<Vec<_>>>().map(Value::Array)
}

/// Problems of a value of `webhooks.receivers`. They never quote an address, which may contain a secret.
pub(crate) fn faults(value: &Value) -> Vec<String> {
    let tables = value.as_array().and_then(|all| all.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
    let Some(tables) = tables else { return vec!["this is not a list of receivers".to_owned()] };
    let mut faults = Vec::new();
    if tables.len() > MAX_RECEIVERS {
        faults.push(format!("{} receivers are too many; at most {MAX_RECEIVERS} are allowed", tables.len()));
    }
    let mut names = BTreeSet::new();
    for (i, receiver) in tables.into_iter().enumerate() {
        let name = receiver.get("name").and_then(Value::as_str);
        if name.is_some_and(|name| !names.insert(name)) {
            faults.push(format!("receiver {}: another receiver has this name", i + 1));
        }
        faults.extend(problems_of(receiver).into_iter().map(|fault| format!("receiver {}: {fault}", i + 1)));
    }
    faults
}

fn problems_of(receiver: &Table) -> Vec<String> {
    let unknown = receiver.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|key| format!("{key:?}: {}", unknown_key(key, KEYS))).collect();
    let text = |key: &str| receiver.get(key).and_then(Value::as_str).filter(|text| !text.contains(is_hidden));
    if !text("name").is_some_and(|name| name.len() <= 64 && is_word(name, "._-") && !name.starts_with('.')) {
        faults.push("name must be 1 to 64 letters, digits and the characters . _ -, not beginning with .".into());
    }
    let allow_http = receiver.get("allow_http");
    if allow_http.is_some_and(|value| !value.is_bool()) {
        faults.push("allow_http must be true or false".into());
    }
    match text("url") {
        None => faults.push("url must be a string".into()),
        Some(url) => {
            faults.extend(url_problem(url, allow_http == Some(&true.into())).map(|fault| format!("url {fault}")));
        }
    }
    faults.extend(receiver.get("events").and_then(events_problem));
    if receiver.contains_key("project") && text("project").is_none_or(str::is_empty) {
        faults.push("project must be a name".into());
    }
    if receiver.contains_key("secret_file") && !text("secret_file").is_some_and(is_rooted) {
        faults.push("secret_file must be an absolute path or begin with ~/".into());
    }
    faults
}

fn is_rooted(path: &str) -> bool {
    path.starts_with("~/") || std::path::Path::new(path).is_absolute()
}

fn events_problem(events: &Value) -> Option<String> {
    let Some(events) = events.as_array() else { return Some("events must be a list".into()) };
    let is_known = |event: &&Value| event.as_str().is_some_and(is_event_name);
    let unknown = events.iter().find(|event| !is_known(event))?;
    let shown = crate::error::display_value(unknown);
    Some(format!("events: {shown} is not known; allowed: {}", list_event_names()))
}

/// Why a URL cannot be used.
pub(crate) fn url_problem(url: &str, allow_http: bool) -> Option<&'static str> {
    let Ok(uri) = url.parse::<Uri>() else { return Some("is not a URL") };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Some("must begin with http:// or https://");
    };
    if authority.as_str().contains('@') {
        return Some("must not contain credentials");
    }
    if authority.host().is_empty() || url.contains('#') {
        return Some("needs a host and no fragment");
    }
    match scheme {
        "https" => None,
        "http" if allow_http || is_loopback(authority.host()) => None,
        "http" => {
            Some("is plain http to another machine; use https, or set allow_http = true if the network is trusted")
        }
        _ => Some("must be http or https"),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
