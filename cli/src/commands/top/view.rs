//! Draws the screen of `countersign top` on the terminal.

use super::app::{App, Mode, Pane, Purpose};
use crate::{
    commands::event_history::event_text,
    render::{clipped, format_age, one_line, review::party, style},
};
use api::{events::Event, review_lists::ReviewRow, reviewer_pool::Reviewer};
use domain::text::count;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style, Stylize as _},
    text::Line,
    widgets::{Block, Clear, List, ListState, Paragraph, Wrap},
};

const KEYS: &str = " Tab pane  j/k move  Enter open  a x verdict  c comment  K stop reviewer  ? help  q quit";

const HELP: &str = "\
Tab, Shift+Tab   next, previous pane
j, k, arrows     move          g, G   first, last
Enter, o         open the review: proposal, discussion, issues, diff
a, x             open it, then approve it (asks first), or request changes
c                comment on it  Esc    close what is open, then quit
K                stop the selected reviewer (asks first)
r                refresh       q      quit

Commands for the same: list, show, respond, comment, reviewer stop, events, actors.";

pub(super) fn draw(app: &App, frame: &mut Frame) {
    let areas = Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)]);
    let [head, body, foot] = areas.areas(frame.area());
    frame.render_widget(Line::from(header(app)).bold(), head);
    match &app.mode {
        Mode::Detail { shown, lines, first } => detail(frame, body, &shown.review, lines, *first),
        Mode::Browse | Mode::Help | Mode::Confirm { .. } | Mode::Compose { .. } => panes(app, frame, body),
    }
    if app.mode == Mode::Help {
        help(frame, body);
    }
    frame.render_widget(Line::from(footer(app)).style(Style::new().add_modifier(Modifier::REVERSED)), foot);
}

fn header(app: &App) -> String {
    let pool = app.state.pool.as_ref().map(|pool| {
        let waiting: u64 = pool.waiting.iter().map(|project| project.pending).sum();
        format!(" · pool {}, {waiting} waiting", pool.state)
    });
    let pool = pool.unwrap_or_default();
    let seq = app.events.front().map(|event| format!(" · ● {}", event.seq)).unwrap_or_default();
    let live = if app.is_disconnected { " · ○ no broker answers".to_owned() } else { seq };
    format!("countersign · {}{pool}{live}", count(app.state.reviews.len(), "open review"))
}

fn footer(app: &App) -> String {
    match &app.mode {
        Mode::Confirm { question, .. } => format!(" {question}"),
        Mode::Compose { purpose, text } => {
            let what = match purpose {
                Purpose::Comment(review) => format!("comment on {review}"),
                Purpose::RequestChanges(shown) => format!("request changes to {}, because", shown.review),
            };
            format!(" {what}: {text}▏  Enter sends, Esc keeps it")
        }
        Mode::Detail { .. } => " j/k, Space move  a approve  x request changes  c comment  Esc back".to_owned(),
        Mode::Browse | Mode::Help if !app.message.is_empty() => format!(" {}", app.message),
        Mode::Browse | Mode::Help => KEYS.to_owned(),
    }
}

