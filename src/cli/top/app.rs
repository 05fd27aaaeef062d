//! What is on the screen, and what each key means. Nothing here asks or draws.
#![expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has more keys than we give a meaning to")]

use super::data::BrokerState;
use crate::cli::{
    Failure,
    render::{one_line, rows, text},
};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use domain::text::escape;
use serde_json::Value;
use std::collections::VecDeque;

/// Events that are kept for whoever scrolls back.
const KEPT: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
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

/// What the keys are for just now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    Help,
    /// A review in full.
    Detail {
        title: String,
        lines: Vec<String>,
        first: usize,
    },
    /// No single key decides anything.
    Confirm {
        question: String,
        act: Action,
    },
    Compose {
        review: String,
        text: String,
    },
}

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Ask the broker again.
    Refresh,
    Open(String),
    Approve(String),
    Comment(String, String),
    Kill(String),
}

#[derive(Debug)]
pub(super) struct App {
    pub seen: BrokerState,
    pub events: VecDeque<Value>,
    pub pane: Pane,
    /// Which line of each pane is chosen.
    chosen: [usize; Pane::ALL.len()],
    pub mode: Mode,
    /// What the last act came to, or why the broker does not answer.
    pub words: String,
    cut_off: bool,
}

impl App {
    pub(super) fn new(seen: BrokerState) -> Self {
        let (events, chosen) = (VecDeque::new(), [0; Pane::ALL.len()]);
        Self { seen, events, pane: Pane::Reviews, chosen, mode: Mode::Browse, words: String::new(), cut_off: false }
    }

    pub(super) fn take(&mut self, seen: BrokerState) {
        self.seen = seen;
        self.cut_off = false;
    }

    /// The newest first.
    pub(super) fn hear(&mut self, events: impl Iterator<Item = Value>) {
        for event in events {
            self.events.push_front(event);
        }
        self.events.truncate(KEPT);
    }

