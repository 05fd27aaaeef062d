//! Defines colours and symbols, and renders statuses, severities and verdicts with them.

use super::Cell;
use anstyle::{AnsiColor, Color, Style};
use domain::{
    finding::{FindingStatus, Severity},
    review::Status,
    verdict::Verdict,
};

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
pub(crate) fn status(status: Status) -> Cell {
    let (symbol, style) = match status {
        Status::Pending => ("○", PLAIN),
        Status::Claimed | Status::InReview => ("◐", BUSY),
        Status::ChangesRequested => ("▲", CARE),
        Status::Approved => ("✓", GOOD),
        Status::Rejected => ("✗", BAD),
        Status::Cancelled => ("⊘", DIM),
        Status::Closed => ("●", DIM),
    };
    with_symbol(symbol, status.as_str(), style)
}

/// The severity of an issue.
pub(crate) fn severity(severity: Severity) -> Cell {
    let (symbol, style) = match severity {
        Severity::Critical => ("■", BAD.bold()),
        Severity::High => ("▲", BAD),
        Severity::Medium => ("●", CARE),
        Severity::Low => ("○", DIM),
    };
    with_symbol(symbol, severity.as_str(), style)
}

/// The verdict of a seat, or "no vote yet".
pub(crate) fn verdict(verdict: Option<Verdict>) -> Cell {
    let (symbol, style) = match verdict {
        Some(Verdict::Approved) => ("✓", GOOD),
        Some(Verdict::ChangesRequested) => ("▲", CARE),
        Some(Verdict::Rejected) => ("✗", BAD),
        Some(Verdict::Comment) => ("·", PLAIN),
        None => ("◌", DIM),
    };
    with_symbol(symbol, verdict.map_or("no vote yet", Verdict::as_str), style)
}

/// The status of an issue.
pub(crate) fn issue_status(status: FindingStatus) -> Cell {
    match status {
        FindingStatus::Open => Cell::styled("open", CARE),
        FindingStatus::Fixed => Cell::styled("fixed", GOOD),
        FindingStatus::WontFix => Cell::styled("won't fix", DIM),
        FindingStatus::Duplicate => Cell::styled("duplicate", DIM),
    }
}

/// Replaces underscores by spaces: `changes requested`.
pub(crate) fn spaced(word: &str) -> String {
    super::one_line(word).replace('_', " ")
}

fn with_symbol(symbol: &str, word: &str, style: Style) -> Cell {
    Cell::styled(format!("{symbol} {}", spaced(word)), style)
}
