//! The expected anchors: `git blame` says which lines are still there, a diff which lines replaced the others.

use super::history::{Change, History, Origin, Replaced};
use domain::finding::{AnchorState, Lines};
use std::collections::HashMap;

/// What is so about one file between two commits.
pub(super) struct Truth {
    file: String,
    renamed: bool,
    old: Vec<String>,
    /// By line of the later file: as blame says plainly, and as it says when it also looks for lines that moved.
    plain: Vec<Option<Origin>>,
    moved: Vec<Option<Origin>>,
    /// By line of the older file: the lines of the later one.
    plainly_at: HashMap<u32, Vec<u32>>,
    moved_at: HashMap<u32, Vec<u32>>,
    replaced: Vec<Replaced>,
}

/// How an answer "it stands there" compares with blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Right,
    /// The line there is another one of the older commit. Never.
    Wrong,
    /// The same, but that other line reads the same, and so do its neighbours: which is which is blame's guess.
    Twin,
    /// To blame the line there was written since, in the same words: taken away and put back, for one.
    Rewritten,
}

impl Truth {
    pub(super) fn find(history: &History, from: &str, to: &str, change: &Change, old: &str) -> Self {
        let blame = |moves| change.new.as_ref().map(|new| history.blame(from, to, new, moves)).unwrap_or_default();
        let (plain, moved) = (blame(false), blame(true));
        Self {
            file: change.old.clone(),
            renamed: change.new.as_ref() != Some(&change.old),
            old: old.lines().map(str::to_owned).collect(),
            plainly_at: locations(&plain, &change.old),
            moved_at: locations(&moved, &change.old),
            plain,
            moved,
            replaced: if change.new.is_some() { history.replaced(from, to, change) } else { Vec::new() },
        }
    }

    pub(super) fn state(&self, lines: Lines) -> AnchorState {
        let stands = whole(&self.plainly_at, lines).or_else(|| whole(&self.moved_at, lines));
        match stands {
            Some(start) if start == lines.start && !self.renamed => AnchorState::Exact,
            Some(_) => AnchorState::Moved,
            None if self.is_gone(lines) => AnchorState::Gone,
            None => AnchorState::Modified,
        }
    }

    /// None of the lines is left, and nothing replaces one of them.
    fn is_gone(&self, lines: Lines) -> bool {
        let mut numbers = lines.start..=lines.end;
        let overlaps = |r: &&Replaced| r.old.0 <= lines.end && lines.start < r.old.0 + r.old.1;
        numbers.all(|line| !self.plainly_at.contains_key(&line))
            && self.replaced.iter().filter(overlaps).all(|r| r.new_count == 0)
    }

    /// Judges the answer that `lines` now begin at `start`.
    pub(super) fn judge(&self, lines: Lines, start: u32) -> Answer {
        let answers = (lines.start..=lines.end).zip(start..).map(|(old, new)| self.judge_line(old, new));
        let worst = |a: Answer, b: Answer| if rank(a) > rank(b) { a } else { b };
        answers.fold(Answer::Right, worst)
    }

    fn judge_line(&self, old: u32, new: u32) -> Answer {
        let at = new as usize - 1;
        let (plain, moved) = (&self.plain[at], &self.moved[at]);
        let is_it = |origin: &Option<Origin>| origin.as_ref().is_some_and(|o| o.file == self.file && o.line == old);
        match plain.as_ref().or(moved.as_ref()) {
            _ if is_it(plain) || is_it(moved) => Answer::Right,
            None => Answer::Rewritten,
            Some(other) if other.file == self.file && self.around(other.line) == self.around(old) => Answer::Twin,
            Some(_) => Answer::Wrong,
        }
    }

    /// A line with its two neighbours.
    fn around(&self, line: u32) -> [Option<&String>; 3] {
        let at = line as usize;
        [at.checked_sub(2), Some(at - 1), Some(at)].map(|at| at.and_then(|at| self.old.get(at)))
    }
}

fn rank(answer: Answer) -> u8 {
    match answer {
        Answer::Right => 0,
        Answer::Rewritten => 1,
        Answer::Twin => 2,
        Answer::Wrong => 3,
    }
}

fn locations(origins: &[Option<Origin>], file: &str) -> HashMap<u32, Vec<u32>> {
    let mut locations: HashMap<_, Vec<_>> = HashMap::new();
    for (at, origin) in (1..).zip(origins) {
        if let Some(origin) = origin.as_ref().filter(|origin| origin.file == file) {
            locations.entry(origin.line).or_default().push(at);
        }
    }
    locations
}

/// Where all of the lines stand, one after the other.
fn whole(locations: &HashMap<u32, Vec<u32>>, lines: Lines) -> Option<u32> {
    let stands = |old: u32, new: u32| locations.get(&old).is_some_and(|at| at.contains(&new));
    let starts = locations.get(&lines.start)?;
    starts.iter().copied().find(|start| (lines.start..=lines.end).zip(*start..).all(|(old, new)| stands(old, new)))
}
