//! Types for what a token allows: the role of its holder and the projects it is limited to.

use crate::{ids::ReviewNumber, text::hex};
use sha2::{Digest as _, Sha256};

/// The name that the local user's own commands act under.
pub const LOCAL_OPERATOR: &str = "operator";

crate::string_enum! {
    /// What the holder of a token may do. An operator may do everything the others may, under any name.
    Authority { Proposer = "proposer", Reviewer = "reviewer", Operator = "operator" }
}

/// The projects whose reviews a token gives access to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Only this project; `None` stands for the reviews without a project.
    Project(Option<String>),
    /// Only this review, which belongs to this project.
    Review {
        project: Option<String>,
        number: ReviewNumber,
    },
}

impl Scope {
    pub fn allows(&self, project: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Project(own) | Self::Review { project: own, .. } => own.as_deref() == project,
        }
    }

    /// The only review that it allows.
    pub const fn only_review(&self) -> Option<ReviewNumber> {
        match self {
            Self::Review { number, .. } => Some(*number),
            Self::All | Self::Project(_) => None,
        }
    }
}

/// SHA-256 of a token's secret in lowercase hex. The broker stores and compares only this. A secret has 256 random
/// bits, so neither a salt nor a slow hash would make it harder to guess.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretHash(String);

impl SecretHash {
    pub fn from_secret(secret: &str) -> Self {
        Self(hex(&Sha256::digest(secret.as_bytes())))
    }

    /// The hash as it was stored.
    pub fn from_stored(hash: String) -> Self {
        Self(hash)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, SecretHash};

    #[test]
    fn a_scope_allows_one_project_or_all() {
        let project = Scope::Project(Some("app".into()));
        assert!(project.allows(Some("app")) && !project.allows(Some("web")) && !project.allows(None));
        let without = Scope::Project(None);
        assert!(without.allows(None) && !without.allows(Some("app")));
        assert!(Scope::All.allows(Some("app")) && Scope::All.allows(None));
    }

    #[test]
    fn the_hash_is_plain_sha256() {
        // printf '%s' cs_a | sha256sum
        let expected = "2c784ed4a95ce3417ceb6be12c5e0963088576abf336994727cffe5da431dc79";
        assert_eq!(SecretHash::from_secret("cs_a").as_str(), expected);
    }
}
