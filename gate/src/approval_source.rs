//! Where approvals come from: the reviews of a broker, or signed receipts in the notes of the repository.

use std::collections::HashMap;

use git::Note;
use store::read_only_database::ReadOnlyStore;

use crate::receipt::{NOTES_REF, Receipt, ReceiptFault};
use crate::signers_file::{SIGNERS_FILE, Signers};
use crate::{Approval, Candidate, CommitRange, Gate, GateError, NearMiss, ReviewSource};

#[derive(Default)]
pub enum ApprovalSource {
    /// Nothing is approved.
    #[default]
    None,
    Reviews(Box<dyn ReviewSource>),
    /// The receipts in the notes count if these signers signed them.
    Receipts(SignedReceipts),
}

/// The receipts of a repository and whose signatures count.
pub struct SignedReceipts {
    pub(crate) signers: Signers,
    /// The blobs of the notes of each commit. `None` until they are listed.
    notes: Option<HashMap<String, Vec<String>>>,
    checked: HashMap<String, Vec<CheckedReceipt>>,
}

/// A receipt that counts for some commit, or why it does not.
pub(crate) type CheckedReceipt = Result<Box<Receipt>, ReceiptFault>;

impl From<ReadOnlyStore> for ApprovalSource {
    fn from(store: ReadOnlyStore) -> Self {
        Self::Reviews(Box::new(store))
    }
}

impl From<Box<dyn ReviewSource>> for ApprovalSource {
    fn from(reviews: Box<dyn ReviewSource>) -> Self {
        Self::Reviews(reviews)
    }
}

impl From<Signers> for ApprovalSource {
    fn from(signers: Signers) -> Self {
        Self::Receipts(SignedReceipts { signers, notes: None, checked: HashMap::new() })
    }
}

impl ApprovalSource {
    pub(crate) fn reviews(&mut self) -> Option<&mut Box<dyn ReviewSource>> {
        if let Self::Reviews(reviews) = self { Some(reviews) } else { None }
    }

    pub(crate) const fn is_receipts(&self) -> bool {
        matches!(self, Self::Receipts(_))
    }
}

impl SignedReceipts {
    fn add_notes(&mut self, listed: Vec<Note>) {
        let notes = self.notes.get_or_insert_default();
        for Note { commit, blob } in listed {
            if let Some(commit) = commit {
                notes.entry(commit).or_default().push(blob);
            }
        }
    }
}

impl Gate {
    /// Decides from now on by another source of approvals.
    pub fn set_source(&mut self, source: impl Into<ApprovalSource>) {
        self.source = source.into();
    }

    /// The signers file at the start of a range: what the commits of the range cannot change. `None` if the range has no
    /// single start, or the file does not exist there.
    pub async fn read_signers_at_start(&self, range: &CommitRange) -> Result<Option<Signers>, GateError> {
        let CommitRange::Reachable(range) = range else { return Ok(None) };
        // The start of A...B is where B branched off, which the author of B chooses.
        if range.contains("...") {
            return Ok(None);
        }
        let revisions = self.git.resolve_revisions(range).await?;
        let [start] = revisions.excluded.as_slice() else { return Ok(None) };
        let Some(file) = self.git.read_committed_file(start, SIGNERS_FILE).await? else { return Ok(None) };
        let text = String::from_utf8(file).map_err(|error| GateError::Signers(error.to_string()))?;
        Signers::parse(&text).map(Some)
    }

    /// Also reads the receipts of a notes commit that is not the end of a ref yet.
    pub(crate) async fn add_receipts(&mut self, notes: &str) -> Result<(), GateError> {
        let listed = self.git.list_notes(notes).await?;
        self.load_notes().await?;
        let ApprovalSource::Receipts(receipts) = &mut self.source else { return Ok(()) };
        receipts.add_notes(listed);
        receipts.checked.clear();
        Ok(())
    }

