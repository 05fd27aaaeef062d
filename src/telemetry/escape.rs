//! Characters that act on the reader's screen instead of standing on it, made visible.

use std::borrow::Cow;
use std::fmt;
use std::io;

use tracing_subscriber::fmt::MakeWriter;

/// Control characters, line separators, bidi marks and overrides, and the invisible tag characters
/// in which text can be hidden from people but not from models.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with every [hidden](is_hidden) character written as an escape: `\n`, `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(escaped(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Short where there is a short form: `\n`, `\t`, `\r`.
fn escaped(c: char) -> impl Iterator<Item = char> {
    let (short, long) = match c {
        '\n' | '\r' | '\t' => (Some(c.escape_default()), None),
        _ => (None, Some(c.escape_unicode())),
    };
    short.into_iter().flatten().chain(long.into_iter().flatten())
}

/// Escapes what is written through it.
pub(super) struct EscapeText<'a, W>(pub(super) &'a mut W);

impl<W: fmt::Write> fmt::Write for EscapeText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(&visible(text))
    }
}

/// JSON with `\u202e` for what JSON itself would let through. Hidden characters other than the line end can only stand
/// inside strings, where this escape means the same.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && is_hidden(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for c in text.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Lines of JSON with nothing hidden in them.
pub(super) struct JsonWriter<W>(W);

impl<W> JsonWriter<W> {
    pub(super) fn over(writer: W) -> Self {
        Self(writer)
    }
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for JsonWriter<W> {
    type Writer = JsonLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        JsonLine(self.0.make_writer())
    }
}

pub(super) struct JsonLine<W>(W);

impl<W: io::Write> io::Write for JsonLine<W> {
    /// Called once per event with the whole line, as tracing's formatter does.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible_json(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