/// Reviews on the left, reviewers on the right, events below.
fn panes(app: &App, frame: &mut Frame, area: Rect) {
    let [upper, lower] = Layout::vertical([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(area);
    let is_narrow = area.width < 100;
    let (left, right) = if is_narrow { (100, 0) } else { (62, 38) };
    let sides = [Constraint::Percentage(left), Constraint::Percentage(right)];
    let [reviews, reviewers] = Layout::horizontal(sides).areas(upper);
    // A narrow screen has room for one of the upper panes.
    let (first, second) = match (is_narrow, app.pane) {
        (true, Pane::Reviewers) => (Pane::Reviewers, None),
        (true, _) => (Pane::Reviews, None),
        (false, _) => (Pane::Reviews, Some(Pane::Reviewers)),
    };
    pane(app, frame, reviews, first);
    if let Some(second) = second {
        pane(app, frame, reviewers, second);
    }
    pane(app, frame, lower, if app.pane == Pane::Actors { Pane::Actors } else { Pane::Events });
}

fn pane(app: &App, frame: &mut Frame, area: Rect, pane: Pane) {
    let width = usize::from(area.width.saturating_sub(2));
    let lines: Vec<String> = match pane {
        Pane::Reviews => app.state.reviews.iter().map(review).collect(),
        Pane::Reviewers => app.reviewers().iter().map(reviewer).collect(),
        Pane::Events => app.events.iter().map(event).collect(),
        Pane::Actors => app.state.actors.clone(),
    };
    let is_selected = app.pane == pane;
    let border = if is_selected { Style::new().bold() } else { Style::new().dim() };
    let block = Block::bordered().title(pane.title()).border_style(border);
    if lines.is_empty() {
        frame.render_widget(Paragraph::new(empty_text(app, pane)).dim().wrap(Wrap { trim: true }).block(block), area);
        return;
    }
    let marked = if is_selected { Style::new().reversed() } else { Style::new() };
    let list =
        List::new(lines.iter().map(|line| Line::from(clipped(line, width)))).block(block).highlight_style(marked);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(app.selected(pane))));
}

fn empty_text(app: &App, pane: Pane) -> String {
    match pane {
        Pane::Reviews => "No open reviews. `countersign request` submits one.".to_owned(),
        Pane::Reviewers if app.state.pool.is_none() => "Visible to operators only.".to_owned(),
        Pane::Reviewers => {
            let message = app.state.pool.as_ref().and_then(|pool| pool.message.as_deref());
            one_line(message.unwrap_or("No reviewer is running."))
        }
        Pane::Events => "No events yet.".to_owned(),
        Pane::Actors => "Visible to operators only.".to_owned(),
    }
}

fn review(review: &ReviewRow) -> String {
    let status = style::status(review.head.status);
    let (number, round, age) = (review.head.number, review.head.current_round, format_age(review.updated_at));
    let head = format!("{number:<6} {:<20} r{round} {age:>4} ", status.text);
    let turn = review.head.waiting_on.first().map(|turn| format!("[{}] ", clipped(&party(turn), 14)));
    format!("{head}{}{}", turn.unwrap_or_default(), one_line(&review.intent))
}

fn reviewer(reviewer: &Reviewer) -> String {
    let (name, state, held) = (&reviewer.name, &reviewer.state, reviewer.reviews.join(" "));
    let cost = reviewer.cost_usd.map(|cost| format!("  ${cost:.2}")).unwrap_or_default();
    format!("{name:<12} {state:<9} {held:<8} {} done{cost}", reviewer.completed)
}

fn event(event: &Event) -> String {
    let time = event.at.strftime("%H:%M:%S");
    let number = event.number.map(|number| number.to_string()).unwrap_or_default();
    let kind = event.kind();
    let actor = event.actor.as_deref().unwrap_or_default();
    format!("{time} {number:<6} {kind:<22} {actor}  {}", one_line(&event_text(event)))
}

fn detail(frame: &mut Frame, area: Rect, title: &str, lines: &[String], first: usize) {
    let width = usize::from(area.width.saturating_sub(2));
    let shown: Vec<_> = lines.iter().skip(first).map(|line| Line::from(clipped(line, width))).collect();
    frame.render_widget(Paragraph::new(shown).block(Block::bordered().title(title.to_owned())), area);
}

fn help(frame: &mut Frame, area: Rect) {
    let [_, middle, _] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(16), Constraint::Fill(1)]).areas(area);
    let [_, middle, _] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Max(96), Constraint::Fill(1)]).areas(middle);
    frame.render_widget(Clear, middle);
    let text = Paragraph::new(HELP).wrap(Wrap { trim: false });
    frame.render_widget(text.block(Block::bordered().title("Keys")), middle);
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
