//! Answers of the broker as text for people: tables, short times, nothing hidden.

use super::{
    Failure,
    remote::{At, Remote},
};
use crate::telemetry::visible;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;
use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

/// Writes an answer as it came, or as `show` says it.
pub(super) fn print(json: bool, answer: &Value, show: impl Fn(&Value) -> String) -> Result<(), Failure> {
    let text = if json { format!("{answer:#}\n") } else { show(answer) };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Calls a tool of the running broker and writes its answer.
pub(super) async fn ask(at: At, tool: &str, arguments: Value, show: impl Fn(&Value) -> String) -> Result<(), Failure> {
    let json = at.json;
    print(json, &Remote::find(at).await?.call(tool, arguments).await?, show)
}

/// Columns as wide as their widest cell, indented.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let lines: Vec<&[String; N]> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
    }
    out
}

pub(super) fn duration(ms: u64) -> String {
    match ms {
        ..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m {}s", ms / 60_000, ms / 1_000 % 60),
        3_600_000..86_400_000 => format!("{}h {}m", ms / 3_600_000, ms / 60_000 % 60),
        _ => format!("{}d {}h", ms / 86_400_000, ms / 3_600_000 % 24),
    }
}

/// An instant of an answer in the local time of whoever reads it.
pub(super) fn local(of: &Value, key: &str) -> String {
    let Some(at) = of[key].as_str().and_then(|at| at.parse::<Timestamp>().ok()) else { return text(of, key) };
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// At most so many characters, hidden ones written out.
pub(super) fn clipped(text: &str, max_chars: usize) -> String {
    let text = visible(text);
    match text.char_indices().nth(max_chars) {
        None => text.into_owned(),
        Some(_) => text.chars().take(max_chars - 1).chain(['…']).collect(),
    }
}

pub(super) fn rows<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn strings<'a>(of: &'a Value, key: &str) -> Vec<&'a str> {
    rows(of, key).iter().filter_map(Value::as_str).collect()
}

pub(super) fn text(of: &Value, key: &str) -> String {
    of[key].as_str().map(|text| visible(text).to_string()).unwrap_or_default()
}

pub(super) fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{clipped, duration, table};

    #[test]
    fn durations_are_short() {
        let spans = [999, 59_999, 61_500, 3_660_000, 90_000_000].map(duration);
        assert_eq!(spans, ["999ms", "59s", "1m 1s", "1h 1m", "1d 1h"]);
    }

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [["ab".to_owned(), "c".to_owned()], ["d".to_owned(), String::new()]];
        assert_eq!(table(["X", "Y"], &rows), "  X   Y\n  ab  c\n  d\n");
        assert_eq!(clipped("a\u{1b}bc", 4), "a\\u…");
    }
}
