//! The error type of the gate: why it could not decide.

use git::GitError;
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot create a scratch folder: {0}")]
    Scratch(std::io::Error),
    /// For example, the index has unresolved conflicts.
    #[error("cannot read the staged change: {0}")]
    Staged(GitError),
    #[error("no commit {0:?}")]
    UnknownCommit(String),
    #[error("git rev-list printed an unexpected line: {0:?}")]
    UnexpectedLine(String),
    #[error("{0:?} is not a line that git passes to a pre-push or pre-receive hook")]
    BadPushLine(String),
    #[error("cannot ask the remote what it has: {0}")]
    Remote(GitError),
    #[error("the range has more than {max} commits; name a shorter one", max = crate::MAX_COMMITS)]
    TooManyCommits,
    #[error("{0} is not among the last {max} commits of HEAD", max = crate::landed_commits::MAX_COMMITS)]
    NotRecent(String),
    #[error("{0} is already reverted")]
    AlreadyReverted(String),
    #[error("the broker gave no answer: {0}")]
    NoBroker(String),
    #[error("the broker refused: {message}")]
    BrokerRefused {
        message: String,
        /// It does not have the review.
        is_unknown: bool,
    },
    #[error("cannot write the receipt: {0}")]
    Receipt(String),
    #[error("cannot use the signing keys: {0}")]
    Keys(String),
    #[error("no key {0:?}; `countersign key show` lists them")]
    UnknownKey(String),
    #[error(
        "the votes of people in the signers file are signed with SSH, and ssh-keygen is not in PATH; install OpenSSH"
    )]
    SshKeygenMissing,
    #[error("cannot check the signature of a vote: ssh-keygen: {0}")]
    SshKeygen(String),
    #[error("cannot read the signers file: {0}")]
    Signers(String),
}
