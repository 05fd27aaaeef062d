//! Styles of statuses, severities and verdicts. Each has a symbol beside its colour.

use super::Cell;
use anstyle::{AnsiColor, Color, Style};

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = colour(AnsiColor::Green);
pub(crate) const BAD: Style = colour(AnsiColor::Red);
pub(crate) const CARE: Style = colour(AnsiColor::Yellow);
pub(crate) const BUSY: Style = colour(AnsiColor::Cyan);

/// The text with ANSI colours. `terminal::write` removes them if the output does not support colours.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if style == PLAIN || text.is_empty() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// The status of a review.
pub(crate) fn status(word: &str) -> Cell {
    let (symbol, style) = match word {
        "pending" => ("○", PLAIN),
        "claimed" | "in_review" => ("◐", BUSY),
        "changes_requested" => ("▲", CARE),
        "approved" => ("✓", GOOD),
        "rejected" => ("✗", BAD),
        "cancelled" => ("⊘", DIM),
        "closed" => ("●", DIM),
        _ => ("?", PLAIN),
    };
    with_symbol(symbol, word, style)
}

/// The severity of an issue.
pub(crate) fn severity(word: &str) -> Cell {
    let (symbol, style) = match word {
        "critical" => ("■", BAD.bold()),
        "high" => ("▲", BAD),
        "medium" => ("●", CARE),
        "low" => ("○", DIM),
        _ => ("?", PLAIN),
    };
    with_symbol(symbol, word, style)
}

/// The verdict of a seat, or "no vote yet".
pub(crate) fn verdict(word: Option<&str>) -> Cell {
    match word {
        Some("approved") => with_symbol("✓", "approved", GOOD),
        Some("changes_requested") => with_symbol("▲", "changes_requested", CARE),
        Some("rejected") => with_symbol("✗", "rejected", BAD),
        Some("comment") => with_symbol("·", "comment", PLAIN),
        Some(other) => with_symbol("?", other, PLAIN),
        None => with_symbol("◌", "no vote yet", DIM),
    }
}

/// The status of an issue.
pub(crate) fn issue_status(word: &str) -> Cell {
    let style = match word {
        "open" => CARE,
        "fixed" => GOOD,
        _ => DIM,
    };
    let word = if word == "wont_fix" { "won't fix".to_owned() } else { spaced(word) };
    Cell::styled(word, style)
}

/// Replaces underscores by spaces: `changes requested`.
pub(crate) fn spaced(word: &str) -> String {
    super::one_line(word).replace('_', " ")
}

fn with_symbol(symbol: &str, word: &str, style: Style) -> Cell {
    Cell::styled(format!("{symbol} {}", spaced(word)), style)
}