    pub(super) fn note(&mut self, done: Result<Option<String>, Failure>) {
        match done {
            Ok(Some(words)) => self.words = words,
            Ok(None) if self.cut_off => self.words.clear(),
            Ok(None) => {}
            Err(failure) => {
                self.cut_off = failure.is_passing();
                self.words = one_line(&format!("{:#}", failure.error));
            }
        }
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    pub(super) fn open(&mut self, review: &str, text: &str) {
        let lines = text.lines().map(|line| escape(line).into_owned()).collect();
        self.mode = Mode::Detail { title: review.to_owned(), lines, first: 0 };
    }

    pub(super) fn reviewers(&self) -> &[Value] {
        rows(&self.seen.pool, "reviewers")
    }

    fn length(&self, pane: Pane) -> usize {
        match pane {
            Pane::Reviews => self.seen.reviews.len(),
            Pane::Reviewers => self.reviewers().len(),
            Pane::Events => self.events.len(),
            Pane::Actors => self.seen.actors.lines().count(),
        }
    }

    /// The chosen line, which may be gone since.
    pub(super) fn chosen(&self, pane: Pane) -> usize {
        self.chosen[pane as usize].min(self.length(pane).saturating_sub(1))
    }

    /// The review that is meant: the chosen one, or the one that the chosen event is of.
    fn review(&self) -> Option<String> {
        let row = match self.pane {
            Pane::Reviews => self.seen.reviews.get(self.chosen(Pane::Reviews)),
            Pane::Events => self.events.get(self.chosen(Pane::Events)),
            Pane::Reviewers | Pane::Actors => None,
        };
        row.map(|row| text(row, "number")).filter(|number| !number.is_empty())
    }

    fn reviewer(&self) -> Option<String> {
        let row = (self.pane == Pane::Reviewers).then(|| self.reviewers().get(self.chosen(Pane::Reviewers)))?;
        row.map(|row| text(row, "reviewer_id"))
    }

    pub(super) fn on_key(&mut self, key: KeyEvent) -> Option<Action> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Action::Quit);
        }
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Browse => self.watching(key.code),
            Mode::Help => None,
            Mode::Detail { title, lines, first } => self.reading(key.code, title, lines, first),
            Mode::Confirm { act, .. } => match key.code {
                KeyCode::Char('y' | 'Y') => Some(act),
                _ => {
                    self.words = "left as it was".to_owned();
                    None
                }
            },
            Mode::Compose { review, text } => self.writing(key.code, review, text),
        }
    }

    fn watching(&mut self, key: KeyCode) -> Option<Action> {
        self.words.clear();
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Action::Quit),
            KeyCode::Char('?') | KeyCode::Char('h') => self.mode = Mode::Help,
            KeyCode::Char('j') | KeyCode::Down => self.choose(self.chosen(self.pane) + 1),
            KeyCode::Char('k') | KeyCode::Up => self.choose(self.chosen(self.pane).saturating_sub(1)),
            KeyCode::Char('g') | KeyCode::Home => self.choose(0),
            KeyCode::Char('G') | KeyCode::End => self.choose(usize::MAX),
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(Pane::ALL.len() - 1),
            KeyCode::Char('r') => return Some(Action::Refresh),
            KeyCode::Enter | KeyCode::Char('o') => return self.with_review(Action::Open),
            KeyCode::Char('a') => {
                if let Some(review) = self.with_review(Action::Approve) {
                    self.mode = sure(review);
                }
            }
            KeyCode::Char('c') => {
                if let Some(Action::Open(review)) = self.with_review(Action::Open) {
                    self.mode = Mode::Compose { review, text: String::new() };
                }
            }
            KeyCode::Char('K') => match self.reviewer() {
                Some(reviewer) => self.mode = sure(Action::Kill(reviewer)),
                None => self.words = "choose a reviewer first: Tab leads to them".to_owned(),
            },
            _ => {}
        }
        None
    }

    fn with_review(&mut self, act: impl Fn(String) -> Action) -> Option<Action> {
        let review = self.review();
        if review.is_none() {
            self.words = "choose a review first: Tab leads to them".to_owned();
        }
        review.map(act)
    }

    fn choose(&mut self, line: usize) {
        self.chosen[self.pane as usize] = line.min(self.length(self.pane).saturating_sub(1));
    }

    fn turn(&mut self, steps: usize) {
        self.pane = Pane::ALL[(self.pane as usize + steps) % Pane::ALL.len()];
    }

    fn reading(&mut self, key: KeyCode, title: String, lines: Vec<String>, first: usize) -> Option<Action> {
        let last = lines.len().saturating_sub(1);
        let first = match key {
            KeyCode::Char('j') | KeyCode::Down => first + 1,
            KeyCode::Char('k') | KeyCode::Up => first.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => first + 20,
            KeyCode::PageUp => first.saturating_sub(20),
            KeyCode::Char('g') | KeyCode::Home => 0,
            KeyCode::Char('G') | KeyCode::End => last,
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Enter => return None,
            _ => first,
        };
        self.mode = Mode::Detail { title, lines, first: first.min(last) };
        None
    }

    fn writing(&mut self, key: KeyCode, review: String, mut text: String) -> Option<Action> {
        match key {
            KeyCode::Esc => {
                self.words = "nothing was sent".to_owned();
                return None;
            }
            KeyCode::Enter if text.trim().is_empty() => return None,
            KeyCode::Enter => return Some(Action::Comment(review, text)),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(c) => text.push(c),
            _ => {}
        }
        self.mode = Mode::Compose { review, text };
        None
    }
}

fn sure(act: Action) -> Mode {
    let question = match &act {
        Action::Approve(review) => format!("Sign {review} as it stands?"),
        Action::Kill(reviewer) => format!("End {reviewer}? What it holds goes back to the queue."),
        Action::Quit | Action::Refresh | Action::Open(_) | Action::Comment(..) => String::new(),
    };
    Mode::Confirm { question: format!("{question} y/n"), act }
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
