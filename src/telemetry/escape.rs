//! Log writers that escape hidden characters.

use std::fmt;
use std::io;

use domain::text::{escape, escape_json};
use tracing_subscriber::fmt::MakeWriter;

/// Escapes what is written through it.
pub(super) struct EscapeText<'a, W>(pub(super) &'a mut W);

impl<W: fmt::Write> fmt::Write for EscapeText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(&escape(text))
    }
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
        self.0.write_all(escape_json(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
