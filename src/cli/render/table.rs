//! Tables that fit: columns as wide as their widest cell, and where the terminal is narrower, clipped cells.

use super::style;
use crate::cli::terminal;
use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What no column is made narrower than, as long as another is wider.
const NARROW: usize = 6;
const GAP: usize = 2;

#[derive(Debug, Clone)]
pub(in crate::cli) struct Cell {
    pub(super) text: String,
    style: Style,
}

impl Cell {
    pub(in crate::cli) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    /// By itself, outside of any table.
    pub(in crate::cli) fn plain(&self) -> &str {
        &self.text
    }

    pub(in crate::cli) fn painted(&self) -> String {
        style::paint(self.style, &self.text)
    }

    /// In so many columns.
    fn shown(&self, width: usize, is_last: bool) -> String {
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

/// A table under its head, indented. What does not fit into the terminal is clipped, the last column first.
pub(in crate::cli) fn table<const N: usize, C: Into<Cell> + Clone>(head: [&str; N], rows: &[[C; N]]) -> String {
    table_in(terminal::width(), head, rows)
}

/// The same for a known width.
pub(super) fn table_in<const N: usize, C: Into<Cell> + Clone>(
    width: Option<usize>,
    head: [&str; N],
    rows: &[[C; N]],
) -> String {
    let head = head.map(|title| Cell::styled(title, style::BOLD));
    let lines: Vec<[Cell; N]> =
        std::iter::once(head).chain(rows.iter().cloned().map(|row| row.map(Into::into))).collect();
    let natural = |column: usize| lines.iter().map(|line| line[column].text.width()).max().unwrap_or_default();
    let mut widths: Vec<usize> = (0..N).map(natural).collect();
    if let Some(width) = width {
        let columns = widths.iter().filter(|width| **width > 0).count();
        shrink(&mut widths, width.saturating_sub(GAP * columns));
    }
    let mut out = String::new();
    for line in &lines {
        // What stands behind the last cell that says something is nothing but space.
        let last = line.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or_default();
        for (column, cell) in line.iter().enumerate().take(last + 1).filter(|(column, _)| widths[*column] > 0) {
            out.push_str(&" ".repeat(GAP));
            out.push_str(&cell.shown(widths[column], column == last));
        }
        out.push('\n');
    }
    out
}

/// Takes from the last column first, then again and again from the widest.
fn shrink(widths: &mut [usize], room: usize) {
    let excess = |widths: &[usize]| widths.iter().sum::<usize>().saturating_sub(room);
    let over = excess(widths);
    if let Some(last) = widths.last_mut() {
        *last -= over.min(last.saturating_sub(4 * NARROW));
    }
    while excess(widths) > 0 {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROW) else { return };
        *widest -= 1;
    }
}

/// At most so many columns; wide characters take two.
pub(in crate::cli) fn fitted(text: &str, columns: usize) -> String {
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

/// Lines of at most `width` columns, broken between words where that is possible.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut is_fresh = true;
    for word in text.split(' ') {
        let mut word = word;
        let used = lines.last().map_or(0, |line| line.width());
        if !is_fresh && used + 1 + word.width() > width {
            lines.push(String::new());
        } else if !is_fresh {
            push(&mut lines, " ");
        }
        is_fresh = false;
        while word.width() > width {
            let cut = cut_at(word, width);
            push(&mut lines, &word[..cut]);
            lines.push(String::new());
            word = &word[cut..];
        }
        push(&mut lines, word);
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// Bytes of the first `columns` columns, and at least one character.
fn cut_at(word: &str, columns: usize) -> usize {
    let mut used = 0;
    let cut = word.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or_default();
        used > columns
    });
    let first = word.chars().next().map_or(0, char::len_utf8);
    cut.map_or(word.len(), |(at, _)| at.max(first))
}

#[cfg(test)]
mod tests {
    use super::{fitted, table_in, wrapped};
    use unicode_width::UnicodeWidthStr as _;

    fn plain(width: Option<usize>, rows: &[[&str; 3]]) -> String {
        anstream::adapter::strip_str(&table_in(width, ["ID", "WHO", "TITLE"], rows)).to_string()
    }

    #[test]
    fn columns_stand_under_each_other() {
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
        let long = "a sentence that goes on for longer than anybody wants to read it";
        let table = plain(Some(50), &[["R-1", "somebody", long]]);
        assert!(table.lines().all(|line| line.width() <= 50), "{table}");
        assert!(table.contains("R-1  somebody  a sentence") && table.contains('…'), "{table}");
        let narrow = plain(Some(30), &[["R-1", "somebody with a long name", long]]);
        assert!(narrow.lines().all(|line| line.width() <= 30), "{narrow}");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh x", 4), ["abcd", "efgh", "x"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("  - a list", 8), ["  - a", "list"]);
    }
}
