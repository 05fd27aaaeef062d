//! The signers file of a project: whose receipts count, and what an approval must consist of.
//!
//! It comes from the operator, or from the target branch. A change never brings its own.

use std::collections::BTreeSet;

use domain::identity::{identity_key, is_same_identity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::receipt::{ApprovedReview, Envelope, Receipt, ReceiptFault};
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
        Ok(signers)
    }

    /// Checks everything about a receipt that does not depend on the commit: signature, key, project and policy.
    pub(crate) fn check(&self, envelope: Envelope) -> Result<Receipt, ReceiptFault> {
        let until = self.check_signature(&envelope)?;
        let receipt = Receipt::read(envelope)?;
        let predicate = &receipt.statement.predicate;
        if let Some(until) = until.filter(|until| predicate.signed_at > *until) {
            return Err(ReceiptFault::KeyEnded { signed_at: predicate.signed_at, until });
        }
        self.check_policy(&predicate.review)?;
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

    fn check_policy(&self, review: &ApprovedReview) -> Result<(), ReceiptFault> {
        if review.project.as_ref() != Some(&self.project) {
            return Err(ReceiptFault::OtherProject(review.project.clone().unwrap_or_default()));
        }
        let approvals: Vec<_> =
            review.approvals().filter(|vote| !is_same_identity(&vote.reviewer, &review.proposer)).collect();
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
