//! The lexer of shell command lines: reads them character by character and returns words and operators.

use super::{Connector, Item, Script, SimpleCommand, Word};
use std::{iter::Peekable, str::Chars};

/// A line with deeper nesting counts as broken.
const MAX_DEPTH: usize = 20;

pub(super) struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    script: Script,
    command: SimpleCommand,
    word: Option<Word>,
    /// Here-documents announced on this line: the delimiter, and whether leading tabs are stripped.
    documents: Vec<(String, bool)>,
    /// The operator before the current command.
    connector: Connector,
    open_parentheses: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    /// `depth`: how many substitutions the text is inside of.
    pub(super) fn new(text: &'a str, depth: usize) -> Self {
        Self {
            chars: text.chars().peekable(),
            script: Script::default(),
            command: SimpleCommand::default(),
            word: None,
            documents: Vec::new(),
            connector: Connector::Sequence,
            open_parentheses: 0,
            depth,
        }
    }

    pub(super) fn parse(mut self) -> Script {
        while let Some(c) = self.chars.next() {
            self.step(c);
        }
        self.end_command();
        self.script
    }

    fn step(&mut self, c: char) {
        match c {
            '\\' => self.escape(),
            '\'' => self.single(false),
            '"' => self.double(),
            '$' => self.dollar(false),
            '`' => self.backticks(),
            '#' if self.word.is_none() => self.comment(),
            '<' | '>' => self.redirect(c),
            '&' if self.chars.peek() == Some(&'>') => {
                self.end_word();
                self.chars.next();
                self.redirect('>');
            }
            ';' => self.end_command(),
            '|' | '&' => self.operator(c),
            '\n' => {
                self.end_word();
                self.here_documents();
                self.end_command();
            }
            '(' => {
                self.end_command();
                self.open_parentheses += 1;
                self.script.items.push(Item::SubshellStart);
            }
            ')' => {
                self.end_command();
                self.open_parentheses = self.open_parentheses.saturating_sub(1);
                self.script.items.push(Item::SubshellEnd);
            }
            c if c.is_whitespace() => self.end_word(),
            '~' if self.word.is_none() => {
                self.push('~');
                self.current().uncertain = true;
            }
            c => self.push(c),
        }
    }

    fn current(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.current().text.push(c);
    }

    fn end_word(&mut self) {
        self.command.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || command.writes {
            let connector = std::mem::take(&mut self.connector);
            self.script.items.push(Item::Command(SimpleCommand { connector, ..command }));
        }
    }

    fn operator(&mut self, first: char) {
        self.end_command();
        let twice = self.chars.next_if_eq(&first).is_some();
        self.connector = match (first, twice) {
            ('&', true) => Connector::And,
            ('&', false) => Connector::Background,
            (_, true) => Connector::Or,
            (_, false) => {
                // `|&`
                self.chars.next_if_eq(&'&');
                Connector::Pipe
            }
        };
    }

    fn escape(&mut self) {
        match self.chars.next() {
            // A line continuation.
            Some('\n') => {}
            Some(c) => {
                self.push(c);
                self.current().quoted = true;
            }
            None => self.push('\\'),
        }
    }

    fn double(&mut self) {
        self.current().quoted = true;
        loop {
            match self.chars.next() {
                Some('"') => return,
                Some('$') => self.dollar(true),
                Some('`') => self.backticks(),
                Some('\\') => match self.chars.next() {
                    Some('\n') => {}
                    Some(c) if matches!(c, '$' | '`' | '"' | '\\') => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => return self.script.broken = true,
                },
                Some(c) => self.push(c),
                None => return self.script.broken = true,
            }
        }
    }

    fn dollar(&mut self, in_quotes: bool) {
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.substitution();
            }
            Some('{') => {
                let text = self.braces();
                self.current().text.push_str(&text);
            }
            Some('\'') if !in_quotes => {
                self.chars.next();
                return self.single(true);
            }
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                self.push('$');
            }
            Some(_) | None => return self.push('$'),
        }
        self.current().uncertain = true;
    }

    /// `${…}` up to its closing brace, verbatim.
    fn braces(&mut self) -> String {
        let mut text = String::from("$");
        let mut open = 0;
        for c in self.chars.by_ref() {
            text.push(c);
            open += i32::from(c == '{') - i32::from(c == '}');
            if open == 0 {
                return text;
            }
        }
        self.script.broken = true;
        text
    }

    /// `'…'`, or `$'…'` with escapes. Escapes that name a character by its code make the word uncertain.
    fn single(&mut self, with_escapes: bool) {
        self.current().quoted = true;
        loop {
            match self.chars.next() {
                Some('\'') => return,
                Some('\\') if with_escapes => match self.chars.next() {
                    Some('n') => self.push('\n'),
                    Some('t') => self.push('\t'),
                    Some(c @ ('x' | 'u' | 'U' | '0'..='7')) => {
                        self.push(c);
                        self.current().uncertain = true;
                    }
                    Some(c) => self.push(c),
                    None => return self.script.broken = true,
                },
                Some(c) => self.push(c),
                None => return self.script.broken = true,
            }
        }
    }

    /// `$(…)` and `<(…)`, parsed as a script up to the closing parenthesis, because quotes and here-documents inside can
    /// contain parentheses. The script runs before the command that contains it.
    fn substitution(&mut self) {
        self.current().uncertain = true;
        let mut inner = Lexer::new("", self.depth + 1);
        std::mem::swap(&mut inner.chars, &mut self.chars);
        let mut ended = self.depth >= MAX_DEPTH;
        while !ended && let Some(c) = inner.chars.next() {
            ended = c == ')' && inner.open_parentheses == 0;
            if !ended {
                inner.step(c);
            }
        }
        std::mem::swap(&mut inner.chars, &mut self.chars);
        inner.end_command();
        self.script.broken |= !ended || self.depth >= MAX_DEPTH;
        self.include(inner.script);
    }

    fn backticks(&mut self) {
        let mut inner = String::new();
        let mut ended = false;
        while let Some(c) = self.chars.next() {
            match c {
                '`' => {
                    ended = true;
                    break;
                }
                '\\' if matches!(self.chars.peek(), Some('`' | '\\' | '$')) => inner.extend(self.chars.next()),
                c => inner.push(c),
            }
        }
        self.script.broken |= !ended || self.depth >= MAX_DEPTH;
        self.current().uncertain = true;
        if self.depth < MAX_DEPTH {
            self.include(Lexer::new(&inner, self.depth + 1).parse());
        }
    }

    /// Adds the commands of a subshell.
    fn include(&mut self, inner: Script) {
        self.script.broken |= inner.broken;
        self.script.items.push(Item::SubshellStart);
        self.script.items.extend(inner.items);
        self.script.items.push(Item::SubshellEnd);
    }

    fn comment(&mut self) {
        while self.chars.peek().is_some_and(|c| *c != '\n') {
            self.chars.next();
        }
    }

    /// A redirection: the operator and its target are not arguments, nor is a number right before the operator.
    fn redirect(&mut self, first: char) {
        if self.word.as_ref().is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let mut operator = String::from(first);
        while let Some(c) =
            self.chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|' | '-') && operator_goes_on(&operator, *c))
        {
            operator.push(c);
        }
        if operator.len() == 1 && self.chars.next_if_eq(&'(').is_some() {
            return self.substitution();
        }
        let before = std::mem::take(&mut self.command.words);
        self.target();
        let target = std::mem::replace(&mut self.command.words, before).pop().unwrap_or_default();
        match operator.as_str() {
            "<<" | "<<-" => {
                self.command.input = Some(placeholder(self.documents.len()));
                self.documents.push((target.text, operator == "<<-"));
            }
            "<<<" => self.command.input = Some(target.text),
            "<" | "<&" | ">&" => {}
            _ => self.command.writes |= target.text != "/dev/null",
        }
    }

    /// The word after a redirection operator.
    fn target(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        while self
            .chars
            .peek()
            .is_some_and(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | '(' | ')' | '<' | '>'))
        {
            if let Some(c) = self.chars.next() {
                self.step(c);
            }
        }
        self.end_word();
    }

    fn here_documents(&mut self) {
        for (at, (end, strip)) in std::mem::take(&mut self.documents).into_iter().enumerate() {
            let mut text = String::new();
            loop {
                if self.chars.peek().is_none() {
                    self.script.broken = true;
                    break;
                }
                let line: String = std::iter::from_fn(|| self.chars.next_if(|c| *c != '\n')).collect();
                self.chars.next();
                let line = if strip { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            self.feed(at, text);
        }
    }

    /// Gives the text of a here-document to the command that announced it.
    fn feed(&mut self, at: usize, text: String) {
        let earlier = self.script.items.iter_mut().filter_map(|item| match item {
            Item::Command(command) => Some(command),
            Item::SubshellStart | Item::SubshellEnd => None,
        });
        let waiting = earlier.chain([&mut self.command]).find(|command| command.input == Some(placeholder(at)));
        if let Some(command) = waiting {
            command.input = Some(text);
        }
    }
}

/// Marks a command whose here-document is not read yet. A command line cannot contain NUL.
fn placeholder(at: usize) -> String {
    format!("\0{at}")
}

fn operator_goes_on(so_far: &str, next: char) -> bool {
    matches!((so_far, next), ("<", '<' | '&' | '>') | (">", '>' | '&' | '|') | ("<<", '<' | '-'))
}
