//! The table of settings: type, bounds, and whether a project's file may set them.

use std::time::Duration;

use crate::setting_key::Key;

pub(crate) struct Rule {
    /// `section.key`; `*` is the name of a project.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
}

pub(crate) enum Kind {
    /// Host and port.
    Address,
    /// A list of host names and addresses without ports.
    Hosts,
    /// A folder; absolute if it comes from a file. May be empty.
    DataDir,
    Folder,
    /// A folder that exists.
    ExistingFolder,
    /// A file that can be read.
    ReadableFile,
    /// A bare name or an absolute path.
    Program,
    LogFilter,
    Bool,
    Integer(i64, i64),
    Duration(Duration, Duration),
    OneOf(&'static [&'static str]),
    /// A list of kinds of diff flags.
    FlagKinds,
    /// One item of an argv.
    Argument,
    /// Passed to clients on the command line, so it must not look like an option.
    ModelName,
    /// A variable that may be passed to a reviewer.
    VariableName,
    /// An argument of `wsl.exe --distribution`.
    DistroName,
    /// An absolute path on another system.
    LinuxPath,
    /// Text on one line, with a maximum number of characters.
    Line(usize),
    /// The name of a file beside the persona's.
    FileName,
    /// A list of path patterns, with a maximum length.
    Globs(usize),
    /// US dollars.
    Amount(f64, f64),
    /// A list of persona names.
    Personas,
    /// Rules that add personas to a panel.
    PanelRules,
    /// Receivers of webhooks.
    Receivers,
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
    Address, Amount, Argument, Bool, DataDir, DistroName, ExistingFolder, FileName, FlagKinds, Folder, Globs, Hosts,
    Integer, Line, LinuxPath, ListOf, LogFilter, ModelName, OneOf, Optional, PanelRules, Personas, Program,
    ReadableFile, Receivers, VariableName,
};
use Scope::{OperatorOnly, ProjectAdds, ProjectLowers, ProjectSets, ProjectTightensTo};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(crate) const RULES: &[Rule] = &[
    rule("server.listen", Address, OperatorOnly),
    rule("server.hosts", Hosts, OperatorOnly),
    rule("server.data_dir", DataDir, OperatorOnly),
    rule("server.max_connections", Integer(1, 65_536), OperatorOnly),
    rule("server.header_timeout", millis(100, 5 * MINUTE), OperatorOnly),
    rule("server.body_timeout", millis(100, 10 * MINUTE), OperatorOnly),
    rule("server.write_timeout", millis(100, 10 * MINUTE), OperatorOnly),
    rule("auth.required", Bool, OperatorOnly),
    rule("log.filter", LogFilter, OperatorOnly),
    rule("log.format", OneOf(&["text", "json"]), OperatorOnly),
    rule("claims.lease", millis(SECOND, 24 * HOUR), ProjectSets),
    rule("reviews.idle_after", millis(100, 168 * HOUR), OperatorOnly),
    rule("reviews.max_live", Integer(1, 1_000_000), OperatorOnly),
    rule("reviews.max_rounds", Integer(1, 1000), ProjectLowers),
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
    rule("wait.default", millis(100, 50 * SECOND), ProjectSets),
    rule("wait.max", millis(100, 50 * SECOND), ProjectSets),
    rule("git.program", Program, OperatorOnly),
    rule("git.time_limit", millis(100, 10 * MINUTE), ProjectLowers),
    rule("git.concurrency", Integer(1, 64), OperatorOnly),
    rule("git.refuse", FlagKinds, ProjectAdds),
    rule("store.readers", Integer(1, 64), OperatorOnly),
    rule("store.max_batch", Integer(1, 10_000), OperatorOnly),
    rule("events.max_streams", Integer(1, 65_536), OperatorOnly),
    rule("events.queue", Integer(512, 1_000_000), OperatorOnly),
    // A receiver gets all events, so only the operator may name one.
    rule("webhooks.attempts", Integer(1, 100), OperatorOnly),
    rule("webhooks.first_pause", millis(10, HOUR), OperatorOnly),
    rule("webhooks.timeout", millis(100, 5 * MINUTE), OperatorOnly),
    rule("webhooks.receivers", Receivers, OperatorOnly),
    // A project may only add personas and rules.
    rule("panel.personas", Personas, ProjectAdds),
    rule("panel.rules", PanelRules, ProjectAdds),
    rule("gate.fail", OneOf(&["open", "closed"]), ProjectTightensTo("closed")),
    // An agent must not exempt its own changes.
    rule("gate.exempt", Globs(MAX_GLOBS), OperatorOnly),
    rule("gate.receipt", OneOf(&["none", "note", "trailer"]), ProjectSets),
    // These settings decide what runs, with which rights and at what cost.
    rule("pool.enabled", Bool, OperatorOnly),
    rule("pool.runtime", OneOf(&["codex", "claude", "command"]), OperatorOnly),
    rule("pool.program", Optional(&Program), OperatorOnly),
    rule("pool.command", ListOf(&Argument), OperatorOnly),
    rule("pool.model", Optional(&ModelName), OperatorOnly),
    rule("pool.models", ListOf(&ModelName), OperatorOnly),
    rule("pool.effort", Optional(&OneOf(&["low", "medium", "high"])), OperatorOnly),
    rule("pool.workspace", Optional(&ExistingFolder), OperatorOnly),
    rule("pool.environment", ListOf(&VariableName), OperatorOnly),
    rule("pool.prompt", Optional(&ReadableFile), OperatorOnly),
    rule("pool.max_size", Integer(1, 10), OperatorOnly),
    rule("pool.ratio", Integer(1, 100), OperatorOnly),
    rule("pool.cooldown", millis(10, HOUR), OperatorOnly),
    rule("pool.idle_after", millis(10, 24 * HOUR), OperatorOnly),
    rule("pool.ttl", millis(10, 168 * HOUR), OperatorOnly),
    rule("pool.check_every", millis(10, HOUR), OperatorOnly),
    rule("pool.stop_grace", millis(10, 5 * MINUTE), OperatorOnly),
    rule("pool.max_failures", Integer(1, 100), OperatorOnly),
    rule("pool.wsl_distro", Optional(&DistroName), OperatorOnly),
    rule("pool.workspace_wsl_path", Optional(&LinuxPath), OperatorOnly),
    rule("projects.*.path", Folder, OperatorOnly),
    rule("projects.*.trusted", Bool, OperatorOnly),
];

