//! Browser sessions: a page signs in once with a code or a token and then sends a cookie. A session ends when it
//! expires, when the user signs out, or when its token is revoked.

use super::{Answer, Broker};
use crate::Revocations;
use crate::credentials::{Caller, SecretHash, ShownSecret};
use domain::time::Timestamp;
use std::time::Duration;
use store::{BrowserSessionChange, new_secret};

impl Broker {
    /// The caller whose session has this hash, if it is valid.
    pub async fn identify_session(&self, hash: &SecretHash) -> Answer<Option<(Caller, ShownSecret)>> {
        let found = self.reader().find_live_session(hash, self.wall_clock()).await?;
        Ok(found.map(|session| {
            let (token, caller) = match session.token {
                Some((hash, token)) => (Some(hash), token.into()),
                None => (None, Caller::local_operator()),
            };
            (caller, ShownSecret::BrowserSession { hash: hash.clone(), token })
        }))
    }

    /// Whether a secret that was shown before is still valid.
    pub async fn is_still_valid(&self, secret: &ShownSecret) -> Answer<bool> {
        Ok(match secret {
            ShownSecret::Token(hash) => self.identify(hash).await?.is_some(),
            ShownSecret::BrowserSession { hash, .. } => self.identify_session(hash).await?.is_some(),
        })
    }

    /// Begins to notice secrets that end.
    pub fn revocations(&self) -> Revocations {
        Revocations::of(self.clone(), &self.0.shared.revocations)
    }

    /// Creates a session for the holder of a token and returns its caller and its secret. `None` if the token is not
    /// valid, or belongs to a reviewer process: its credential ends with it.
    pub async fn create_session(&self, token: &SecretHash, lifetime: Duration) -> Answer<Option<(Caller, String)>> {
        let Some(caller) = self.identify(token).await?.filter(|caller| caller.credential.is_none()) else {
            return Ok(None);
        };
        let (secret, at) = (new_secret(), self.wall_clock());
        let lifetime_ms = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        let change = BrowserSessionChange::Create {
            hash: SecretHash::from_secret(&secret),
            token: (!caller.is_local_operator()).then(|| token.clone()),
            at,
            expires_at: Timestamp(at.0.saturating_add(lifetime_ms)),
        };
        self.0.submissions.reviews.update_browser_session(change).await?;
        Ok(Some((caller, secret)))
    }

    pub async fn end_session(&self, hash: SecretHash) -> Answer<()> {
        self.0.submissions.reviews.update_browser_session(BrowserSessionChange::Remove { hash }).await?;
        self.0.shared.revocations.notify();
        Ok(())
    }
}
