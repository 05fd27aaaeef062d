//! Who a token belongs to.

use super::{Answer, Broker};
use crate::credentials::{Caller, SecretHash};

impl Broker {
    /// The caller that shows this secret, if it is one of ours and not revoked. Looked up each time, so
    /// that a revocation counts from the next call on.
    pub async fn identify(&self, secret: &str) -> Answer<Option<Caller>> {
        self.identify_hashed(&SecretHash::from_secret(secret)).await
    }

    /// The project of proposals that name none.
    pub fn own_project(&self) -> Option<&str> {
        self.0.context.projects.own().map(|(name, _)| name)
    }
}
