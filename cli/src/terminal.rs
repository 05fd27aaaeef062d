//! Writes text to stdout and stderr for all commands: handles the terminal width, colours, closed pipes and a spinner
//! for long calls.

use crate::{CliError, pager, render::style};
use anstream::{AutoStream, adapter::strip_str};
use domain::text::escape_json;
use serde::Serialize;
use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write as _},
    pin::Pin,
    time::Duration,
};
use tokio::time::{Instant, interval_at};

/// Output is not fitted to a narrower terminal.
const MIN_WIDTH: usize = 20;

/// A spinner appears after this time, on terminals only.
const SHOW_AFTER: Duration = Duration::from_secs(1);
const FRAME_INTERVAL: Duration = Duration::from_millis(120);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The reader of stdout has closed it, as in `countersign list | head -1`. The program ends silently.
#[derive(Debug, thiserror::Error)]
#[error("stdout is closed")]
pub(crate) struct OutputClosed;

/// The width of the terminal, or COLUMNS. `None` for a file or a pipe, which take lines of any length.
pub(crate) fn width() -> Option<usize> {
    if cfg!(test) {
        return None;
    }
    let from_env = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let from_terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    from_env.or_else(from_terminal).filter(|width| *width >= MIN_WIDTH)
}

/// The height of the terminal; `None` for a file or a pipe.
pub(crate) fn rows() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(_, height)| usize::from(height.0))
}

/// Whether the user can be asked questions.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Writes to stdout. Colours are removed for NO_COLOR, CLICOLOR=0 and pipes.
pub(crate) fn write(text: &str) -> Result<(), CliError> {
    let mut out = AutoStream::auto(io::stdout().lock());
    check_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Shows a text that may be long: with the pager if it does not fit on the terminal, else like [`write`].
pub(crate) fn page(text: &str) -> Result<(), CliError> {
    let is_plain = AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
    let text: Cow<'_, str> = if is_plain { strip_str(text).to_string().into() } else { text.into() };
    if pager::show(&text) { Ok(()) } else { write(&text) }
}

/// Writes JSON to stdout, with control characters escaped.
pub(crate) fn write_json(text: &str) -> Result<(), CliError> {
    write_raw(escape_json(text).as_bytes())
}

/// Writes a value to stdout as indented JSON.
pub(crate) fn write_pretty_json(value: &impl Serialize) -> Result<(), CliError> {
    write_json(&format!("{:#}\n", serde_json::to_value(value)?))
}

/// Writes bytes to stdout unchanged, for other programs.
pub(crate) fn write_raw(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    check_pipe(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Whether stdout is a terminal, which interprets control characters.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes a line to stderr, ignoring errors.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(AutoStream::auto(io::stderr().lock()), "{text}");
}

fn check_pipe(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        other => Ok(other?),
    }
}

/// Awaits `work` and shows `what` beside a spinner if that takes long.
pub(crate) async fn show_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    show_boxed_progress(what, Box::pin(work)).await
}

/// Boxed, so that it is compiled once for each kind of result and not for each call.
async fn show_boxed_progress<T>(what: &str, mut work: Pin<Box<dyn Future<Output = T> + '_>>) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    let start = Instant::now();
    let mut frames = interval_at(start + SHOW_AFTER, FRAME_INTERVAL);
    let mut shown = 0;
    loop {
        tokio::select! {
            done = &mut work => {
                if shown > 0 {
                    draw("\r\u{1b}[2K");
                }
                return done;
            }
            _ = frames.tick() => {
                let frame = style::paint(style::BUSY, FRAMES[shown % FRAMES.len()]);
                draw(&format!("\r\u{1b}[2K{frame} {what} ({}s)", start.elapsed().as_secs()));
                shown += 1;
            }
        }
    }
}

fn draw(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
