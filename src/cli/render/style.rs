//! Words that stand for something, with a sign and a colour each: never a colour alone.

use super::Cell;
use anstyle::{AnsiColor, Color, Style};

const fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}

pub(in crate::cli) const PLAIN: Style = Style::new();
pub(in crate::cli) const BOLD: Style = Style::new().bold();
pub(in crate::cli) const DIM: Style = Style::new().dimmed();
pub(in crate::cli) const GOOD: Style = colour(AnsiColor::Green);
pub(in crate::cli) const BAD: Style = colour(AnsiColor::Red);
pub(in crate::cli) const CARE: Style = colour(AnsiColor::Yellow);
pub(in crate::cli) const BUSY: Style = colour(AnsiColor::Cyan);

/// The text in its style; [`crate::cli::terminal::write`] takes the colours out again where nobody sees them.
pub(in crate::cli) fn paint(style: Style, text: &str) -> String {
    if style == PLAIN || text.is_empty() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// A status of a review.
pub(in crate::cli) fn status(word: &str) -> Cell {
    let (sign, style) = match word {
        "pending" => ("○", PLAIN),
        "claimed" | "in_review" => ("◐", BUSY),
        "changes_requested" => ("▲", CARE),
        "approved" => ("✓", GOOD),
        "rejected" => ("✗", BAD),
        "cancelled" => ("⊘", DIM),
        "closed" => ("●", DIM),
        _ => ("?", PLAIN),
    };
    signed(sign, word, style)
}

/// How grave an issue is.
pub(in crate::cli) fn severity(word: &str) -> Cell {
    let (sign, style) = match word {
        "critical" => ("■", BAD.bold()),
        "high" => ("▲", BAD),
        "medium" => ("●", CARE),
        "low" => ("○", DIM),
        _ => ("?", PLAIN),
    };
    signed(sign, word, style)
}

/// What a seat has said, or that it has said nothing.
pub(in crate::cli) fn verdict(word: Option<&str>) -> Cell {
    match word {
        Some("approved") => signed("✓", "approved", GOOD),
        Some("changes_requested") => signed("▲", "changes_requested", CARE),
        Some("rejected") => signed("✗", "rejected", BAD),
        Some("comment") => signed("·", "comment", PLAIN),
        Some(other) => signed("?", other, PLAIN),
        None => signed("◌", "no vote yet", DIM),
    }
}

/// What has become of an issue.
pub(in crate::cli) fn issue_status(word: &str) -> Cell {
    let style = match word {
        "open" => CARE,
        "fixed" => GOOD,
        _ => DIM,
    };
    let word = if word == "wont_fix" { "won't fix".to_owned() } else { spaced(word) };
    Cell::styled(word, style)
}

/// `changes_requested` as people write it.
pub(in crate::cli) fn spaced(word: &str) -> String {
    super::one_line(word).replace('_', " ")
}

fn signed(sign: &str, word: &str, style: Style) -> Cell {
    Cell::styled(format!("{sign} {}", spaced(word)), style)
}
