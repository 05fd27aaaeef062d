//! Types for what a proposer submits: the request, the content of a round that follows from it, and the hash that an
//! approval is bound to.

use crate::{
    consensus::PolicyRequest,
    diff::{AffectedFile, Flag},
    priority::Priority,
    review::Category,
    text::hex,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest as _, Sha256};
use std::fmt;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateReviewRequest {
    /// What the change is for, in one or two sentences. Required without review_id.
    pub intent: Option<String>,
    /// In a revision: what you changed in this round, and why.
    pub change_note: Option<String>,
    /// The kind of agent that proposes, for example "gsd-executor". Required without review_id.
    pub agent_type: Option<String>,
    /// The role the agent acts in. Default "proposer".
    pub agent_role: Option<String>,
    /// The phase of the work, for example "3" or "verify". Default "work".
    pub phase: Option<String>,
    /// The plan the change belongs to.
    pub plan: Option<String>,
    /// The task the change belongs to.
    pub task: Option<String>,
    /// A registered project. Default: the repository you work in, else the one the broker was started in.
    pub project: Option<String>,
    /// Your own stable id. A reviewer cannot use this name. Default: agent_type.
    pub proposer_id: Option<String>,
    /// The kind of proposal.
    pub category: Option<Category>,
    /// The position in the queue. Default: inferred. Not allowed with review_id.
    pub priority: Option<Priority>,
    /// The plan, report or reasoning, as long as needed. Markdown is fine.
    pub description: Option<String>,
    /// A diff as `git diff` prints it, against `base`.
    pub diff: Option<String>,
    /// The commit the diff applies to. Default: HEAD.
    pub base: Option<String>,
    /// Commits to review, instead of diff and base: exactly one of branch, commit and range. A revision reads the branch
    /// again.
    pub target: Option<TargetRequest>,
    /// The review to revise.
    pub review_id: Option<String>,
    /// In a revision: parts of the content to remove.
    pub remove: Option<Vec<RemovablePart>>,
    /// Skips the check that the diff applies. Reviewers see it.
    pub skip_diff_validation: Option<bool>,
    /// The reviewers to ask for, one seat each: a persona such as "security", or "@ada" for one person or agent. Default:
    /// the broker's settings. Not allowed with review_id.
    pub reviewers: Option<Vec<String>>,
    /// The reviewers to ask for: one seat per persona, for example ["security", "tests"]. From 1 to 10 names of 1 to 64
    /// letters, digits, ".", "_" or "-". Default: what the broker's settings say, usually ["general"]. Not allowed with
    /// review_id.
    pub personas: Option<Vec<String>>,
    /// How votes are counted. Default: all must approve. Not allowed with review_id.
    pub policy: Option<PolicyRequest>,
    /// Any string of your own. Repeating the call with this key returns the existing review.
    pub idempotency_key: Option<String>,
}

crate::string_enum! {
    /// A part of the content that a revision can remove.
    RemovablePart { Diff = "diff", Description = "description" }
}

/// The commits to review: exactly one of branch, commit and range.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TargetRequest {
    /// All its commits that are not in `base`.
    pub branch: Option<String>,
    /// This commit against its first parent.
    pub commit: Option<String>,
    /// "A..B", or "A...B" from their merge base.
    pub range: Option<String>,
    /// The commit to compare with. Not allowed with range.
    pub base: Option<String>,
}

/// SHA-256 of the canonical content, in lowercase hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ContentHash(pub String);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The content of one round. Immutable: a changed content has another hash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    pub intent: String,
    pub description: Option<String>,
    pub diff: Option<String>,
    /// The commit the diff is against; `None` with a diff means the empty tree.
    pub base_commit: Option<String>,
    /// Parsed from the diff, so not part of the hash.
    pub files: Vec<AffectedFile>,
    pub flags: Vec<Flag>,
    /// Why `files` is empty although there is a diff.
    pub diff_note: Option<String>,
}

impl Content {
    /// The SHA-256 of compact JSON with the keys `intent`, `description`, `diff` and `base_commit` in this order, so that
    /// any program can compute it.
    pub fn hash(&self) -> ContentHash {
        #[derive(Serialize)]
        struct Canonical<'a> {
            intent: &'a str,
            description: Option<&'a str>,
            diff: Option<&'a str>,
            base_commit: Option<&'a str>,
        }
        let canonical = Canonical {
            intent: &self.intent,
            description: self.description.as_deref(),
            diff: self.diff.as_deref(),
            base_commit: self.base_commit.as_deref(),
        };
        ContentHash(hex(&json_sha256(&canonical)))
    }
}

/// A short fingerprint that recognises a repeated call.
pub fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize()[..12])
}

/// Like [`digest`], of a value's JSON.
pub fn digest_json(value: &impl Serialize) -> String {
    hex(&json_sha256(value)[..12])
}

fn json_sha256(value: &impl Serialize) -> [u8; 32] {
    let mut hasher = HashWriter(Sha256::new());
    // Writing into a hasher cannot fail, and the values have no maps with keys that JSON lacks.
    let _ = serde_json::to_writer(&mut hasher, value);
    hasher.0.finalize().into()
}

struct HashWriter(Sha256);

impl std::io::Write for HashWriter {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.update(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, digest};

    fn content(intent: &str, diff: Option<&str>) -> Content {
        Content {
            intent: intent.into(),
            description: None,
            diff: diff.map(Into::into),
            base_commit: None,
            files: Vec::new(),
            flags: Vec::new(),
            diff_note: None,
        }
    }

    #[test]
    fn the_hash_is_the_sha256_of_the_documented_json() {
        // printf '%s' '{"intent":"a","description":null,"diff":null,"base_commit":null}' | sha256sum
        assert_eq!(content("a", None).hash().0, "ba8c0db1a148a197dcb55d109132998b399f583ccc0214302ade6773b00f0a14");
    }

    #[test]
    fn a_missing_diff_and_an_empty_diff_have_different_hashes() {
        assert_ne!(content("a", None).hash(), content("a", Some("")).hash());
    }

    #[test]
    fn a_digest_keeps_its_parts_apart() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
    }
}
