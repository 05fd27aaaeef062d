//! The last words.

use std::collections::VecDeque;

use super::line_sink::Source;

const LINES: usize = 20;
const CHARACTERS: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Tail {
    out: VecDeque<String>,
    err: VecDeque<String>,
}

impl Tail {
    /// Takes a line that is fit to be shown; blank ones say nothing.
    pub(super) fn push(&mut self, source: Source, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let lines = if source == Source::Out { &mut self.out } else { &mut self.err };
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(domain::text::ellipsize(line, CHARACTERS).into_owned());
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let lines = if self.err.is_empty() { &self.out } else { &self.err };
        lines.iter().cloned().collect()
    }
}
