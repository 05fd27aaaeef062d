//! The signers file of a project: whose receipts count, and what an approval must consist of.
//!
//! It comes from the operator, or from the target branch. A change never brings its own.

use std::collections::BTreeSet;
use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::identity::{identity_key, is_same_identity};
use domain::verdict::Verdict;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::receipt::{ApprovedReview, Envelope, Receipt, ReceiptFault, SeatVote};
use crate::{GateError, PublicKey};

/// Where a project keeps its signers file.
pub const SIGNERS_FILE: &str = ".countersign/signers.toml";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signers {
    /// The name of the project. Receipts of other projects do not count.
    project: String,
    /// How many different reviewers must approve. The proposer does not count.
    #[serde(default = "one")]
    approvals: usize,
    /// Personas that must approve.
    #[serde(default)]
    personas: Vec<String>,
    #[serde(default)]
    keys: Vec<SignerKey>,
    /// Their votes count only with their own signature.
    #[serde(default)]
    people: Vec<Person>,
}

/// A reviewer who signs votes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    name: String,
    ssh_keys: Vec<SshKey>,
}

/// A public SSH key, as in a `.pub` file: kind and key; a comment is left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SshKey(String);

const SSH_KEY_KINDS: [&str; 7] = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];

impl TryFrom<String> for SshKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let (kind, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_key = !key.is_empty() && BASE64.decode(key).is_ok();
        if SSH_KEY_KINDS.contains(&kind) && is_key && !text.contains(['\n', '\r']) {
            return Ok(Self(format!("{kind} {key}")));
        }
        Err(format!("{text:?} is not a public SSH key; expected a line of a .pub file, such as ssh-ed25519 AAAA…"))
    }
}

impl fmt::Display for SshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A public key whose receipts count.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignerKey {
    pub key: PublicKey,
    /// Receipts that were signed later do not count.
    pub until: Option<Timestamp>,
    /// The key leaked. Its holder can choose any time of signature, so none of its receipts counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

const fn one() -> usize {
    1
}

impl Signers {
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let signers: Self = toml::from_str(text).map_err(|error| GateError::Signers(error.to_string()))?;
        if signers.approvals == 0 {
            return Err(GateError::Signers("approvals must be at least 1".to_owned()));
        }
        let mut ids = BTreeSet::new();
        if let Some(twice) = signers.keys.iter().find(|signer| !ids.insert(signer.key.id())) {
            let why =
                format!("the key {} is there twice; keep one entry of it, with its end or revocation", twice.key.id());
            return Err(GateError::Signers(why));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = signers.people.iter().find(|person| !names.insert(identity_key(&person.name))) {
            let why = format!("{:?} is there twice among the people; keep one entry with all keys", twice.name);
            return Err(GateError::Signers(why));
        }
        if let Some(person) = signers.people.iter().find(|person| person.ssh_keys.is_empty()) {
            let why = format!("{:?} has no ssh_keys; give one, or remove the entry", person.name);
            return Err(GateError::Signers(why));
        }
        Ok(signers)
    }

    /// The keys with which this reviewer must sign votes. `None` if votes need no signature.
    pub(crate) fn ssh_keys_of(&self, reviewer: &str) -> Option<&[SshKey]> {
        let person = self.people.iter().find(|person| is_same_identity(&person.name, reviewer));
        person.map(|person| person.ssh_keys.as_slice())
    }

    /// Checks the signature of a receipt, and that its key counted when it was signed.
    pub(crate) fn check_key(&self, envelope: Envelope) -> Result<Receipt, ReceiptFault> {
        let until = self.check_signature(&envelope)?;
        let receipt = Receipt::read(envelope)?;
        let predicate = &receipt.statement.predicate;
        if let Some(until) = until.filter(|until| predicate.signed_at > *until) {
            return Err(ReceiptFault::KeyEnded { signed_at: predicate.signed_at, until });
        }
        Ok(receipt)
    }

    /// Whether one of the keys signed it, also one that was revoked since.
    pub(crate) fn has_signed(&self, envelope: &Envelope) -> bool {
        let is_good = |signature| self.keys.iter().any(|signer| envelope.is_signed_by(signature, &signer.key));
        envelope.signatures.iter().any(is_good)
    }

    /// Finds a signature of a key that counts. Returns when the key ended.
    fn check_signature(&self, envelope: &Envelope) -> Result<Option<Timestamp>, ReceiptFault> {
        let mut fault = ReceiptFault::Unsigned;
        for signature in &envelope.signatures {
            let Some(signer) = self.keys.iter().find(|signer| signer.key.id() == signature.keyid) else {
                fault = ReceiptFault::UnknownKey(signature.keyid.clone());
                continue;
            };
            if !envelope.is_signed_by(signature, &signer.key) {
                fault = ReceiptFault::BadSignature(signature.keyid.clone());
            } else if signer.revoked {
                fault = ReceiptFault::KeyRevoked(signature.keyid.clone());
            } else {
                return Ok(signer.until);
            }
        }
        Err(fault)
    }

    /// Checks project and policy of a receipt, with the votes that count.
    pub(crate) fn check_policy(&self, review: &ApprovedReview, votes: &[SeatVote]) -> Result<(), ReceiptFault> {
        if review.project.as_ref() != Some(&self.project) {
            return Err(ReceiptFault::OtherProject(review.project.clone().unwrap_or_default()));
        }
        let counts =
            |vote: &&SeatVote| vote.verdict == Verdict::Approved && !is_same_identity(&vote.reviewer, &review.proposer);
        let approvals: Vec<_> = votes.iter().filter(counts).collect();
        let approvers: BTreeSet<_> = approvals.iter().map(|vote| identity_key(&vote.reviewer)).collect();
        // The review's own policy counts too: seats may be held by one reviewer.
        if approvals.len() < review.policy.needed {
            return Err(ReceiptFault::TooFewApprovals { found: approvals.len(), needed: review.policy.needed });
        }
        if approvers.len() < self.approvals {
            return Err(ReceiptFault::TooFewApprovals { found: approvers.len(), needed: self.approvals });
        }
        let has_approved = |persona: &&String| approvals.iter().any(|vote| vote.persona == **persona);
        let mut required = self.personas.iter().chain(&review.policy.required);
        match required.find(|persona| !has_approved(persona)) {
            Some(persona) => Err(ReceiptFault::PersonaMissing(persona.clone())),
            None => Ok(()),
        }
    }
}
