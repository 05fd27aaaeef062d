//! Renders answers of the broker as text: tables, styled words, short times. Untrusted text is escaped.

pub(crate) mod gate;
pub(crate) mod issue;
pub(crate) mod review;
pub(crate) mod style;
mod table;
mod time;

pub(crate) use table::{Cell, table};
pub(crate) use time::{age, duration, format_age, format_local, format_local_short};

use crate::{
    CliError,
    client::rest::{BrokerArgs, Remote},
    terminal,
};
use api::Operation;
use domain::text::escape;
pub(crate) use domain::text::one_line;
use serde::Serialize;
use serde_json::Value;

/// Writes a response as JSON, or as the text that `render` makes of it.
pub(crate) fn print<T: Serialize>(json: bool, response: &T, render: impl Fn(&T) -> String) -> Result<(), CliError> {
    if json {
        return terminal::write_json(&format!("{:#}\n", serde_json::to_value(response)?));
    }
    terminal::write(&render(response))
}

/// Calls an operation of the running broker and writes its response.
pub(crate) async fn execute_and_print<O: Operation>(
    at: BrokerArgs,
    request: &O::Request,
    render: impl Fn(&O::Response) -> String,
) -> Result<(), CliError> {
    let json = at.json;
    print(json, &Remote::find(at).await?.execute::<O>(request).await?, render)
}

/// The line that tells how to read the next page of a list.
pub(crate) fn next_page(cursor: Option<&str>) -> String {
    cursor.map(|cursor| format!("there are more: --cursor {}\n", escape(cursor))).unwrap_or_default()
}

/// BrokerArgs most `max_columns` wide, with control characters escaped.
pub(crate) fn clipped(text: &str, max_columns: usize) -> String {
    table::fitted(&escape(text), max_columns)
}

/// A text of several lines, indented, wrapped at the width of the terminal, with control characters escaped.
pub(crate) fn indented(text: &str, indent: usize) -> String {
    let room = terminal::width().map_or(usize::MAX, |width| width.saturating_sub(indent).max(10));
    let lines = text.trim_end().lines().map(|line| escape(&line.replace('\t', "    ")).into_owned());
    let lines = lines.flat_map(|line| table::wrapped(&line, room));
    let mut out = String::new();
    for line in lines {
        let line = format!("{}{line}", " ".repeat(indent));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

pub(crate) fn rows<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn strings<'a>(of: &'a Value, key: &str) -> Vec<&'a str> {
    rows(of, key).iter().filter_map(Value::as_str).collect()
}

pub(crate) fn text(of: &Value, key: &str) -> String {
    of[key].as_str().map(|text| escape(text).to_string()).unwrap_or_default()
}

pub(crate) fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_default()
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
