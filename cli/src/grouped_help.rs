//! The help of the whole program: its commands by task, and examples.

use crate::render::hanging;
use clap::{Command, builder::StyledStr};
use std::fmt::Write as _;

/// Every command that is not hidden is in exactly one group.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["init", "demo", "serve", "doctor", "open"]),
    ("Propose", &["request", "wait", "resubmit", "patch", "cancel", "close", "land"]),
    ("Review", &["list", "show", "diff", "claim", "respond", "comment", "issues", "add-seat", "release"]),
    ("Gate", &["gate", "verify", "receipt", "key", "hook", "tandem", "revert"]),
    ("Observe", &["status", "top", "events", "activity", "timeline", "audit", "stats", "search", "export", "actors"]),
    (
        "Operate",
        &["config", "stop", "project", "personas", "reviewer", "token", "webhooks", "mcp", "completions", "man"],
    ),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("countersign demo", "see a whole review, without a key"),
    ("countersign init", "connect your agents in this repository"),
    ("countersign request --wait 10m", "propose this branch and wait"),
    ("countersign respond R-12 --approve", "give a verdict"),
    ("countersign gate", "is exactly what is staged approved?"),
];

const PAGER: &str =
    "On a terminal, long output goes through $COUNTERSIGN_PAGER, $PAGER or less; --no-pager writes it directly.";

/// The definition of the command line with this help.
pub fn with_grouped_help(definition: Command) -> Command {
    let template = template(&definition);
    definition.help_template(template)
}

fn template(definition: &Command) -> StyledStr {
    let styles = definition.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{title}:{header:#}");
        for name in *names {
            let about = definition.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let (head, indent) = (format!("  {name:width$}  "), " ".repeat(width + 4));
            let line = hanging(&head, &indent, &about);
            text.push_str(&line.replacen(name, &format!("{literal}{name}{literal:#}"), 1));
        }
    }
    let _ = writeln!(text, "\n{header}Examples:{header:#}");
    let width = EXAMPLES.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    for (line, purpose) in EXAMPLES {
        let _ = writeln!(text, "  {literal}{line}{literal:#}{:1$}  {purpose}", "", width - line.len());
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}");
    let _ = write!(text, "\n\n{}{{after-help}}", hanging("", "", PAGER).trim_end());
    text.into()
}
