//! The settings of webhooks (the receivers of events) as types, and their validation. Only the operator can configure
//! them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use domain::event_kind::{is_event_name, list_event_names};
use domain::text::is_hidden;
use http::Uri;
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::error::display_value;
use crate::validate::{Tables, is_word};

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

/// Problems never quote an address, which may contain a secret.
pub(crate) const RECEIVERS: Tables = Tables {
    item: "receiver",
    max: 20,
    keys: &["name", "url", "events", "project", "secret_file", "allow_http"],
    path: Some("secret_file"),
    faults,
    expected: "a list of receivers with name and url, such as \
               [{ name = \"ci\", url = \"https://ci.example/hook\", events = [\"verdict_given\"] }]",
};

fn faults(receiver: &Table) -> Vec<String> {
    let mut faults = Vec::new();
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
    Some(format!("events: {} is not known; allowed: {}", display_value(unknown), list_event_names()))
}

/// Why a URL cannot be used.
fn url_problem(url: &str, allow_http: bool) -> Option<&'static str> {
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
