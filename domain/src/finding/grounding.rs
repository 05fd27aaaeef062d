//! Grounding: checks that the file, the lines and the quote of a finding exist in the proposal's files.

use super::{Grounding, Lines, LocatedText, Location, NewFinding};
use crate::{review::DiffSide, text::collapse_spaces};

/// How far from the given lines a quote may be. Reviewers miscount lines.
const LEEWAY: usize = 3;
/// The most positions that a message lists.
const MAX_LISTED: usize = 4;
/// The most characters of a quote in a message.
const MAX_QUOTED_CHARS: usize = 80;
/// The least letters and digits of a quote that may match a part of a line.
const MIN_PART_CHARS: usize = 3;
/// The most positions that are looked up. A quote with more of them identifies none.
const MAX_POSITIONS: usize = 1000;

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

/// The texts of a proposal.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProposalTexts<'a> {
    pub intent: &'a str,
    pub description: Option<&'a str>,
    pub diff: Option<&'a str>,
}

impl<'a> ProposalTexts<'a> {
    fn all(self) -> impl Iterator<Item = &'a str> {
        [Some(self.intent), self.description, self.diff].into_iter().flatten()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounded {
    pub grounding: Grounding,
    /// The finding's location, corrected to the lines that it quotes.
    pub location: Option<Location>,
}

/// Checks a finding against the two `sides` of its file, or against the description. A finding without a location is
/// checked against all texts of the proposal.
pub fn ground(finding: &NewFinding, sides: Option<Sides<'_>>, proposal: ProposalTexts<'_>) -> Grounded {
    let snippet = finding.code_snippet.as_deref();
    let Some(location) = &finding.location else {
        let quote = snippet.and_then(|text| Quote::new(text, DiffSide::New));
        return Grounded { grounding: in_prose(quote.as_ref(), proposal), location: None };
    };
    match &location.text {
        LocatedText::Description => {
            let quote = snippet.and_then(|text| Quote::new(text, DiffSide::New));
            let Some(text) = proposal.description else {
                return refused(location, "the proposal has no description".to_owned());
            };
            in_text(location, quote.as_ref(), text, "the description", FileText::Absent)
        }
        LocatedText::File { side: DiffSide::Old, .. } if proposal.diff.is_none() => {
            refused(location, "the proposal has no diff, so nothing has an old side".to_owned())
        }
        LocatedText::File { path, side } => {
            let quote = snippet.and_then(|text| Quote::new(text, *side));
            in_file(location, quote.as_ref(), sides, *side, path, proposal)
        }
    }
}

fn in_file(
    location: &Location,
    quote: Option<&Quote<'_>>,
    sides: Option<Sides<'_>>,
    side: DiffSide,
    path: &str,
    proposal: ProposalTexts<'_>,
) -> Grounded {
    let Some(sides) = sides else {
        let found = quote.is_some_and(|quote| quote.stands_in(proposal));
        let grounding = if found { sound() } else { unchecked("there is no content to check it against") };
        return kept(location, grounding);
    };
    let (name, text, before) = match side {
        DiffSide::New => (quoted(path), readable(sides), sides.before),
        DiffSide::Old => (format!("{} before the change", quoted(path)), as_text(sides.before), FileText::Absent),
    };
    match text {
        Ok(text) => in_text(location, quote, text, &name, before),
        Err(FileText::Absent | FileText::Text(_)) => refused(location, format!("there is no file {name}")),
        Err(FileText::Binary) if location.lines.is_none() && quote.is_none() => kept(location, sound()),
        Err(FileText::Binary) => kept(location, unchecked(&format!("{name} is not text"))),
        Err(FileText::Unknown) => kept(location, unchecked(&format!("{name} could not be read"))),
    }
}

/// The text that the lines of the new side refer to: for a deleted file the one before the change.
fn readable(sides: Sides<'_>) -> Result<&str, FileText<'_>> {
    match sides.after {
        FileText::Absent => as_text(sides.before),
        after @ (FileText::Text(_) | FileText::Binary | FileText::Unknown) => as_text(after),
    }
}

fn as_text(file: FileText<'_>) -> Result<&str, FileText<'_>> {
    match file {
        FileText::Text(text) => Ok(text),
        FileText::Binary | FileText::Absent | FileText::Unknown => Err(file),
    }
}

fn in_prose(quote: Option<&Quote<'_>>, proposal: ProposalTexts<'_>) -> Grounding {
    match quote {
        None => unchecked("it names no file"),
        Some(quote) if quote.stands_in(proposal) => sound(),
        Some(quote) => Grounding::Ungrounded { why: format!("the proposal does not say {}", quoted(quote.text)) },
    }
}

/// Checks lines and quote in `text`, which messages call `name`. The change took away what only `before` contains.
fn in_text(location: &Location, quote: Option<&Quote<'_>>, text: &str, name: &str, before: FileText<'_>) -> Grounded {
    let count = text.lines().count();
    if let Some(lines) = location.lines.filter(|lines| !fits(*lines, count)) {
        return refused(location, format!("{name} has {count} lines, so not {}", span(lines)));
    }
    let Some(quote) = quote else { return kept(location, sound()) };
    let found = quote.locations(text);
    let near = |at: &&Lines| location.lines.is_none_or(|lines| is_near(lines, **at));
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
    let named: Vec<_> = locations.iter().take(MAX_LISTED).map(|lines| lines.start.to_string()).collect();
    let more = locations.len().saturating_sub(MAX_LISTED);
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

/// Quotes a text for a message: short, on one line, with control characters escaped.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Quoted code. White space is ignored, because quotes are often re-indented.
struct Quote<'a> {
    /// As the reviewer wrote it, for messages.
    text: &'a str,
    /// The ways to read it: as text, and as lines of a diff.
    readings: Vec<Vec<String>>,
}

impl<'a> Quote<'a> {
    /// `None` if the quote has no content. A quoted diff is read as its lines on this side.
    fn new(text: &'a str, side: DiffSide) -> Option<Self> {
        let text = text.trim_matches(['\r', '\n']);
        let plain = reading(text.lines())?;
        let is_diff = text.lines().all(|line| line.trim().is_empty() || line.starts_with(['+', '-', ' ']));
        let mut readings = vec![plain];
        if is_diff {
            readings.extend(reading(text.lines().map(unmarked)));
            let other_side = match side {
                DiffSide::Old => '+',
                DiffSide::New => '-',
            };
            readings.extend(reading(text.lines().filter(|line| !line.starts_with(other_side)).map(unmarked)));
            readings.dedup();
        }
        Some(Self { text: text.trim(), readings })
    }

    /// The positions of the quote in a file.
    fn locations(&self, text: &str) -> Vec<Lines> {
        let lines: Vec<_> = text.lines().map(collapse_spaces).collect();
        self.in_lines(&lines)
    }

    /// Whether one of the texts contains the quote. Their lines may be lines of a diff.
    fn stands_in(&self, proposal: ProposalTexts<'_>) -> bool {
        proposal.all().any(|text| {
            let plain: Vec<_> = text.lines().map(collapse_spaces).collect();
            let unmarked: Vec<_> = text.lines().map(|line| collapse_spaces(unmarked(line))).collect();
            !self.in_lines(&plain).is_empty() || !self.in_lines(&unmarked).is_empty()
        })
    }

    fn is_removed(&self, before: FileText<'_>) -> bool {
        match before {
            FileText::Text(text) => !self.locations(text).is_empty(),
            FileText::Binary | FileText::Absent | FileText::Unknown => false,
        }
    }

    fn in_lines(&self, lines: &[String]) -> Vec<Lines> {
        let found = self.readings.iter().map(|wanted| locations(wanted, lines));
        found.into_iter().find(|locations| !locations.is_empty()).unwrap_or_default()
    }
}

/// Without blank lines at both ends; `None` if nothing is left.
fn reading<'t>(lines: impl Iterator<Item = &'t str>) -> Option<Vec<String>> {
    let mut lines: Vec<_> = lines.map(collapse_spaces).skip_while(String::is_empty).collect();
    while lines.pop_if(|line| line.is_empty()).is_some() {}
    (!lines.is_empty()).then_some(lines)
}

fn unmarked(line: &str) -> &str {
    line.strip_prefix(['+', '-', ' ']).unwrap_or(line)
}

fn locations(wanted: &[String], lines: &[String]) -> Vec<Lines> {
    let whole = |window: &[String]| window == wanted;
    let part = |window: &[String]| is_part(wanted, window);
    let found = windows(wanted.len(), lines, whole);
    if found.is_empty() { windows(wanted.len(), lines, part) } else { found }
}

fn windows(len: usize, lines: &[String], is_it: impl Fn(&[String]) -> bool) -> Vec<Lines> {
    let found = lines.windows(len).enumerate().filter(|(_, window)| is_it(window));
    found.filter_map(|(at, _)| numbers(at, len)).take(MAX_POSITIONS).collect()
}

fn numbers(at: usize, len: usize) -> Option<Lines> {
    Some(Lines { start: u32::try_from(at + 1).ok()?, end: u32::try_from(at + len).ok()? })
}

/// A quote may start and end in the middle of a line.
fn is_part(wanted: &[String], lines: &[String]) -> bool {
    let says = |text: &String| text.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_PART_CHARS;
    match (wanted, lines) {
        ([wanted], [line]) => says(wanted) && line.contains(wanted.as_str()),
        ([first, inner @ .., last], [first_line, inner_lines @ .., last_line]) => {
            let ends = says(first) || first == first_line;
            let begins = says(last) || last == last_line;
            ends && begins && inner == inner_lines && first_line.ends_with(first) && last_line.starts_with(last)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "grounding_tests.rs"]
mod tests;
