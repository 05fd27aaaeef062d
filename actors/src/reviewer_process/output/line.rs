//! One line: put together within a cap, and made fit to be shown.

use std::borrow::Cow;

/// What a buffer may keep of the size that one long line gave it.
const IDLE: usize = 4 * 1024;

/// The line that is being read. What does not fit is only counted.
#[derive(Debug)]
pub(super) struct Line {
    bytes: Vec<u8>,
    cut: u64,
    cap: usize,
}

impl Line {
    pub(super) fn up_to(cap: usize) -> Self {
        Self { bytes: Vec::new(), cut: 0, cap }
    }

    /// Calls `each` for every line that ends in this chunk, with the bytes kept and the number of those cut.
    pub(super) fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8], u64)) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let (kept, rest) = text.split_at(text.len().min(self.cap - self.bytes.len()));
            self.bytes.extend_from_slice(kept);
            self.cut += rest.len() as u64;
            if text.len() < piece.len() {
                self.end(&mut each);
            }
        }
    }

    /// The same for a line that nothing ends.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&[u8], u64)) {
        if !self.bytes.is_empty() {
            self.end(&mut each);
        }
    }

    fn end(&mut self, each: &mut impl FnMut(&[u8], u64)) {
        each(self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes), self.cut);
        self.bytes.clear();
        self.bytes.shrink_to(IDLE);
        self.cut = 0;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

/// The text without the secret; nor with the beginning of one at the place where it was cut.
pub(super) fn redacted<'a>(bytes: &'a [u8], was_cut: bool, secret: Option<&str>) -> Cow<'a, str> {
    let mut text = String::from_utf8_lossy(bytes);
    let Some(secret) = secret else { return text };
    if text.contains(secret) {
        text = Cow::Owned(text.replace(secret, "[token]"));
    }
    if was_cut {
        let begun = secret.char_indices().map(|(at, _)| secret.split_at(at).0).rev();
        let rest = begun.into_iter().find_map(|begun| text.strip_suffix(begun)).map(str::len);
        if let Some(rest) = rest.filter(|rest| *rest < text.len()) {
            text = Cow::Owned(text.split_at(rest).0.to_owned());
        }
    }
    text
}

/// At most `cap` bytes, and no half character.
pub(super) fn cut_to(text: &str, cap: usize) -> &str {
    text.split_at(text.floor_char_boundary(cap)).0
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
