//! Renders tables. A column is as wide as its widest cell; if the terminal is narrower, cells are clipped.

use super::style;
use crate::terminal;
use anstyle::Style;
use std::borrow::Cow;
use textwrap::WordSplitter;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns are not made narrower than this while another one is wider.
const MIN_COLUMN: usize = 6;
const GAP: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Without colours.
    pub(crate) text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    pub(crate) fn painted(&self) -> String {
        style::paint(self.style, &self.text)
    }

    /// Clipped or padded to `width` columns.
    fn render(&self, width: usize, is_last: bool) -> String {
        let text = fitted(&self.text, width);
        let padding = if is_last { 0 } else { width - text.width() };
        style::paint(self.style, &text) + &" ".repeat(padding)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, style::PLAIN)
    }
}

/// An indented table with a header. If it is wider than the terminal, the last column is clipped first.
pub(crate) fn table<const N: usize, C: Into<Cell>>(head: [&str; N], rows: impl IntoIterator<Item = [C; N]>) -> String {
    render_lines(terminal::width(), &lines(head, rows))
}

/// Like [`table`], but the last column is a text that is not clipped: if the table is wider than the terminal, each text
/// is written below its row.
pub(crate) fn table_with_text<const N: usize, C: Into<Cell>>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [C; N]>,
) -> String {
    render_with_text(terminal::width(), lines(head, rows))
}

/// The header and the rows.
fn lines<const N: usize, C: Into<Cell>>(head: [&str; N], rows: impl IntoIterator<Item = [C; N]>) -> Vec<Vec<Cell>> {
    let head = head.map(|title| Cell::styled(title, style::BOLD)).to_vec();
    std::iter::once(head).chain(rows.into_iter().map(|row| row.map(Into::into).to_vec())).collect()
}

fn natural_widths(lines: &[Vec<Cell>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    (0..columns).map(|column| lines.iter().map(|line| line[column].text.width()).max().unwrap_or_default()).collect()
}

fn render_with_text(width: Option<usize>, mut lines: Vec<Vec<Cell>>) -> String {
    let needed: usize = natural_widths(&lines).iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
    let Some(width) = width.filter(|width| *width < needed) else { return render_lines(width, &lines) };
    let texts = lines.iter_mut().map(|line| line.pop().unwrap_or_else(|| "".into()));
    // Its title would stand between the header and the rows.
    let texts: Vec<_> = std::iter::once("".into()).chain(texts.skip(1)).collect();
    let table = render_lines(Some(width), &lines);
    let indent = " ".repeat(2 * GAP);
    let mut out = String::new();
    for (row, text) in table.lines().zip(texts) {
        out.push_str(row);
        out.push('\n');
        let parts = wrapped(&text.text, width.saturating_sub(indent.len()).max(MIN_COLUMN));
        for part in parts.iter().filter(|part| !part.is_empty()) {
            out.push_str(&format!("{indent}{}\n", style::paint(text.style, part)));
        }
    }
    out
}

fn render_lines(width: Option<usize>, lines: &[Vec<Cell>]) -> String {
    let mut widths = natural_widths(lines);
    if let Some(width) = width {
        let columns = widths.iter().filter(|width| **width > 0).count();
        shrink(&mut widths, width.saturating_sub(GAP * columns));
    }
    let mut out = String::new();
    for line in lines {
        // Do not pad after the last cell with text.
        let last = line.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or_default();
        for (column, cell) in line.iter().enumerate().take(last + 1).filter(|(column, _)| widths[*column] > 0) {
            out.push_str(&" ".repeat(GAP));
            out.push_str(&cell.render(widths[column], column == last));
        }
        out.push('\n');
    }
    out
}

/// Shrinks the last column first, then repeatedly the widest.
fn shrink(widths: &mut [usize], room: usize) {
    let excess = |widths: &[usize]| widths.iter().sum::<usize>().saturating_sub(room);
    let over = excess(widths);
    if let Some(last) = widths.last_mut() {
        *last -= over.min(last.saturating_sub(4 * MIN_COLUMN));
    }
    while excess(widths) > 0 {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > MIN_COLUMN) else { return };
        *widest -= 1;
    }
}

/// Clips a text to a number of columns. Wide characters take two.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or_default();
        used < columns
    });
    kept.chain(['…']).collect()
}

/// Wraps a text at `width` columns, between words if possible.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<Cow<'_, str>> {
    textwrap::wrap(text, textwrap::Options::new(width).word_splitter(WordSplitter::NoHyphenation))
}

#[cfg(test)]
mod tests {
    use super::{fitted, lines, render_lines, render_with_text, wrapped};
    use unicode_width::UnicodeWidthStr as _;

    fn plain(width: Option<usize>, rows: &[[&'static str; 3]]) -> String {
        anstream::adapter::strip_str(&render_lines(width, &lines(["ID", "WHO", "TITLE"], rows.iter().copied())))
            .to_string()
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(plain(None, &[["ab", "c", ""], ["d", "", "e"]]), "  ID  WHO  TITLE\n  ab  c\n  d        e\n");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(plain(None, &[["日本", "c", "d"]]), "  ID    WHO  TITLE\n  日本  c    d\n");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 6), "日本語");
    }

    #[test]
    fn a_narrow_terminal_clips_the_last_column_first() {
        let long = "a sentence that is longer than the terminal is wide, for any terminal";
        let table = plain(Some(50), &[["R-1", "reviewer", long]]);
        assert!(table.lines().all(|line| line.width() <= 50), "{table}");
        assert!(table.contains("R-1  reviewer  a sentence") && table.contains('…'), "{table}");
        let narrow = plain(Some(30), &[["R-1", "reviewer with a long name", long]]);
        assert!(narrow.lines().all(|line| line.width() <= 30), "{narrow}");
    }

    #[test]
    fn a_text_that_does_not_fit_is_written_below_its_row() {
        let rows = [["R-1", "ada", "some words"]];
        let on = |width| {
            let table = render_with_text(Some(width), lines(["ID", "WHO", "TITLE"], rows));
            anstream::adapter::strip_str(&table).to_string()
        };
        assert_eq!(on(40), "  ID   WHO  TITLE\n  R-1  ada  some words\n");
        assert_eq!(on(20), "  ID   WHO\n  R-1  ada\n    some words\n");
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh x", 4), ["abcd", "efgh", "x"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("  - a list", 8), ["  - a", "list"]);
    }
}