/// The settings of a persona's file.
pub(crate) const PERSONA_RULES: &[Rule] = &[
    rule("focus", Line(200), ProjectSets),
    // A project's text is added to the operator's.
    rule("prompt", FileName, ProjectSets),
    rule("ignore", Globs(MAX_GLOBS), ProjectAdds),
    rule("mode", OneOf(&["agent", "one_shot"]), OperatorOnly),
    rule("runtime", Optional(&OneOf(&["codex", "claude", "command"])), OperatorOnly),
    rule("program", Optional(&Program), OperatorOnly),
    rule("command", ListOf(&Argument), OperatorOnly),
    rule("model", Optional(&ModelName), OperatorOnly),
    rule("effort", Optional(&OneOf(&["low", "medium", "high"])), OperatorOnly),
    rule("time_limit", millis(SECOND, 2 * HOUR), ProjectLowers),
    rule("budget_usd", Amount(0.01, 1000.0), ProjectLowers),
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

pub(crate) fn find(key: &Key) -> Option<&'static Rule> {
    let pattern = key.pattern();
    RULES.iter().find(|rule| rule.key == pattern)
}

pub(crate) fn is_section(name: &str) -> bool {
    let of = |rule: &Rule| rule.key.split('.').next() == Some(name);
    RULES.iter().any(of)
}

impl Rule {
    /// `COUNTERSIGN_CLAIMS_LEASE`. `None` for projects: a variable cannot contain their names.
    pub(crate) fn variable(&self) -> Option<String> {
        (!self.key.contains('*')).then(|| format!("COUNTERSIGN_{}", self.key.replace('.', "_").to_uppercase()))
    }
}
