//! Sets up logging: writes `tracing` events as lines to stderr. stdout is reserved for MCP and for data.
//!
//! Log lines contain text written by agents. Control and bidi characters are escaped, so that an event is always one line
//! and cannot move the cursor, change colours or reverse the text direction of a terminal.

mod line_queue;

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry};

use config::{Log, LogFormat};
use domain::text::{escape, escape_json};
use line_queue::{LineQueue, LogThread};

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("log filter {filter:?} (from {origin}): {source}")]
    Filter { filter: String, origin: &'static str, source: ParseError },
    #[error("logging is already set up: {0}")]
    Taken(#[from] TryInitError),
    #[error("cannot start the thread that writes the log: {0}")]
    Thread(#[from] io::Error),
}

/// Sets up logging for this process. `RUST_LOG` takes precedence over `log.filter`. Dropping the result writes the lines
/// that wait.
pub fn init(log: &Log) -> Result<LogThread, TelemetryError> {
    let rust_log = std::env::var("RUST_LOG").ok();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ansi = io::stderr().is_terminal() && !no_color;
    let (lines, thread) = LineQueue::start(|| Box::new(io::stderr()))?;
    subscriber(log, rust_log.as_deref(), ansi, lines)?.try_init()?;
    Ok(thread)
}

fn subscriber<W>(
    log: &Log,
    rust_log: Option<&str>,
    ansi: bool,
    writer: W,
) -> Result<impl Subscriber + Send + Sync + use<W>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, origin) = match rust_log {
        Some(filter) if !filter.trim().is_empty() => (filter, "RUST_LOG"),
        _ => (log.filter.as_str(), "log.filter"),
    };
    let filter = EnvFilter::try_new(filter).map_err(|source| TelemetryError::Filter {
        filter: filter.to_owned(),
        origin,
        source,
    })?;
    // Otherwise a closed stderr is reported on stderr, which panics.
    let lines = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match log.format {
        LogFormat::Text => {
            lines.with_ansi(ansi).fmt_fields(debug_fn(write_field).delimited(" ")).with_writer(writer).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).with_writer(JsonWriter(writer)).boxed(),
    };
    Ok(tracing_subscriber::registry().with(layer).with(filter))
}

fn write_field(
    writer: &mut tracing_subscriber::fmt::format::Writer<'_>,
    field: &tracing::field::Field,
    value: &dyn fmt::Debug,
) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{}=", field.name())?;
    }
    write!(EscapeText(writer), "{value:?}")
}

/// Escapes what is written through it.
struct EscapeText<'a, W>(&'a mut W);

impl<W: fmt::Write> fmt::Write for EscapeText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(&escape(text))
    }
}

/// Lines of JSON with nothing hidden in them.
struct JsonWriter<W>(W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for JsonWriter<W> {
    type Writer = JsonLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        JsonLine(self.0.make_writer())
    }
}

struct JsonLine<W>(W);

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

#[cfg(test)]
#[path = "logging_tests.rs"]
mod tests;
