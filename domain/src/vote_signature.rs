//! Signatures of people on their votes: the statement that a person signs with an SSH key, and what is kept of it.

use crate::{content::ContentHash, ids::ReviewId, verdict::Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The namespace of `ssh-keygen -Y`: a signature that was made for something else does not count as a vote.
pub const NAMESPACE: &str = "countersign-vote";

/// Longer than a signature of any kind of key.
pub const MAX_SIGNATURE_BYTES: usize = 16 * 1024;

/// A person's signature on a vote. With the vote it gives the statement that was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VoteSignature {
    /// The round of the review when the person signed.
    pub round: u32,
    /// When the person signed.
    pub at: jiff::Timestamp,
    /// The SSH signature of the statement, in the namespace countersign-vote: -----BEGIN SSH SIGNATURE-----…
    pub ssh: String,
}

/// What a person signs: this verdict, in this seat, on this content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VoteStatement<'a> {
    #[serde(rename = "_type")]
    kind: &'static str,
    pub review: ReviewId,
    pub round: u32,
    pub content_hash: &'a ContentHash,
    pub persona: &'a str,
    pub reviewer: &'a str,
    pub verdict: Verdict,
    pub at: jiff::Timestamp,
}

impl<'a> VoteStatement<'a> {
    /// `at` counts in whole seconds.
    pub const fn new(
        (review, round, content_hash): (ReviewId, u32, &'a ContentHash),
        (persona, reviewer): (&'a str, &'a str),
        verdict: Verdict,
        at: jiff::Timestamp,
    ) -> Self {
        Self { kind: "tag:countersign,2026:vote/v1", review, round, content_hash, persona, reviewer, verdict, at }
    }

    /// The bytes to sign: compact JSON with the fields in this order, and a newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        // The values have no maps with keys that JSON lacks, so this cannot fail.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// Whether the text has the form of an SSH signature. Whether it is a good one is not known without the statement.
pub fn has_signature_form(text: &str) -> bool {
    let text = text.trim_end();
    text.len() <= MAX_SIGNATURE_BYTES
        && text.starts_with("-----BEGIN SSH SIGNATURE-----\n")
        && text.ends_with("\n-----END SSH SIGNATURE-----")
}