    /// The receipts of a commit, each checked in all that does not depend on the candidate.
    pub(crate) async fn receipts_of(&mut self, commit: &str) -> Result<Vec<CheckedReceipt>, GateError> {
        self.load_notes().await?;
        let ApprovalSource::Receipts(receipts) = &mut self.source else { return Ok(Vec::new()) };
        if let Some(checked) = receipts.checked.get(commit) {
            return Ok(checked.clone());
        }
        let blobs = receipts.notes.as_ref().and_then(|notes| notes.get(commit)).cloned().unwrap_or_default();
        let mut checked: Vec<CheckedReceipt> = Vec::new();
        for blob in &blobs {
            for line in self.git.read_note(blob).await? {
                let receipt = self.check_receipt(&line).await?;
                checked.push(receipt.and_then(|receipt| match receipt.statement.commit() {
                    Some(named) if named == commit => Ok(receipt),
                    named => Err(ReceiptFault::OtherCommit(named.unwrap_or_default().to_owned())),
                }));
            }
        }
        let ApprovalSource::Receipts(receipts) = &mut self.source else { return Ok(checked) };
        receipts.checked.insert(commit.to_owned(), checked.clone());
        Ok(checked)
    }

    /// Whether a line of a note is a receipt that counts, or could: with the signature of a known key, where keys are known.
    pub(crate) fn is_receipt(&self, line: &[u8]) -> bool {
        let Ok(receipt) = Receipt::parse(line) else { return false };
        match &self.source {
            ApprovalSource::Receipts(receipts) => receipts.signers.has_signed(&receipt.envelope),
            ApprovalSource::None | ApprovalSource::Reviews(_) => true,
        }
    }

    async fn load_notes(&mut self) -> Result<(), GateError> {
        let ApprovalSource::Receipts(receipts) = &mut self.source else { return Ok(()) };
        if receipts.notes.is_some() {
            return Ok(());
        }
        let listed = match self.git.resolve_commit(NOTES_REF).await? {
            Some(notes) => self.git.list_notes(&notes).await?,
            None => Vec::new(),
        };
        receipts.add_notes(listed);
        Ok(())
    }

    /// The approval of exactly this candidate by a receipt. The commit id fixes the tree; tree and parent are compared
    /// with the stored objects all the same.
    pub(crate) async fn find_receipt(&mut self, candidate: &Candidate) -> Result<Option<Approval>, GateError> {
        let Some(commit) = &candidate.commit else { return Ok(None) };
        let receipts = self.receipts_of(commit).await?;
        let fitting = receipts.into_iter().flatten().find(|receipt| self.misfit(receipt, candidate).is_none());
        Ok(fitting.map(|receipt| Approval {
            review: receipt.statement.predicate.review,
            change: candidate.clone(),
            commits: 1,
            exempt: receipt.statement.predicate.exempt,
        }))
    }

    /// Why the receipts of a candidate do not approve it.
    pub(crate) async fn list_receipt_faults(&mut self, candidate: &Candidate) -> Result<Vec<NearMiss>, GateError> {
        let receipts = self.receipts_of(candidate.commit.as_deref().unwrap_or_default()).await?;
        let mut faults: Vec<_> = receipts
            .into_iter()
            .filter_map(|receipt| match receipt {
                Ok(receipt) => self.misfit(&receipt, candidate),
                Err(fault) => Some(fault),
            })
            .collect();
        if faults.is_empty() {
            faults.push(ReceiptFault::Missing);
        }
        Ok(faults.into_iter().map(NearMiss::Receipt).collect())
    }

    /// How a receipt differs from the candidate.
    fn misfit(&self, receipt: &Receipt, candidate: &Candidate) -> Option<ReceiptFault> {
        let statement = &receipt.statement;
        if statement.commit() != candidate.commit.as_deref() {
            return Some(ReceiptFault::OtherCommit(statement.commit().unwrap_or_default().to_owned()));
        }
        if statement.tree() != Some(&candidate.tree) {
            return Some(ReceiptFault::OtherTree(statement.tree().unwrap_or_default().to_owned()));
        }
        if statement.predicate.parent.as_ref() != candidate.parents.first() {
            let parent = statement.predicate.parent.clone().unwrap_or_else(|| "the empty tree".to_owned());
            return Some(ReceiptFault::OtherParent(parent));
        }
        let path = statement.predicate.exempt.iter().find(|path| !self.is_exempt(path));
        path.map(|path| ReceiptFault::NotExempt(path.clone()))
    }
}
