//! Identifying callers by their token.

use super::{Answer, Broker};
use crate::credentials::{Caller, SecretHash};

impl Broker {
    /// The caller with this secret, if it is valid. Looked up for every call, so that a revoked token stops working at
    /// once.
    pub async fn identify(&self, secret: &str) -> Answer<Option<Caller>> {
        self.identify_hashed(&SecretHash::from_secret(secret)).await
    }

    /// The project of proposals that do not name one.
    pub fn own_project(&self) -> Option<&str> {
        self.0.context.projects.own().map(|(name, _)| name)
    }
}
