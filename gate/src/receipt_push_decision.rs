//! Decides about a push of receipts: the ref of their notes.

use std::collections::{HashMap, HashSet};

use crate::commit_ranges::is_zero_id;
use crate::push_decision::refuse;
use crate::{Decision, Gate, GateError, PushUpdate, RefusalReason};

impl Gate {
    /// Receipts need no approval, because their signatures are checked. But their ref may hold nothing else, and loses none:
    /// by the receipts of landed commits the gate knows which of them may not be the end of a branch.
    pub(crate) async fn decide_receipts(&mut self, update: &PushUpdate) -> Result<Option<Decision>, GateError> {
        if is_zero_id(&update.local) {
            return Ok(Some(refuse(update, RefusalReason::LosesReceipts)));
        }
        if self.git.peel_to_commit(&update.local).await?.as_ref() != Some(&update.local) {
            return Ok(Some(refuse(update, RefusalReason::NotReceipts)));
        }
        let mut pushed = HashMap::new();
        for note in self.git.list_notes(&update.local).await? {
            let Some(commit) = note.commit else { return Ok(Some(refuse(update, RefusalReason::NotReceipts))) };
            pushed.insert(commit, note.blob);
        }
        let old: Vec<String> = update.remote.iter().cloned().collect();
        for notes in self.git.known_commits(&old).await? {
            for note in self.git.list_notes(&notes).await? {
                let Some(commit) = note.commit else { continue };
                if !self.keeps_lines(&note.blob, pushed.get(&commit)).await? {
                    return Ok(Some(refuse(update, RefusalReason::LosesReceipts)));
                }
            }
        }
        self.add_receipts(&update.local).await?;
        Ok(None)
    }

    /// Whether every receipt of a note is in the note that replaces it. Other lines may go: anyone can push them, and they
    /// could fill a note.
    async fn keeps_lines(&self, old: &str, new: Option<&String>) -> Result<bool, GateError> {
        if new.is_some_and(|new| new == old) {
            return Ok(true);
        }
        let new = match new {
            Some(new) => self.git.read_note(new).await?,
            None => Vec::new(),
        };
        let new: HashSet<_> = new.into_iter().collect();
        let old = self.git.read_note(old).await?;
        Ok(old.iter().all(|line| new.contains(line) || !self.is_receipt(line)))
    }
}
