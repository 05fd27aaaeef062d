//! Who a token belongs to.

use super::{Answer, Broker};
use crate::{
    passes::{Caller, SecretHash},
    prepare::unreadable,
};

impl Broker {
    /// The caller that shows this secret, if it is one of ours and not revoked. Looked up each time, so
    /// that a revocation counts from the next call on.
    pub async fn identify(&self, secret: &str) -> Answer<Option<Caller>> {
        let hash = SecretHash::of(secret);
        if let Some(caller) = self.passes().find_hashed(&hash) {
            return Ok(Some(caller));
        }
        let token = self.0.context.reader.find_live_token(&hash).await.map_err(unreadable)?;
        Ok(token.map(|token| Caller {
            authority: token.authority,
            scope: token.scope(),
            identity: token.identity,
            pass: None,
        }))
    }

    /// The project of proposals that name none.
    pub fn own_project(&self) -> Option<&str> {
        self.0.context.projects.own().map(|(name, _)| name)
    }
}
