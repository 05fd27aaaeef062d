//! Functions that escape and truncate untrusted text, so that it is safe to print.

use std::borrow::Cow;
use std::fmt::Display;

/// Whether a character does not show as itself: control characters, line separators, bidi controls, and format
/// characters without width, among them the tag characters that hide text from people but not from models.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || is_bidi(c) || is_invisible(c)
}

/// Whether a character changes the reading direction of the text around it.
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is not visible by itself: line separators, and what Unicode calls ignorable, such as joiners,
/// fillers, byte order marks, variation selectors and tag characters. The page escapes the same ones (`inert.ts`).
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character joins its neighbours: normal in some scripts and in emoji, suspicious in a name.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a character selects the form of the one before it, such as the colours of an emoji.
pub fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// The text with each [hidden](is_hidden) character escaped: `\n`, `\u{202e}`. Joiners and the two
/// selectors of emoji stay.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text, needs_escape)
}

/// Like [`escape`], but tabs stay.
pub fn escape_except_tabs(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| c != '\t' && needs_escape(c))
}

fn needs_escape(c: char) -> bool {
    is_hidden(c) && !is_joiner(c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

fn escape_where(text: &str, needs_escape: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !needs_escape(c) => escaped.push(c),
            '\n' | '\r' | '\t' => escaped.extend(c.escape_default()),
            c => escaped.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// JSON text with hidden characters as JSON escapes: `\u202e`. Outside of strings only a line end can occur, and line
/// ends stay.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let needs_escape = |c: char| c != '\n' && needs_escape(c);
    if !json.contains(needs_escape) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    let mut units = [0; 2];
    for c in json.chars() {
        if needs_escape(c) {
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// The text on one line, with line ends and tabs as spaces and other hidden characters [escaped](escape).
pub fn one_line(text: &str) -> String {
    let parts: Vec<_> = text.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect();
    escape(&parts.join(" ")).into_owned()
}

/// The words of the text with one space between them.
pub fn collapse_spaces(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// The first `max_chars` characters.
pub fn truncate(text: &str, max_chars: usize) -> &str {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// At most `max_chars` characters, the last of them `…` where the text was longer.
pub fn ellipsize(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.chars().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", truncate(text, max_chars.saturating_sub(1))))
}

/// The first digits of a commit id, as git prints them.
pub fn short_commit(id: &str) -> &str {
    truncate(id, 10)
}

/// A number and its noun: `1 review`, `2 reviews`, `3 counter-patches`, `0 replies`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("{number} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// Bytes as lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Up to three similar names, closest first.
pub fn near_names<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<_> = known
        .map(|name| (strsim::levenshtein(given, name), name))
        .filter(|(edits, name)| *edits <= 2.max(name.len() / 4))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
