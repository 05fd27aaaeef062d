//! Finds quoted code in a text. White space is ignored, because quotes are often re-indented.

use super::FileText;
use crate::finding::Lines;
use crate::finding::wording::squeezed;

/// The least letters and digits of a quote that may match a part of a line.
const PART: usize = 3;
/// The most positions that are looked up. A quote with more of them identifies none.
const MOST: usize = 1000;

pub(super) struct Quote<'a> {
    /// As the reviewer wrote it, for messages.
    pub(super) text: &'a str,
    /// The ways to read it: as text, and as lines of a diff.
    readings: Vec<Vec<String>>,
}

impl<'a> Quote<'a> {
    /// `None` if the quote has no content.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let text = text.trim_matches(['\r', '\n']);
        let plain = reading(text.lines())?;
        let is_diff = text.lines().all(|line| line.trim().is_empty() || line.starts_with(['+', '-', ' ']));
        let mut readings = vec![plain];
        if is_diff {
            readings.extend(reading(text.lines().map(unmarked)));
            readings.extend(reading(text.lines().filter(|line| !line.starts_with('-')).map(unmarked)));
            readings.dedup();
        }
        Some(Self { text: text.trim(), readings })
    }

    /// The positions of the quote in a file.
    pub(super) fn locations(&self, text: &str) -> Vec<Lines> {
        let lines: Vec<_> = text.lines().map(squeezed).collect();
        self.in_lines(&lines)
    }

    /// Whether one of these texts contains the quote. Their lines may be lines of a diff.
    pub(super) fn stands_in(&self, prose: &[&str]) -> bool {
        prose.iter().any(|text| {
            let plain: Vec<_> = text.lines().map(squeezed).collect();
            let unmarked: Vec<_> = text.lines().map(|line| squeezed(unmarked(line))).collect();
            !self.in_lines(&plain).is_empty() || !self.in_lines(&unmarked).is_empty()
        })
    }

    pub(super) fn is_removed(&self, before: FileText<'_>) -> bool {
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
    let mut lines: Vec<_> = lines.map(squeezed).skip_while(String::is_empty).collect();
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
    found.filter_map(|(at, _)| numbers(at, len)).take(MOST).collect()
}

fn numbers(at: usize, len: usize) -> Option<Lines> {
    Some(Lines { start: u32::try_from(at + 1).ok()?, end: u32::try_from(at + len).ok()? })
}

/// A quote may start and end in the middle of a line.
fn is_part(wanted: &[String], lines: &[String]) -> bool {
    let says = |text: &String| text.chars().filter(|c| c.is_alphanumeric()).count() >= PART;
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
