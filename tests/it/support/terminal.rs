//! Commands of several people in one repository, and transcripts of them.

use crate::support::{
    broker::TestBroker,
    command::{CommandOutput, TestCommand},
};
use std::fmt::Write as _;

/// A checked-out branch `topic` with one commit after `main`.
pub(crate) async fn on_a_branch() -> TestBroker {
    on_a_branch_with("").await
}

pub(crate) async fn on_a_branch_with(settings: &str) -> TestBroker {
    let broker = TestBroker::with_settings(settings).await;
    branch(&broker);
    broker
}

pub(crate) fn branch(broker: &TestBroker) {
    let repo = broker.repo();
    repo.git(&["switch", "--quiet", "--create", "topic"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.commit("Say it in German");
}

impl TestBroker {
    /// A command of `who`.
    pub(crate) fn command_as(&self, who: &str, line: &[&str]) -> TestCommand {
        self.command(line).var("COUNTERSIGN_NAME", who)
    }
}

/// Commands and their output, as on a terminal of this width.
pub(crate) struct Transcript<'a> {
    broker: &'a TestBroker,
    columns: &'a str,
    pub(crate) text: String,
}

impl<'a> Transcript<'a> {
    pub(crate) fn new(broker: &'a TestBroker, columns: &'a str) -> Self {
        Self { broker, columns, text: String::new() }
    }

    pub(crate) async fn run(&mut self, who: &str, line: &[&str]) -> CommandOutput {
        let ended = self.broker.command_as(who, line).var("COLUMNS", self.columns).finish().await;
        let typed: Vec<_> =
            line.iter().map(|word| if word.contains(' ') { format!("'{word}'") } else { (*word).into() }).collect();
        writeln!(self.text, "{who}$ countersign {}", typed.join(" ")).unwrap();
        self.text += &ended.out;
        for line in ended.err.lines() {
            writeln!(self.text, "(stderr) {line}").unwrap();
        }
        if ended.code != 0 {
            writeln!(self.text, "(exit {})", ended.code).unwrap();
        }
        self.text.push('\n');
        ended
    }

    /// The transcript with all times and the broker's port replaced.
    pub(crate) fn redacted(&self) -> String {
        let text = self.text.replace(&self.broker.url(""), "http://127.0.0.1:8321");
        text.lines().map(|line| steps(&ages(&moments(line))) + "\n").collect()
    }
}

/// `+12ms` stands at the right of its column.
fn steps(line: &str) -> String {
    match line.split_once("+0s") {
        Some((before, after)) => format!("{}  +0s  {}", before.trim_end(), after.trim_start()),
        None => line.to_owned(),
    }
}

/// `12s` as `0s`. In a table it takes the same room.
fn ages(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let unit = from[digits..].strip_prefix("ms").or_else(|| from[digits..].strip_prefix('s'));
        let is_word = before.is_empty() || before.ends_with([' ', '+']);
        match unit {
            Some(after) if is_word && (after.is_empty() || after.starts_with([' ', ',', ':'])) => {
                out.push_str("0s");
                let taken = from.len() - after.len();
                if after.starts_with("  ") {
                    out.push_str(&" ".repeat(taken - 2));
                }
                rest = after;
            }
            _ => {
                out.push_str(&from[..digits]);
                rest = &from[digits..];
            }
        }
    }
    out + rest
}

/// `2026-11-16 17:00:00`, with the year or without, as zeros.
fn moments(line: &str) -> String {
    let fits = |part: &[u8], pattern: &[u8]| {
        let same = |(byte, like): (&u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == like };
        part.len() == pattern.len() && part.iter().zip(pattern).all(same)
    };
    let mut bytes = line.as_bytes().to_vec();
    for pattern in [&b"0000-00-00 00:00:00"[..], b"00-00 00:00:00"] {
        for at in 0..bytes.len().saturating_sub(pattern.len() - 1) {
            if fits(&bytes[at..at + pattern.len()], pattern) {
                bytes[at..at + pattern.len()].copy_from_slice(pattern);
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
