//! The state of the `countersign top` screen and how keys change it. It does not draw and does not call the broker.
#![expect(clippy::wildcard_enum_match_arm, reason = "most keys have no function")]

use super::BrokerState;
use crate::{CliError, render::one_line};
use api::{events::Event, reviewer_pool::Reviewer};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use domain::text::escape;
use std::collections::VecDeque;

/// Events kept for scrolling back.
const MAX_EVENTS: usize = 500;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    Reviews,
    Reviewers,
    Events,
    Actors,
}

impl Pane {
    pub(super) const ALL: [Self; 4] = [Self::Reviews, Self::Reviewers, Self::Events, Self::Actors];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Reviews => "Reviews",
            Self::Reviewers => "Reviewers",
            Self::Events => "Events",
            Self::Actors => "Actors",
        }
    }
}

/// What the keys do at the moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Browse,
    Help,
    /// A review in full, with its diff.
    Detail {
        shown: ShownContent,
        lines: Vec<String>,
        first: usize,
    },
    /// Actions with consequences need a confirmation.
    Confirm {
        question: String,
        action: Action,
    },
    Compose {
        purpose: Purpose,
        text: String,
    },
}

/// A review, and the content of it that the user has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownContent {
    pub review: String,
    pub content_hash: String,
}

/// What a text is written for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A comment on this review.
    Comment(String),
    /// The reason of a verdict about what the user has seen.
    RequestChanges(ShownContent),
}

impl Purpose {
    pub(super) fn review(&self) -> &str {
        match self {
            Self::Comment(review) | Self::RequestChanges(ShownContent { review, .. }) => review,
        }
    }
}

/// An action for the caller of [`App::on_key`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Fetch the state again.
    Refresh,
    Open(String),
    Approve(ShownContent),
    /// Begin a text, or continue one that was kept.
    Compose(Purpose),
    Send(Purpose, String),
    /// Keep a text that was not sent.
    Keep(String),
    Kill(String),
}

#[derive(Debug, Default)]
pub(super) struct App {
    pub state: BrokerState,
    pub events: VecDeque<Event>,
    pub pane: Pane,
    /// The selected line of each pane.
    selected: [usize; Pane::ALL.len()],
    pub mode: Mode,
    /// The result of the last action, or why the broker does not answer.
    pub message: String,
    pub is_disconnected: bool,
}

impl App {
    pub(super) fn new(state: BrokerState) -> Self {
        Self { state, ..Self::default() }
    }

    pub(super) fn update(&mut self, state: BrokerState) {
        self.state = state;
        self.is_disconnected = false;
    }

