//! Grounding: checks that the file, the lines and the quote of a finding exist.

mod quote;

use super::wording::quoted;
use super::{Grounding, Lines, Location, NewFinding};
use quote::Quote;

/// How far from the given lines a quote may be. Reviewers miscount lines.
const LEEWAY: usize = 3;
/// The most positions that a message lists.
const NAMED: usize = 4;

/// The text of a file in one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileText<'a> {
    Text(&'a str),
    Binary,
    Absent,
    /// The file could not be read.
    Unknown,
}

/// A file after the change and before it.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    pub after: FileText<'a>,
    pub before: FileText<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounded {
    pub grounding: Grounding,
    /// The finding's location, corrected to the lines that it quotes.
    pub location: Option<Location>,
}

/// Checks a finding against the two `sides` of its file. A finding without a file is checked against the `prose` of the
/// proposal: intent, description and diff.
pub fn ground(finding: &NewFinding, sides: Option<Sides<'_>>, prose: &[&str]) -> Grounded {
    let quote = finding.code_snippet.as_deref().and_then(Quote::new);
    let Some(location) = &finding.location else {
        return Grounded { grounding: in_prose(quote.as_ref(), prose), location: None };
    };
    let Some(sides) = sides else {
        let found = quote.is_some_and(|quote| quote.stands_in(prose));
        let grounding = if found { sound() } else { unchecked("there is no content to check it against") };
        return Grounded { grounding, location: Some(location.clone()) };
    };
    let name = quoted(&location.file);
    let text = match readable(sides) {
        Ok(text) => text,
        Err(FileText::Absent | FileText::Text(_)) => return refused(location, format!("there is no file {name}")),
        Err(FileText::Binary) if location.lines.is_none() && quote.is_none() => return kept(location, sound()),
        Err(FileText::Binary) => return kept(location, unchecked(&format!("{name} is not text"))),
        Err(FileText::Unknown) => return kept(location, unchecked(&format!("{name} could not be read"))),
    };
    let count = text.lines().count();
    if let Some(lines) = location.lines.filter(|lines| !fits(*lines, count)) {
        return refused(location, format!("{name} has {count} lines, so not {}", span(lines)));
    }
    match quote {
        Some(quote) => in_file(location, &quote, text, sides.before),
        None => kept(location, sound()),
    }
}

/// The text that the lines refer to: for a deleted file the one before the change.
fn readable(sides: Sides<'_>) -> Result<&str, FileText<'_>> {
    match (sides.after, sides.before) {
        (FileText::Text(text), _) | (FileText::Absent, FileText::Text(text)) => Ok(text),
        (FileText::Absent, before) => Err(before),
        (after @ (FileText::Binary | FileText::Unknown), _) => Err(after),
    }
}

fn in_prose(quote: Option<&Quote<'_>>, prose: &[&str]) -> Grounding {
    match quote {
        None => unchecked("it names no file"),
        Some(quote) if quote.stands_in(prose) => sound(),
        Some(quote) => Grounding::Ungrounded { why: format!("the proposal does not say {}", quoted(quote.text)) },
    }
}

fn in_file(location: &Location, quote: &Quote<'_>, text: &str, before: FileText<'_>) -> Grounded {
    let found = quote.locations(text);
    let near = |at: &&Lines| location.lines.is_none_or(|lines| is_near(lines, **at));
    let name = quoted(&location.file);
    match (found.as_slice(), location.lines) {
        ([], _) if quote.is_removed(before) => kept(location, noted("it quotes what the change takes away")),
        ([], _) => refused(location, format!("{name} does not say {}", quoted(quote.text))),
        (locations, Some(_)) if locations.iter().any(|at| near(&at)) => kept(location, sound()),
        ([only], Some(lines)) => {
            let note = noted(&format!("the quote stands at {}, not at {}", span(*only), span(lines)));
            kept(&Location { lines: Some(*only), ..location.clone() }, note)
        }
        ([only], None) => kept(&Location { lines: Some(*only), ..location.clone() }, sound()),
        (_, None) => kept(location, sound()),
        (locations, Some(lines)) => {
            refused(location, format!("the quote stands at {}, not at {}", list(locations), span(lines)))
        }
    }
}

fn is_near(lines: Lines, at: Lines) -> bool {
    let reach = |line: u32| line as usize + LEEWAY;
    at.start as usize <= reach(lines.end) && lines.start as usize <= reach(at.end)
}

fn fits(lines: Lines, count: usize) -> bool {
    0 < lines.start && lines.start <= lines.end && lines.end as usize <= count
}

fn span(Lines { start, end }: Lines) -> String {
    if start == end { format!("line {start}") } else { format!("lines {start}-{end}") }
}

fn list(locations: &[Lines]) -> String {
    let named: Vec<_> = locations.iter().take(NAMED).map(|lines| lines.start.to_string()).collect();
    let more = locations.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("lines {}{rest}", named.join(", "))
}

fn sound() -> Grounding {
    Grounding::Grounded { note: None }
}

fn noted(note: &str) -> Grounding {
    Grounding::Grounded { note: Some(note.to_owned()) }
}

fn unchecked(why: &str) -> Grounding {
    Grounding::Unchecked { why: why.to_owned() }
}

fn kept(location: &Location, grounding: Grounding) -> Grounded {
    Grounded { grounding, location: Some(location.clone()) }
}

fn refused(location: &Location, why: String) -> Grounded {
    kept(location, Grounding::Ungrounded { why })
}

#[cfg(test)]
#[path = "grounding_tests.rs"]
mod tests;
