//! The terminal, or whatever stands in its place: how wide it is, whether it shows colours, whether anybody reads.

use super::Failure;
use anstream::AutoStream;
use domain::text::escape_json;
use std::io::{self, IsTerminal as _, Write as _};

/// Narrower than this nothing can be read, so nothing is made to fit.
const NARROWEST: usize = 20;

/// Whoever read our output has gone: `countersign list | head -1`. No reason to complain.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output")]
pub(super) struct OutputClosed;

/// Columns of the terminal, or what COLUMNS says. `None`: a file or a pipe, which takes lines of any length.
pub(super) fn width() -> Option<usize> {
    if cfg!(test) {
        return None;
    }
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let seen = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    told.or_else(seen).filter(|width| *width >= NARROWEST)
}

/// Whether somebody watches who can be shown something that moves.
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person sits there who can be asked.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Writes to stdout. Colours are left out where nobody sees them (NO_COLOR, CLICOLOR, a pipe).
pub(super) fn write(text: &str) -> Result<(), Failure> {
    let mut out = AutoStream::auto(io::stdout().lock());
    read(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// JSON, in which nothing acts on the screen.
pub(super) fn write_json(text: &str) -> Result<(), Failure> {
    write_raw(escape_json(text).as_bytes())
}

/// Writes bytes as they are, for other programs.
pub(super) fn write_raw(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    read(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Whether stdout is a terminal, which acts on what is written to it.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A remark beside the data. A terminal that takes none is no reason to fail.
pub(super) fn remark(text: &str) {
    let _ = writeln!(AutoStream::auto(io::stderr().lock()), "{text}");
}

fn read(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        other => Ok(other?),
    }
}
