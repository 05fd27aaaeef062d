//! Finds characters in a diff that a reader does not see, or takes for others.

use super::{Flag, FlagKind, risk_flags::excerpt};
use crate::homoglyphs::{describe_letters, has_homoglyphs};
use crate::text::{is_bidi, is_hidden, is_joiner, is_variation_selector};

/// Invisible characters, and characters that change the order in which text is displayed.
#[derive(Debug, Default)]
pub(super) struct SuspiciousText {
    control: Option<Occurrence<char>>,
    bidi: Option<Occurrence<char>>,
    mixed: Option<Occurrence<String>>,
}

#[derive(Debug)]
struct Occurrence<T> {
    first: T,
    /// 0 means the path itself.
    line: usize,
    count: usize,
}

impl SuspiciousText {
    pub(super) fn scan(&mut self, text: &str, line: usize) {
        // Fast path: most lines are plain ASCII.
        if text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return;
        }
        let text = text.strip_suffix('\r').unwrap_or(text);
        let mut before = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c != '\t' && !is_joiner(c) && !selects_a_form(before, c, rest.clone().next()) {
                self.look_at(c, line);
            }
            before = Some(c);
        }
        self.look_at_words(text, line);
    }

    pub(super) fn scan_path(&mut self, path: &str) {
        // Some scripts and emoji need joiners and selectors, but in a path they only disguise it.
        path.chars().for_each(|c| self.look_at(c, 0));
        self.look_at_words(path, 0);
    }

    fn look_at(&mut self, c: char, line: usize) {
        let slot = if is_bidi(c) {
            &mut self.bidi
        } else if is_hidden(c) {
            &mut self.control
        } else {
            return;
        };
        slot.get_or_insert(Occurrence { first: c, line, count: 0 }).count += 1;
    }

    fn look_at_words(&mut self, text: &str, line: usize) {
        if text.is_ascii() {
            return;
        }
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_ascii());
        for word in words.filter(|word| has_homoglyphs(word)) {
            let first = || Occurrence { first: excerpt(word), line, count: 0 };
            self.mixed.get_or_insert_with(first).count += 1;
        }
    }

    pub(super) fn flags(&self, path: Option<&str>) -> impl Iterator<Item = Flag> {
        let of_char = |found: &Occurrence<char>| found.describe(&format!("U+{:04X}", u32::from(found.first)));
        let flags = [
            (FlagKind::ControlCharacters, self.control.as_ref().map(of_char)),
            (FlagKind::BidiCharacters, self.bidi.as_ref().map(of_char)),
            (FlagKind::MixedScripts, self.mixed.as_ref().map(|found| found.describe(&describe_letters(&found.first)))),
        ];
        let path = path.map(str::to_owned);
        flags.into_iter().filter_map(move |(kind, detail)| Some(Flag { kind, path: path.clone(), detail: detail? }))
    }
}

impl<T> Occurrence<T> {
    fn describe(&self, what: &str) -> String {
        let place = if self.line == 0 { "in the path".to_owned() } else { format!("at line {}", self.line) };
        let more = if self.count > 1 { format!(", {} in all", self.count) } else { String::new() };
        format!("{what} {place}{more}")
    }
}

/// Whether `c` chooses a form of the character before it, as in emoji and in Chinese. Other selectors can carry hidden
/// text, since they are not visible and any number of them may follow a letter.
fn selects_a_form(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_han = |c: char| matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    match (before, c) {
        (Some('0'..='9' | '#' | '*'), '\u{fe0f}') => after == Some('\u{20e3}'),
        (Some(before), '\u{fe0e}' | '\u{fe0f}') => !before.is_ascii() && !is_hidden(before) && !before.is_alphabetic(),
        (Some(before), c) => is_variation_selector(c) && is_han(before),
        (None, _) => false,
    }
}