    /// Keeps the newest event first.
    pub(super) fn add_events(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.events.push_front(event);
        }
        self.events.truncate(MAX_EVENTS);
    }

    pub(super) fn show_result(&mut self, done: Result<Option<String>, CliError>) {
        match done {
            Ok(Some(message)) => self.message = message,
            Ok(None) if self.is_disconnected => self.message.clear(),
            Ok(None) => {}
            Err(failure) => {
                self.is_disconnected = failure.is_retryable();
                self.message = one_line(&format!("{:#}", failure.error));
            }
        }
    }

    pub(super) fn open(&mut self, shown: ShownContent, text: &str) {
        let lines = text.lines().map(|line| escape(line).into_owned()).collect();
        self.mode = Mode::Detail { shown, lines, first: 0 };
    }

    pub(super) fn reviewers(&self) -> &[Reviewer] {
        self.state.pool.as_ref().map_or(&[], |pool| &pool.reviewers)
    }

    fn length(&self, pane: Pane) -> usize {
        match pane {
            Pane::Reviews => self.state.reviews.len(),
            Pane::Reviewers => self.reviewers().len(),
            Pane::Events => self.events.len(),
            Pane::Actors => self.state.actors.len(),
        }
    }

    /// The selected line, within the current length of the pane.
    pub(super) fn selected(&self, pane: Pane) -> usize {
        self.selected[pane as usize].min(self.length(pane).saturating_sub(1))
    }

    /// The selected review, or the review of the selected event.
    fn review(&self) -> Option<String> {
        let selected = self.selected(self.pane);
        let number = match self.pane {
            Pane::Reviews => self.state.reviews.get(selected).map(|review| review.head.number),
            Pane::Events => self.events.get(selected).and_then(|event| event.number),
            Pane::Reviewers | Pane::Actors => None,
        };
        number.map(|number| number.to_string())
    }

    fn reviewer(&self) -> Option<String> {
        let selected = self.reviewers().get(self.selected(Pane::Reviewers));
        selected.filter(|_| self.pane == Pane::Reviewers).map(|reviewer| reviewer.reviewer_id.clone())
    }

    pub(super) fn on_key(&mut self, key: KeyEvent) -> Option<Action> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Action::Quit);
        }
        match std::mem::take(&mut self.mode) {
            Mode::Browse => self.browse(key.code),
            Mode::Help => None,
            Mode::Detail { shown, lines, first } => self.detail(key.code, shown, lines, first),
            Mode::Confirm { action, .. } => match key.code {
                KeyCode::Char('y' | 'Y') => Some(action),
                _ => {
                    self.message = "not confirmed".to_owned();
                    None
                }
            },
            Mode::Compose { purpose, text } => self.compose(key.code, purpose, text),
        }
    }

    fn browse(&mut self, key: KeyCode) -> Option<Action> {
        self.message.clear();
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Action::Quit),
            KeyCode::Char('?') | KeyCode::Char('h') => self.mode = Mode::Help,
            KeyCode::Char('j') | KeyCode::Down => self.select(self.selected(self.pane) + 1),
            KeyCode::Char('k') | KeyCode::Up => self.select(self.selected(self.pane).saturating_sub(1)),
            KeyCode::Char('g') | KeyCode::Home => self.select(0),
            KeyCode::Char('G') | KeyCode::End => self.select(usize::MAX),
            KeyCode::Tab => self.switch_pane(1),
            KeyCode::BackTab => self.switch_pane(Pane::ALL.len() - 1),
            KeyCode::Char('r') => return Some(Action::Refresh),
            // A verdict is given beside the diff.
            KeyCode::Enter | KeyCode::Char('o' | 'a' | 'x') => return self.with_review(Action::Open),
            KeyCode::Char('c') => {
                return self.with_review(|review| Action::Compose(Purpose::Comment(review)));
            }
            KeyCode::Char('K') => match self.reviewer() {
                Some(reviewer) => self.mode = confirm(Action::Kill(reviewer)),
                None => self.message = "select a reviewer first (Tab)".to_owned(),
            },
            _ => {}
        }
        None
    }

    fn with_review(&mut self, action: impl Fn(String) -> Action) -> Option<Action> {
        let review = self.review();
        if review.is_none() {
            self.message = "select a review first (Tab)".to_owned();
        }
        review.map(action)
    }

    fn select(&mut self, line: usize) {
        self.selected[self.pane as usize] = line.min(self.length(self.pane).saturating_sub(1));
    }

    fn switch_pane(&mut self, steps: usize) {
        self.pane = Pane::ALL[(self.pane as usize + steps) % Pane::ALL.len()];
    }

    fn detail(&mut self, key: KeyCode, shown: ShownContent, lines: Vec<String>, first: usize) -> Option<Action> {
        let last = lines.len().saturating_sub(1);
        let first = match key {
            KeyCode::Char('a') => {
                self.mode = confirm(Action::Approve(shown));
                return None;
            }
            KeyCode::Char('x') => return Some(Action::Compose(Purpose::RequestChanges(shown))),
            KeyCode::Char('c') => return Some(Action::Compose(Purpose::Comment(shown.review))),
            KeyCode::Char('j') | KeyCode::Down => first + 1,
            KeyCode::Char('k') | KeyCode::Up => first.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => first + 20,
            KeyCode::PageUp => first.saturating_sub(20),
            KeyCode::Char('g') | KeyCode::Home => 0,
            KeyCode::Char('G') | KeyCode::End => last,
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Enter => return None,
            _ => first,
        };
        self.mode = Mode::Detail { shown, lines, first: first.min(last) };
        None
    }

    fn compose(&mut self, key: KeyCode, purpose: Purpose, mut text: String) -> Option<Action> {
        match key {
            KeyCode::Esc => return Some(Action::Keep(text)),
            KeyCode::Enter if text.trim().is_empty() => return None,
            KeyCode::Enter => return Some(Action::Send(purpose, text)),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(c) => text.push(c),
            _ => {}
        }
        self.mode = Mode::Compose { purpose, text };
        None
    }
}

fn confirm(action: Action) -> Mode {
    let question = match &action {
        Action::Approve(shown) => format!("Approve {}?", shown.review),
        Action::Kill(reviewer) => format!("Stop {reviewer}? Its reviews go back to the queue."),
        Action::Quit | Action::Refresh | Action::Open(_) | Action::Compose(_) | Action::Send(..) | Action::Keep(_) => {
            String::new()
        }
    };
    Mode::Confirm { question: format!("{question} y/n"), action }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
