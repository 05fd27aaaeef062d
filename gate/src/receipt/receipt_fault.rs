//! Why a receipt does not count.

use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFault {
    #[error("it has no signed receipt")]
    Missing,
    #[error("the receipt cannot be read")]
    Unreadable,
    #[error("the receipt has no signature")]
    Unsigned,
    #[error("the receipt is signed with key {0:?}, which the signers file does not name")]
    UnknownKey(String),
    #[error("the signature with key {0} does not fit the receipt")]
    BadSignature(String),
    #[error("the receipt is signed with key {0}, which is revoked")]
    KeyRevoked(String),
    #[error("the receipt was signed at {signed_at}, after its key ended at {until}")]
    KeyEnded { signed_at: Timestamp, until: Timestamp },
    #[error("the receipt is of project {0:?}, and the signers file is for another")]
    OtherProject(String),
    #[error("the receipt is of commit {0}")]
    OtherCommit(String),
    #[error("the receipt is of tree {0}")]
    OtherTree(String),
    #[error("the receipt covers the change from {0}, which is not the parent here")]
    OtherParent(String),
    #[error("the review did not approve {0:?}, which was exempt where the receipt was signed, and is not here")]
    NotExempt(String),
    #[error("the receipt has {found} of {needed} approvals that are needed")]
    TooFewApprovals { found: usize, needed: usize },
    #[error("the approval of {0:?} is not signed, and the signers file has a key of that person")]
    VoteUnsigned(String),
    #[error("the signature of {0:?} does not fit its vote, or is of a key that the signers file does not have")]
    BadVoteSignature(String),
    #[error("the content that {0:?} signed does not lead to this commit")]
    OtherContentSigned(String),
    #[error("persona {0:?} has not approved, and must")]
    PersonaMissing(String),
}
