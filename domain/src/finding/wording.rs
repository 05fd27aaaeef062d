//! Text as it is compared, and as it is repeated.

/// Characters of foreign text that a sentence of ours repeats.
const SHOWN: usize = 80;

/// Without the white space around it, and with one space where there was any amount.
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

/// Foreign text within a sentence of ours: short, on one line, and with nothing in it that does not show.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
