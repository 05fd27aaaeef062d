//! The content of a round, and the hash that an approval is bound to.

use crate::diff::{AffectedFile, Flag};
use crate::text::hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

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
