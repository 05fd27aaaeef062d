//! Text helpers for comparing findings and for quoting them in messages.

/// The most characters of a quote in a message.
const SHOWN: usize = 80;

/// Trims the text and replaces every run of white space with one space.
pub(super) fn squeezed(line: &str) -> String {
    let mut squeezed = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    squeezed
}

/// Quotes a text for a message: short, on one line, with control characters escaped.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
