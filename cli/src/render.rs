//! Formats the broker's answers for the terminal: tables, colours, short durations. Untrusted text is escaped.

pub(crate) mod gate;
pub(crate) mod issue;
pub(crate) mod review;
pub(crate) mod style;
mod table;
mod time;

pub(crate) use table::{Cell, table, table_with_text};
pub(crate) use time::{duration, format_age, format_local, format_local_short};

use crate::{CliError, client::Client, terminal};
use api::Operation;
use domain::text::escape;
pub(crate) use domain::text::one_line;
use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

/// A text is not wrapped narrower than this.
const MIN_TEXT_COLUMNS: usize = 10;

/// Writes a response as JSON, or as the text that `render` makes of it.
pub(crate) fn print<T: Serialize>(json: bool, response: &T, render: impl Fn(&T) -> String) -> Result<(), CliError> {
    if json {
        return terminal::write_pretty_json(response);
    }
    terminal::page(&render(response))
}

/// Calls an operation and writes its response. JSON is written as the broker sent it.
pub(crate) async fn execute_and_print<O: Operation>(
    client: &Client,
    request: &O::Request,
    render: impl Fn(&O::Response) -> String,
) -> Result<(), CliError> {
    if client.json {
        let response = terminal::show_progress(O::ID.name(), client.execute_quietly::<O, Value>(request)).await?;
        return terminal::write_pretty_json(&response);
    }
    terminal::page(&render(&client.execute::<O>(request).await?))
}

/// Says that a list is cut, of how many rows, and how to go on. Empty if it is whole.
pub(crate) fn cut_note(shown: usize, total: Option<u64>, cursor: Option<&str>) -> String {
    let Some(cursor) = cursor else { return String::new() };
    let shown = match total {
        Some(total) => format!("{shown} of {total}"),
        None => format!("the first {shown}"),
    };
    format!("shows {shown}; -n N shows more, --cursor {} continues\n", escape(cursor))
}

/// The line that tells how to read the next page of a list.
pub(crate) fn next_page(cursor: Option<&str>) -> String {
    cursor.map(|cursor| format!("there are more: --cursor {}\n", escape(cursor))).unwrap_or_default()
}

/// At most `max_columns` wide, with control characters escaped.
pub(crate) fn clipped(text: &str, max_columns: usize) -> String {
    table::fitted(&escape(text), max_columns)
}

/// A text after `head`, wrapped at the width of the terminal. Further lines begin with `indent`. Nothing is escaped.
pub(crate) fn hanging(head: &str, indent: &str, text: &str) -> String {
    let columns = head.width().max(indent.width());
    let room = terminal::width().map_or(usize::MAX, |width| width.saturating_sub(columns).max(MIN_TEXT_COLUMNS));
    let parts = table::wrapped(text, room);
    let mut out = String::new();
    for (n, part) in parts.iter().enumerate() {
        let before = if n == 0 { head } else { indent };
        out.push_str(format!("{before}{part}").trim_end());
        out.push('\n');
    }
    out
}

/// A text of several lines, indented, wrapped at the width of the terminal, with control characters escaped.
pub(crate) fn indented(text: &str, indent: usize) -> String {
    let room = terminal::width().map_or(usize::MAX, |width| width.saturating_sub(indent).max(MIN_TEXT_COLUMNS));
    let mut out = String::new();
    for line in text.trim_end().lines() {
        for part in table::wrapped(&escape(&line.replace('\t', "    ")), room) {
            out.push_str(format!("{}{part}", " ".repeat(indent)).trim_end());
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{clipped, indented};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(clipped("a\u{1b}bc", 4), "a\\u…");
        assert_eq!(indented("one\n\ttwo\u{1b}[2J\n\n", 2), "  one\n      two\\u{1b}[2J\n");
    }
}
