//! The table of all settings: type, bounds, and whether a project's file may set them.

use std::path::Path;
use std::time::Duration;

use domain::default_panel::MAX_SEATS;
use domain::diff::FlagKind;
use domain::persona::{MAX_PERSONA_NAME_CHARS, is_persona_name};
use domain::reviewer_pool::scaling::MAX_POOL_SIZE;

use crate::validate::{self, Tables};
use crate::{default_panel, webhooks};

pub(crate) struct Rule {
    /// `section.key`; `*` is the name of a project.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
}

/// The type of a setting.
pub(crate) enum Kind {
    Bool,
    Integer(i64, i64),
    /// US dollars.
    Amount(f64, f64),
    Duration(Duration, Duration),
    OneOf(&'static [&'static str]),
    /// Text without hidden characters, and what is expected: `{}` stands for an example.
    Text(fn(&str) -> bool, &'static str),
    /// Text on one line, with a maximum number of characters.
    Line(usize),
    /// A variable that may be passed to a reviewer.
    VariableName,
    /// Host and port.
    Address,
    /// A path, absolute if it comes from a file, and what is expected.
    Path(fn(&Path) -> bool, &'static str),
    /// The folder of the database, or empty for the user's data folder.
    DataDir,
    /// A list of words with a minimum and a maximum length, and what is expected.
    Words(fn(&str) -> bool, usize, usize, fn() -> String),
    /// A list of path patterns.
    Globs,
    /// A list of tables.
    Tables(&'static Tables),
    /// The inner kind, or empty.
    Optional(&'static Kind),
    ListOf(&'static Kind),
}

/// What a project's file may do with a setting. An agent may have written that file, so it may tune its own reviews and
/// tighten limits, but never loosen one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    OperatorOnly,
    ProjectSets,
    ProjectLowers,
    ProjectAdds,
    /// A project may set this value, the stricter one.
    ProjectTightensTo(&'static str),
}

use Kind::{
    Address, Amount, Bool, DataDir, Globs, Integer, Line, ListOf, OneOf, Optional, Path as PathTo, Tables as TablesOf,
    Text, VariableName, Words,
};
use Scope::{OperatorOnly, ProjectAdds, ProjectLowers, ProjectSets, ProjectTightensTo};

const HOSTS: Kind = Words(validate::is_host, 0, usize::MAX, || {
    "a list of host names or addresses without a port, such as [\"review.example\"]".to_owned()
});
/// Kinds of diff flags.
const FLAG_KINDS: Kind = Words(
    |text| FlagKind::parse(text).is_some(),
    0,
    usize::MAX,
    || {
        let words: Vec<_> = FlagKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("a list of any of {}", words.join(", "))
    },
);
const PERSONAS: Kind = Words(is_persona_name, 1, MAX_SEATS, || {
    format!(
        "a list of 1 to {MAX_SEATS} personas, each 1 to {MAX_PERSONA_NAME_CHARS} letters, digits and the characters . _ -"
    )
});
pub(crate) const FOLDER: Kind =
    PathTo(|_| true, "an absolute path to a folder, or one that begins with \"~/\", without control characters");
const EXISTING_FOLDER: Kind = PathTo(Path::is_dir, "an absolute path to an existing folder");
const READABLE_FILE: Kind = PathTo(validate::is_readable, "an absolute path to a readable file");
const LOG_FILTER: Kind = Text(validate::is_log_filter, "a log filter{} or \"warn,countersign=debug\"");
const PROGRAM: Kind = Text(validate::is_program, "the name of a program{}, or its absolute path");
/// One item of an argv.
const ARGUMENT: Kind = Text(|text| text.len() <= 4096, "text without control characters, at most 4096 bytes");
/// Passed to clients on the command line, so it must not look like an option.
const MODEL: Kind = Text(
    |text| validate::is_word(text, "._:/@-") && !text.starts_with('-'),
    "a model's name of 1 to 100 letters, digits and the characters . _ : / @ -, not beginning with -",
);
/// An argument of `wsl.exe --distribution`.
const DISTRO: Kind = Text(
    |text| validate::is_word(text, "._-") && !text.starts_with('-'),
    "the name of a WSL distribution: letters, digits and the characters . _ -, not beginning with -",
);
/// An absolute path on another system.
const LINUX_PATH: Kind =
    Text(|text| text.starts_with('/'), "an absolute path as Linux writes it, such as \"/home/me/code\"");
/// The name of a file beside the persona's.
const FILE_NAME: Kind = Text(validate::is_file_name, "the name of a file in the same folder, without a path");
const RUNTIME: Kind = OneOf(&["codex", "claude", "command"]);
const EFFORT: Kind = OneOf(&["low", "medium", "high"]);

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(crate) const RULES: &[Rule] = &[
    rule("server.listen", Address, OperatorOnly),
    rule("server.hosts", HOSTS, OperatorOnly),
    rule("server.data_dir", DataDir, OperatorOnly),
    rule("server.max_connections", Integer(1, 65_536), OperatorOnly),
    rule("server.header_timeout", millis(100, 5 * MINUTE), OperatorOnly),
    rule("server.body_timeout", millis(100, 10 * MINUTE), OperatorOnly),
    rule("server.write_timeout", millis(100, 10 * MINUTE), OperatorOnly),
    rule("server.auto_start", Bool, OperatorOnly),
    rule("server.idle_exit", millis(100, 8760 * HOUR), OperatorOnly),
    rule("auth.required", Bool, OperatorOnly),
    rule("auth.local_users", OneOf(&["own", "any"]), OperatorOnly),
    rule("auth.session_lifetime", millis(SECOND, 8760 * HOUR), OperatorOnly),
    rule("log.filter", LOG_FILTER, OperatorOnly),
    rule("log.format", OneOf(&["text", "json"]), OperatorOnly),
    rule("claims.lease", millis(SECOND, 24 * HOUR), ProjectSets),
    rule("reviews.idle_after", millis(100, 168 * HOUR), OperatorOnly),
    rule("reviews.max_live", Integer(1, 1_000_000), OperatorOnly),
    rule("reviews.max_rounds", Integer(1, 1000), ProjectLowers),
    rule("reviews.max_exchanges", Integer(1, 1000), ProjectLowers),
    rule("reviews.choose_priority", Bool, OperatorOnly),
    rule("limits.diff_bytes", Integer(1024, 256 << 20), ProjectLowers),
    rule("limits.intent_chars", Integer(1, 100_000), ProjectLowers),
    rule("limits.text_chars", Integer(1, 10_000_000), ProjectLowers),
    // a UUID must fit
    rule("limits.id_chars", Integer(36, 1000), ProjectLowers),
    rule("limits.metadata_bytes", Integer(2, 1 << 20), ProjectLowers),
    rule("limits.page_chars", Integer(1000, 1_000_000), ProjectSets),
    rule("limits.page_items", Integer(1, 10_000), ProjectSets),
    rule("limits.max_page_items", Integer(1, 10_000), ProjectLowers),
    rule("limits.calls_in_flight", Integer(1, 65_536), OperatorOnly),
    rule("limits.calls_per_review", Integer(1, 65_536), OperatorOnly),
    rule("limits.waiters", Integer(1, 1_000_000), OperatorOnly),
    rule("limits.caller_bytes", Integer(1 << 20, 1 << 40), OperatorOnly),
    rule("wait.default", millis(100, 50 * SECOND), ProjectSets),
    rule("wait.max", millis(100, 50 * SECOND), ProjectSets),
    rule("git.program", PROGRAM, OperatorOnly),
    rule("git.time_limit", millis(100, 10 * MINUTE), ProjectLowers),
    rule("git.concurrency", Integer(1, 64), OperatorOnly),
    rule("git.engine", OneOf(&["auto", "git", "both"]), OperatorOnly),
    rule("git.refuse", FLAG_KINDS, ProjectAdds),
    rule("store.readers", Integer(1, 64), OperatorOnly),
    rule("store.max_batch", Integer(1, 10_000), OperatorOnly),
    rule("events.max_streams", Integer(1, 65_536), OperatorOnly),
    rule("events.queue", Integer(512, 1_000_000), OperatorOnly),
    // A receiver gets all events, so only the operator may name one.
    rule("webhooks.attempts", Integer(1, 100), OperatorOnly),
    rule("webhooks.first_pause", millis(10, HOUR), OperatorOnly),
    rule("webhooks.timeout", millis(100, 5 * MINUTE), OperatorOnly),
    rule("webhooks.receivers", TablesOf(&webhooks::RECEIVERS), OperatorOnly),
    // A project may only add personas and rules.
    rule("panel.personas", PERSONAS, ProjectAdds),
    rule("panel.rules", TablesOf(&default_panel::RULES), ProjectAdds),
    rule("gate.fail", OneOf(&["open", "closed"]), ProjectTightensTo("closed")),
    // An agent must not exempt its own changes.
    rule("gate.exempt", Globs, OperatorOnly),
    rule("gate.receipt", OneOf(&["none", "note", "trailer"]), ProjectSets),
    rule("gate.sign_votes", Bool, OperatorOnly),
    // These settings decide what runs, with which rights and at what cost.
    rule("pool.enabled", Bool, OperatorOnly),
    rule("pool.runtime", RUNTIME, OperatorOnly),
    rule("pool.program", Optional(&PROGRAM), OperatorOnly),
    rule("pool.command", ListOf(&ARGUMENT), OperatorOnly),
    rule("pool.model", Optional(&MODEL), OperatorOnly),
    rule("pool.models", ListOf(&MODEL), OperatorOnly),
    rule("pool.effort", Optional(&EFFORT), OperatorOnly),
    rule("pool.workspace", Optional(&EXISTING_FOLDER), OperatorOnly),
    rule("pool.sandbox", OneOf(&["auto", "required", "off"]), OperatorOnly),
    rule("pool.readable", ListOf(&FOLDER), OperatorOnly),
    rule("pool.work_dir", Optional(&FOLDER), OperatorOnly),
    rule("pool.environment", ListOf(&VariableName), OperatorOnly),
    rule("pool.prompt", Optional(&READABLE_FILE), OperatorOnly),
    rule("pool.max_size", Integer(1, MAX_POOL_SIZE as i64), OperatorOnly),
    rule("pool.ratio", Integer(1, 100), OperatorOnly),
    rule("pool.cooldown", millis(10, HOUR), OperatorOnly),
    rule("pool.idle_after", millis(10, 24 * HOUR), OperatorOnly),
    rule("pool.ttl", millis(10, 168 * HOUR), OperatorOnly),
    rule("pool.check_every", millis(10, HOUR), OperatorOnly),
    rule("pool.stop_grace", millis(10, 5 * MINUTE), OperatorOnly),
    rule("pool.max_failures", Integer(1, 100), OperatorOnly),
    rule("pool.keep_sessions", millis(0, 720 * HOUR), OperatorOnly),
    rule("pool.wsl_distro", Optional(&DISTRO), OperatorOnly),
    rule("pool.workspace_wsl_path", Optional(&LINUX_PATH), OperatorOnly),
    rule("projects.*.path", FOLDER, OperatorOnly),
    rule("projects.*.trusted", Bool, OperatorOnly),
    rule("projects.*.reviewer_copy", OneOf(&["read_only", "writable"]), OperatorOnly),
];

/// The settings of a persona's file.
pub(crate) const PERSONA_RULES: &[Rule] = &[
    rule("focus", Line(200), ProjectSets),
    // A project's text is added to the operator's.
    rule("prompt", FILE_NAME, ProjectSets),
    rule("ignore", Globs, ProjectAdds),
    rule("mode", OneOf(&["agent", "one_shot", "dedicated"]), OperatorOnly),
    rule("runtime", Optional(&RUNTIME), OperatorOnly),
    rule("program", Optional(&PROGRAM), OperatorOnly),
    rule("command", ListOf(&ARGUMENT), OperatorOnly),
    rule("model", Optional(&MODEL), OperatorOnly),
    rule("effort", Optional(&EFFORT), OperatorOnly),
    rule("time_limit", millis(SECOND, 2 * HOUR), ProjectLowers),
    rule("budget_usd", Amount(0.01, 1000.0), ProjectLowers),
    rule("max_turns", Integer(1, 1000), ProjectLowers),
    rule("max_tokens", Integer(1000, 1_000_000_000_000), ProjectLowers),
    rule("keep_seat", millis(10, 168 * HOUR), ProjectLowers),
    rule("front_matter", Bool, OperatorOnly),
];

/// Patterns in one list.
pub(crate) const MAX_GLOBS: usize = 100;

const fn rule(key: &'static str, kind: Kind, scope: Scope) -> Rule {
    Rule { key, kind, scope }
}

const fn millis(min: u64, max: u64) -> Kind {
    Kind::Duration(Duration::from_millis(min), Duration::from_millis(max))
}

pub(crate) fn is_section(name: &str) -> bool {
    RULES.iter().any(|rule| rule.key.split('.').next() == Some(name))
}

impl Rule {
    /// `COUNTERSIGN_CLAIMS_LEASE`. `None` for projects: a variable cannot contain their names.
    pub(crate) fn variable(&self) -> Option<String> {
        (!self.key.contains('*')).then(|| format!("COUNTERSIGN_{}", self.key.replace('.', "_").to_uppercase()))
    }
}
