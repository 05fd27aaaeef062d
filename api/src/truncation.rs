//! Functions that shorten texts and lists in a response, so that no response exceeds its size limit.

use serde::Serialize;

/// Maximum characters of a reason or an error inside a response about something else.
const EXCERPT_CHARS: usize = 8_000;

/// The start of a long text, with a note that says how much is missing.
pub(crate) fn excerpt(text: &str) -> String {
    shorten(text, EXCERPT_CHARS, "")
}

/// Like [`excerpt`], for a text that get_proposal returns in full.
pub(crate) fn paged_excerpt(text: &str) -> String {
    shorten(text, EXCERPT_CHARS, "; get_proposal pages the rest")
}

/// The first `max_chars` characters, and a note with `hint` if there are more.
pub fn shorten(text: &str, max_chars: usize, hint: &str) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}… [{max_chars} of {} characters{hint}]", &text[..end], text.chars().count())
        }
    }
}

/// As many `items` as fit into `max_items` rows and `max_bytes` of JSON.
pub(crate) fn fitting<T: Serialize>(items: impl Iterator<Item = T>, max_items: usize, max_bytes: usize) -> Vec<T> {
    let mut left = max_bytes;
    items
        .take(max_items)
        .take_while(|item| {
            let size = serde_json::to_string(item).map_or(usize::MAX, |text| text.len());
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .collect()
}
