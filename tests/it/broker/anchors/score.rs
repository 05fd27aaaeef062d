//! Counts how many anchors were found correctly.

use super::truth::Answer;
use domain::finding::AnchorState;
use std::fmt;

#[derive(Default, Clone)]
pub(crate) struct Score {
    /// By the truth, then by the answer.
    counts: [[u64; 4]; 4],
    pub(crate) wrong: u64,
    pub(crate) twins: u64,
    pub(crate) rewritten: u64,
    /// One line for each answer that points at a line which blame says is another.
    pub(crate) examples: Vec<String>,
}

impl Score {
    pub(super) fn add(&mut self, truth: AnchorState, said: AnchorState) {
        self.counts[truth as usize][said as usize] += 1;
    }

    pub(super) fn judge(&mut self, answer: Answer, example: impl FnOnce() -> String) {
        let counter = match answer {
            Answer::Right => return,
            Answer::Wrong => &mut self.wrong,
            Answer::Twin => &mut self.twins,
            Answer::Rewritten => &mut self.rewritten,
        };
        *counter += 1;
        self.examples.push(format!("{answer:?}: {}", example()));
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *mine += theirs;
        }
        self.wrong += other.wrong;
        self.twins += other.twins;
        self.rewritten += other.rewritten;
        self.examples.extend(other.examples);
    }

    pub(crate) fn planted(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// Of the answers that say so, how many are right; in percent.
    pub(crate) fn precision(&self, state: AnchorState) -> f64 {
        let said = self.counts.iter().map(|row| row[state as usize]).sum();
        percent(self.counts[state as usize][state as usize], said)
    }

    /// Of those that are so, how many are said to be; in percent.
    pub(crate) fn recall(&self, state: AnchorState) -> f64 {
        percent(self.counts[state as usize][state as usize], self.counts[state as usize].iter().sum())
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| by git | exact | moved | modified | gone | precision | recall |")?;
        writeln!(f, "|---|--:|--:|--:|--:|--:|--:|")?;
        for state in AnchorState::ALL {
            let [exact, moved, modified, gone] = self.counts[*state as usize];
            let (precision, recall) = (self.precision(*state), self.recall(*state));
            writeln!(f, "| {state} | {exact} | {moved} | {modified} | {gone} | {precision:.2} % | {recall:.2} % |")?;
        }
        let (planted, wrong, twins, rewritten) = (self.planted(), self.wrong, self.twins, self.rewritten);
        write!(f, "\n{planted} findings; wrong: {wrong}, twins: {twins}, rewritten: {rewritten}")
    }
}
