//! Receipts: signed statements that a review approved a commit (docs/receipts.md).
//!
//! The broker's key signs what the database says. A receipt is kept in the database and as a line of the commit's note
//! under `refs/notes/countersign`. A trailer in the commit message only points people to the review.

mod dsse;
mod notes;
mod receipt_fault;
mod statement;
mod trailer;

pub use dsse::{Envelope, Signature};
pub use notes::list_receipts;
pub(crate) use notes::{NOTES_REF, list_with_receipt};
pub use receipt_fault::ReceiptFault;
pub use statement::{ApprovalPolicy, ApprovedReview, Predicate, SeatVote, SignedContent, Statement, Subject};
pub use trailer::Trailer;

use std::path::PathBuf;

use git::UserRepo;
use jiff::Timestamp;
use store::{NewReceipt, Receipts};

use crate::{Decision, GateError, SigningKeys};

/// A statement and the envelope that it was read from. Nothing says that its signature is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub envelope: Envelope,
    pub statement: Statement,
}

impl Receipt {
    pub(crate) fn read(envelope: Envelope) -> Result<Self, ReceiptFault> {
        let payload = envelope.decode_payload().filter(|_| envelope.payload_type == dsse::PAYLOAD_TYPE);
        let statement: Option<Statement> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
        let is_known = |statement: &Statement| {
            statement.statement_type == statement::STATEMENT_TYPE
                && statement.predicate_type == statement::PREDICATE_TYPE
        };
        match statement.filter(is_known) {
            Some(statement) => Ok(Self { envelope, statement }),
            None => Err(ReceiptFault::Unreadable),
        }
    }

    /// Reads a line of a note.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, ReceiptFault> {
        Self::read(Envelope::parse(line)?)
    }

    /// One line of JSON.
    pub(crate) fn to_line(&self) -> Result<String, GateError> {
        serde_json::to_string(&self.envelope).map_err(|error| GateError::Receipt(error.to_string()))
    }

    /// The id of the key that claims to have signed it.
    pub fn key_id(&self) -> &str {
        self.envelope.signatures.first().map(|signature| signature.keyid.as_str()).unwrap_or_default()
    }
}

/// Signs receipts in the name of a broker: with the key and the database of its data folder.
#[derive(Debug, Clone)]
pub struct ReceiptSigner {
    /// The file with the signing keys, created at first need.
    pub keys: PathBuf,
    pub database: PathBuf,
}

impl ReceiptSigner {
    /// Signs the receipt of an approved commit, keeps it in the database and adds it to the note of the commit. `None` if
    /// no review approved the commit.
    ///
    /// A series of commits that one review approved together has one receipt, at its last commit. A receipt that was
    /// signed before and still says what the database says is used again.
    pub async fn attach(&self, repo: &UserRepo, decision: &Decision) -> Result<Option<Receipt>, GateError> {
        let Some(approval) = decision.approval() else { return Ok(None) };
        let statement = Statement::new(approval, Timestamp::now())?;
        let commit = statement.commit().unwrap_or_default().to_owned();
        let keys = SigningKeys::open(&self.keys)?;
        let mut kept = Receipts::open(&self.database).await?;
        let earlier =
            kept.find(&commit).await?.and_then(|line| Receipt::parse(line.as_bytes()).ok()).filter(|earlier| {
                earlier.key_id() == keys.active().id() && earlier.statement.says_the_same(&statement)
            });
        let receipt = match earlier {
            Some(earlier) => earlier,
            None => {
                let payload = serde_json::to_vec(&statement).map_err(|error| GateError::Receipt(error.to_string()))?;
                let receipt = Receipt { envelope: keys.sign(&payload)?, statement };
                kept.keep(NewReceipt {
                    commit: &commit,
                    review: receipt.statement.predicate.review.number,
                    key: receipt.key_id(),
                    signed_at: domain::time::Timestamp(receipt.statement.predicate.signed_at.as_millisecond()),
                    envelope: &receipt.to_line()?,
                })
                .await?;
                receipt
            }
        };
        kept.close().await?;
        notes::add_line(repo, &commit, &receipt.to_line()?).await?;
        Ok(Some(receipt))
    }
}

#[cfg(test)]
#[path = "receipt_tests.rs"]
mod tests;
