//! A cursor over the lines of a diff. It is cheap to copy, so that the parser can look ahead with a copy.

/// Why a diff is invalid, and in which line. Git rejects it there too.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

/// The current line, without its newline, and its number, counted from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineCursor<'a> {
    pub(super) line: Option<&'a str>,
    rest: &'a str,
    pub(super) number: usize,
}

impl<'a> LineCursor<'a> {
    pub(super) fn new(text: &'a str, first_line: usize) -> Self {
        let mut lines = LineCursor { line: None, rest: text, number: first_line.saturating_sub(1) };
        lines.advance();
        lines
    }

    pub(super) fn advance(&mut self) -> Option<&'a str> {
        self.number += 1;
        (self.line, self.rest) = match self.rest.split_once('\n') {
            Some((line, rest)) => (Some(line), rest),
            None if self.rest.is_empty() => (None, ""),
            None => (Some(self.rest), ""),
        };
        self.line
    }

    pub(super) fn error(&self, what: &'static str) -> ParseError {
        ParseError { line: self.number, what }
    }
}
