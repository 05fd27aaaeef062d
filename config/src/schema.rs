//! What each setting may be, and whether a project's file may say it. The only home of the bounds.

use std::time::Duration;

use crate::key::Key;

pub(crate) struct Rule {
    /// `section.key`; `*` stands for the name of a project.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
}

pub(crate) enum Kind {
    /// Host and port.
    Address,
    /// A list of host names and addresses without ports.
    Hosts,
    /// A folder; absolute when it comes from a file. May be empty.
    DataDir,
    Folder,
    /// A folder that is there.
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
    /// A list of what a diff can be flagged for.
    FlagKinds,
    /// One item of an argv.
    Argument,
    /// As clients take it on their command line, so it must not look like an option.
    ModelName,
    /// A variable that a reviewer may be given.
    VariableName,
    /// As `wsl.exe --distribution` takes it.
    DistroName,
    /// An absolute path on another system.
    LinuxPath,
    /// Text of at most so many characters, on one line.
    Line(usize),
    /// A file in the same folder.
    FileName,
    /// A list of at most so many patterns of paths.
    Globs(usize),
    /// US dollars.
    Amount(f64, f64),
    /// A list of some, each by its name.
    Personas,
    /// When which personas are asked for.
    PanelRules,
    /// Who is told of events.
    Receivers,
    /// That, or empty.
    Optional(&'static Kind),
    ListOf(&'static Kind),
}

/// What a project's file may do with a setting. It lies in the repository, so an agent may have
/// written it: it may tune what concerns only its reviews, and tighten guards, but never loosen one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    OperatorOnly,
    ProjectSets,
    ProjectLowers,
    ProjectAdds,
    /// It may say this word, the stricter one.
    ProjectSays(&'static str),
}

use Kind::{
    Address, Amount, Argument, Bool, DataDir, DistroName, ExistingFolder, FileName, FlagKinds, Folder, Globs, Hosts,
    Integer, Line, LinuxPath, ListOf, LogFilter, ModelName, OneOf, Optional, PanelRules, Personas, Program,
    ReadableFile, Receivers, VariableName,
};
use Scope::{OperatorOnly, ProjectAdds, ProjectLowers, ProjectSays, ProjectSets};

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
    // Whoever names an address could have everything sent there.
    rule("webhooks.attempts", Integer(1, 100), OperatorOnly),
    rule("webhooks.first_pause", millis(10, HOUR), OperatorOnly),
    rule("webhooks.timeout", millis(100, 5 * MINUTE), OperatorOnly),
    rule("webhooks.receivers", Receivers, OperatorOnly),
    // More of them tighten; rules of a project replace nothing.
    rule("panel.personas", Personas, ProjectAdds),
    rule("panel.rules", PanelRules, ProjectAdds),
    rule("gate.fail", OneOf(&["open", "closed"]), ProjectSays("closed")),
    // What needs no approval must not be for an agent to say.
    rule("gate.exempt", Globs(MAX_GLOBS), OperatorOnly),
    rule("gate.receipt", OneOf(&["none", "note", "trailer"]), ProjectSets),
    // All of it is the operator's: it says what is run, with which rights, and what it may cost.
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

/// The same for the file of a persona.
pub(crate) const PERSONA_RULES: &[Rule] = &[
    rule("focus", Line(200), ProjectSets),
    // The text is added to that of the operator.
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
    /// `COUNTERSIGN_CLAIMS_LEASE`; none for projects, whose names a variable cannot spell.
    pub(crate) fn variable(&self) -> Option<String> {
        (!self.key.contains('*')).then(|| format!("COUNTERSIGN_{}", self.key.replace('.', "_").to_uppercase()))
    }
}
