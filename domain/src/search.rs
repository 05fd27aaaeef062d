//! Full-text search: the words of a query, and the part of a text in which they stand. What a person types is always a
//! valid query: all its words must occur, and the last one may be the beginning of a word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More words are ignored.
const MAX_WORDS: usize = 16;
/// Characters of a snippet before the first match.
const LEAD_CHARS: usize = 50;

crate::string_enum! {
    /// What a text that was found belongs to.
    SearchKind {
        Review = "review",
        Message = "message",
        Verdict = "verdict",
        Finding = "finding",
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnippetPart {
    pub text: String,
    /// It matches a word of the query.
    #[serde(rename = "match", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_match: bool,
}

/// The words of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords {
    /// Each is one word or, for a text such as `read_file`, a sequence of words. In lower case.
    phrases: Vec<Vec<String>>,
}

impl SearchWords {
    /// `None` if the text has neither letters nor digits.
    pub fn parse(text: &str) -> Option<Self> {
        let words = |part: &str| tokens(part).map(|(_, word)| word.to_lowercase()).collect::<Vec<_>>();
        let phrases = text.split_whitespace().map(words).filter(|phrase| !phrase.is_empty());
        let phrases: Vec<_> = phrases.take(MAX_WORDS).collect();
        (!phrases.is_empty()).then_some(Self { phrases })
    }

    pub fn phrases(&self) -> &[Vec<String>] {
        &self.phrases
    }

    fn matches(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let last = self.phrases.last().and_then(|phrase| phrase.last());
        self.phrases.iter().flatten().any(|wanted| *wanted == word) || last.is_some_and(|last| word.starts_with(last))
    }

    /// The part of `text` around the first match, or its beginning, in at most about `max_chars` characters on one line.
    pub fn snippet(&self, text: &str, max_chars: usize) -> Vec<SnippetPart> {
        let first = tokens(text).find(|(_, word)| self.matches(word)).map_or(0, |(at, _)| at);
        let lead = text[..first].char_indices().rev().nth(LEAD_CHARS).map_or(0, |(at, _)| at);
        let start = match text[lead..first].find(char::is_whitespace) {
            Some(space) if lead > 0 => lead + space,
            Some(_) | None => lead,
        };
        let end = text[start..].char_indices().nth(max_chars).map_or(text.len(), |(at, _)| start + at);
        let mut parts = Parts::default();
        if start > 0 {
            parts.push("…", false);
        }
        let shown = &text[start..end];
        let mut position = 0;
        for (at, word) in tokens(shown) {
            if self.matches(word) {
                parts.push(&shown[position..at], false);
                parts.push(word, true);
                position = at + word.len();
            }
        }
        parts.push(&shown[position..], false);
        if end < text.len() {
            parts.push("…", false);
        }
        parts.0
    }
}

#[derive(Default)]
struct Parts(Vec<SnippetPart>);

impl Parts {
    /// Adds a text with each run of white space as one space.
    fn push(&mut self, text: &str, is_match: bool) {
        let mut line = String::with_capacity(text.len());
        for c in text.chars() {
            let c = if c.is_whitespace() { ' ' } else { c };
            if c != ' ' || !line.ends_with(' ') {
                line.push(c);
            }
        }
        match self.0.last_mut() {
            _ if line.is_empty() => {}
            Some(last) if last.is_match == is_match => last.text.push_str(&line),
            Some(_) | None => self.0.push(SnippetPart { text: line, is_match }),
        }
    }
}

/// Runs of letters and digits with their positions, as the index cuts a text into words.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(char::is_alphanumeric)?;
        let length = text[start..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - start);
        rest = start + length;
        Some((start, &text[start..rest]))
    })
}

#[cfg(test)]
mod tests {
    use super::SearchWords;

    fn marked(query: &str, text: &str, max_chars: usize) -> String {
        let parts = SearchWords::parse(query).unwrap().snippet(text, max_chars);
        parts.iter().map(|part| if part.is_match { format!("[{}]", part.text) } else { part.text.clone() }).collect()
    }

    #[test]
    fn any_text_is_a_query_and_a_text_without_words_is_none() {
        for text in ["\"", "a AND", "NEAR(", "title:x*", "-", "ä OR ö", "R-12", "\u{0}x", "{a b}: c", "^a"] {
            let words = SearchWords::parse(text);
            assert_eq!(words.is_none(), !text.contains(char::is_alphanumeric), "{text}");
        }
        assert_eq!(SearchWords::parse("read_file(X)").unwrap().phrases(), [["read", "file", "x"]]);
    }

    #[test]
    fn a_snippet_marks_the_words_around_the_first_match() {
        assert_eq!(marked("TAX pri", "the tax of\n  a Price is a tax", 80), "the [tax] of a [Price] is a [tax]");
        let long = format!("{} needle {}", "hay ".repeat(40), "straw ".repeat(40));
        let cut = marked("needle", &long, 80);
        assert!(cut.starts_with("… hay") && cut.ends_with('…') && cut.contains("[needle] straw"), "{cut}");
        assert!(cut.chars().count() < 90, "{cut}");
        assert_eq!(marked("nothing", "äöü ßẞ", 3), "äöü…");
    }
}
