//! Decides whether two findings report the same problem. The rule is strict, because linking two different findings
//! hides one of them, while a missed duplicate is only read twice.

use std::collections::BTreeSet;

use super::{FindingKind, Lines, Location};

/// Lines between two findings that may still be about one spot.
const LEEWAY: u32 = 2;

/// The share of common words that two findings need, in percent of all their words. The table in the tests explains
/// the values.
mod percent {
    /// For titles, if the lines overlap.
    pub(super) const TITLE: usize = 60;
    /// For titles, if the location says little: no lines or no file.
    pub(super) const TITLE_ANYWHERE: usize = 75;
    /// For whole texts, if the titles differ more.
    pub(super) const TITLE_WITH_TEXT: usize = 30;
    pub(super) const TEXT: usize = 50;
    /// Added if the kinds differ.
    pub(super) const OTHER_KIND: usize = 15;
}

/// The parts of a finding that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Comparable<'a> {
    pub location: Option<&'a Location>,
    pub title: &'a str,
    pub description: Option<&'a str>,
    pub kind: FindingKind,
}

/// Whether location and text are nearly equal. The order of the two does not matter.
pub fn is_same(a: &Comparable<'_>, b: &Comparable<'_>) -> bool {
    let Some(nearness) = nearness(a.location, b.location) else {
        return false;
    };
    let (title_a, title_b) = (Wording::of(&[a.title]), Wording::of(&[b.title]));
    if title_a.words.is_empty() || title_b.words.is_empty() {
        return false;
    }
    if title_a == title_b {
        return true;
    }
    if title_a.names_others_than(&title_b) {
        return false;
    }
    let extra = if a.kind == b.kind { 0 } else { percent::OTHER_KIND };
    let titles = title_a.shared_with(&title_b);
    let enough = match nearness {
        Nearness::Lines => percent::TITLE,
        Nearness::File => percent::TITLE_ANYWHERE,
    };
    if titles >= enough + extra {
        return true;
    }
    let (Some(text_a), Some(text_b)) = (a.description, b.description) else {
        return false;
    };
    let (text_a, text_b) = (Wording::of(&[a.title, text_a]), Wording::of(&[b.title, text_b]));
    titles >= percent::TITLE_WITH_TEXT + extra && text_a.shared_with(&text_b) >= percent::TEXT + extra
}

#[derive(Debug, Clone, Copy)]
enum Nearness {
    Lines,
    /// One is about the whole text, or both are about the whole proposal.
    File,
}

fn nearness(a: Option<&Location>, b: Option<&Location>) -> Option<Nearness> {
    match (a, b) {
        (None, None) => Some(Nearness::File),
        (Some(a), Some(b)) if a.text == b.text => match (a.lines, b.lines) {
            (Some(a), Some(b)) => are_near(a, b).then_some(Nearness::Lines),
            (None, _) | (_, None) => Some(Nearness::File),
        },
        (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => None,
    }
}

fn are_near(a: Lines, b: Lines) -> bool {
    a.start <= b.end.saturating_add(LEEWAY) && b.start <= a.end.saturating_add(LEEWAY)
}

/// A text as the set of its words.
#[derive(Debug, PartialEq, Eq)]
struct Wording {
    words: BTreeSet<String>,
    /// The words that name code. `a` and `b` differ by one letter, but they are two findings.
    names: BTreeSet<String>,
}

impl Wording {
    fn of(texts: &[&str]) -> Self {
        let mut wording = Self { words: BTreeSet::new(), names: BTreeSet::new() };
        for text in texts {
            for (at, part) in text.split('`').enumerate() {
                wording.add(part, at % 2 == 1);
            }
        }
        wording
    }

    fn add(&mut self, text: &str, is_code: bool) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for word in text.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
            let is_name =
                is_code || word.contains('_') || word.chars().skip(1).any(char::is_uppercase) || has_digit(word);
            if is_name {
                self.names.insert(word.to_lowercase());
                self.words.insert(word.to_lowercase());
            } else {
                let word = word.to_lowercase();
                if !FILLERS.contains(&word.as_str()) {
                    self.words.insert(stem(&word).to_owned());
                }
            }
        }
    }

    /// Both name code, and have no name in common.
    fn names_others_than(&self, other: &Self) -> bool {
        !self.names.is_empty() && !other.names.is_empty() && self.names.is_disjoint(&other.names)
    }

    /// The share of common words, in percent of all words.
    fn shared_with(&self, other: &Self) -> usize {
        let shared = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - shared;
        (shared * 100).checked_div(all).unwrap_or_default()
    }
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

/// Words that do not distinguish findings.
const FILLERS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "does", "for", "from",
    "has", "have", "here", "in", "into", "is", "it", "its", "may", "might", "of", "on", "or", "should", "so", "than",
    "that", "the", "their", "then", "there", "these", "this", "those", "to", "was", "were", "when", "where", "which",
    "will", "with", "would",
];

/// Reduces `leaks`, `leaked` and `leaking` to one word. A rough rule, but equal for both sides.
fn stem(word: &str) -> &str {
    const LEAST: usize = 3;
    let ends = ["ing", "ed", "es", "s", "e"];
    let cut = ends.iter().filter_map(|end| word.strip_suffix(end)).find(|rest| rest.chars().count() >= LEAST);
    cut.unwrap_or(word)
}

#[cfg(test)]
#[path = "duplicate_detection_tests.rs"]
mod tests;
