//! Looks up callers by their token, and keeps the tokens that this broker gave to its reviewer processes. Those are in
//! memory only, so they end with the broker.

pub use domain::credential::{Authority, LOCAL_OPERATOR, Scope, SecretHash};

use domain::identity::identity_key;
use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use store::new_secret;
use tokio_util::sync::CancellationToken;

/// A caller that has shown a token.
#[derive(Debug, Clone)]
pub struct Caller {
    pub authority: Authority,
    pub identity: String,
    pub scope: Scope,
    /// Set for reviewers that the pool has started.
    pub credential: Option<Arc<ReviewerCredential>>,
}

impl Caller {
    /// The local user, who may read the secret in the data folder.
    pub fn local_operator() -> Self {
        Self { authority: Authority::Operator, identity: LOCAL_OPERATOR.into(), scope: Scope::All, credential: None }
    }

    pub fn is_local_operator(&self) -> bool {
        self.authority == Authority::Operator && self.identity == LOCAL_OPERATOR
    }

    /// The name used if a call gives none. The local operator has no default name, because different people and agents
    /// use it.
    pub fn name(&self) -> Option<&str> {
        (!self.is_local_operator()).then_some(&self.identity)
    }
}

impl From<store::Token> for Caller {
    fn from(token: store::Token) -> Self {
        Self { authority: token.authority, scope: token.scope(), identity: token.identity, credential: None }
    }
}

/// The secret that a caller has shown. A stream of events checks again and again whether it is still valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownSecret {
    Token(SecretHash),
    /// The cookie of a browser, and the token that it signed in with; `None`: the local operator's.
    BrowserSession {
        hash: SecretHash,
        token: Option<SecretHash>,
    },
}

impl ShownSecret {
    /// Stands for all secrets of one token.
    pub const fn token(&self) -> &SecretHash {
        match self {
            Self::Token(hash) | Self::BrowserSession { hash, token: None } => hash,
            Self::BrowserSession { token: Some(token), .. } => token,
        }
    }
}

/// The credential of a pool reviewer. It is revoked when the reviewer's process exits.
#[derive(Debug, Default)]
pub struct ReviewerCredential {
    /// The only persona whose seats it may claim.
    persona: Option<String>,
    draining: CancellationToken,
    claiming: AtomicUsize,
}

/// A claim in progress.
#[derive(Debug)]
pub struct Claiming<'a>(&'a ReviewerCredential);

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        self.0.claiming.fetch_sub(1, SeqCst);
    }
}

impl ReviewerCredential {
    /// The only persona whose seats it may claim.
    pub fn persona(&self) -> Option<&str> {
        self.persona.as_deref()
    }

    /// From now on the reviewer gets no new claim; it may finish the claims it holds.
    pub fn drain(&self) {
        self.draining.cancel();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Marks a claim in progress until the guard is dropped. Take the guard before checking [`Self::is_draining`], so that
    /// either the claim sees the draining or the draining sees the claim.
    pub fn claim(&self) -> Claiming<'_> {
        self.claiming.fetch_add(1, SeqCst);
        Claiming(self)
    }

    pub fn is_claiming(&self) -> bool {
        self.claiming.load(SeqCst) > 0
    }

    /// Resolves when draining starts.
    pub async fn drained(&self) {
        self.draining.cancelled().await;
    }
}

/// All credentials of this run.
#[derive(Debug, Clone, Default)]
pub struct Credentials(Arc<RwLock<Issued>>);

#[derive(Debug, Default)]
struct Issued {
    /// By hash, so that the time of a lookup reveals nothing about a secret.
    holders: HashMap<SecretHash, Caller>,
    /// All reviewers, including those that have exited: their names stay reserved, because their claims may not have been
    /// released yet.
    /// By [`identity_key`].
    reviewers: HashMap<String, Option<SecretHash>>,
}

impl Credentials {
    /// Issues a credential and its secret, of which only the hash is kept. Revokes an older credential of this name.
    pub fn issue(&self, identity: &str, scope: Scope) -> (String, Arc<ReviewerCredential>) {
        self.issue_bound(identity, scope, None)
    }

    /// Like [`Self::issue`], for an agent that may claim only seats of `persona`.
    pub fn issue_bound(
        &self,
        identity: &str,
        scope: Scope,
        persona: Option<String>,
    ) -> (String, Arc<ReviewerCredential>) {
        let secret = new_secret();
        let hash = SecretHash::from_secret(&secret);
        let credential = Arc::new(ReviewerCredential { persona, ..ReviewerCredential::default() });
        let holder = Caller {
            authority: Authority::Reviewer,
            identity: identity.to_owned(),
            scope,
            credential: Some(Arc::clone(&credential)),
        };
        let mut issued = self.write();
        issued.revoke(&identity_key(identity));
        issued.holders.insert(hash.clone(), holder);
        issued.reviewers.insert(identity_key(identity).into_owned(), Some(hash));
        (secret, credential)
    }

    /// Issues the secret for the local user's own commands.
    pub fn issue_local_operator(&self) -> String {
        let secret = new_secret();
        self.write().holders.insert(SecretHash::from_secret(&secret), Caller::local_operator());
        secret
    }

    /// Revokes a reviewer's credential and wakes its waiting calls.
    pub fn revoke(&self, identity: &str) {
        self.write().revoke(&identity_key(identity));
    }

    pub fn revoke_reviewers(&self) {
        let mut issued = self.write();
        for key in issued.reviewers.keys().cloned().collect::<Vec<_>>() {
            issued.revoke(&key);
        }
    }

    pub fn find(&self, secret: &str) -> Option<Caller> {
        self.find_hashed(&SecretHash::from_secret(secret))
    }

    pub fn find_hashed(&self, hash: &SecretHash) -> Option<Caller> {
        self.read().holders.get(hash).cloned()
    }

    /// Reserves the names of reviewers of earlier runs, so that no other caller can act under them.
    pub(crate) fn reserve(&self, identities: Vec<String>) {
        let mut issued = self.write();
        for identity in identities {
            issued.reviewers.entry(identity_key(&identity).into_owned()).or_default();
        }
    }

    /// Whether the name belongs to a pool reviewer of this or an earlier run. No other caller may use it.
    pub fn is_reserved(&self, identity: &str) -> bool {
        self.read().reviewers.contains_key(&*identity_key(identity))
    }

    /// Whether a reviewer that the broker has started may still run.
    pub fn any_reviewer_lives(&self) -> bool {
        self.read().reviewers.values().any(Option::is_some)
    }

    fn read(&self) -> RwLockReadGuard<'_, Issued> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Issued> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Issued {
    fn revoke(&mut self, key: &str) {
        let ended = self.reviewers.get_mut(key).and_then(Option::take).and_then(|hash| self.holders.remove(&hash));
        if let Some(credential) = ended.and_then(|holder| holder.credential) {
            credential.drain();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Authority, Credentials, Scope};

    #[test]
    fn a_credential_is_found_by_its_secret_until_it_is_revoked() {
        let credentials = Credentials::default();
        let (secret, credential) = credentials.issue("codex-r1-a7f3", Scope::Project(Some("app".into())));
        let caller = credentials.find(&secret).expect("issued");
        assert_eq!((caller.authority, caller.identity.as_str()), (Authority::Reviewer, "codex-r1-a7f3"));
        assert_eq!(caller.scope, Scope::Project(Some("app".into())));
        assert!(credentials.is_reserved("codex-r1-a7f3") && !credentials.is_reserved("codex-r1"));
        assert!(credentials.find(&secret[..secret.len() - 1]).is_none());
        assert!(!credential.is_draining());

        credentials.revoke("codex-r1-a7f3");
        assert!(credentials.find(&secret).is_none());
        assert!(credentials.is_reserved("codex-r1-a7f3"), "its name stays reserved");
        assert!(credential.is_draining());
    }

    #[test]
    fn a_new_credential_revokes_the_old_one_of_that_name() {
        let credentials = Credentials::default();
        let (old, first) = credentials.issue("r1", Scope::All);
        let (new, second) = credentials.issue("r1", Scope::All);
        assert!(credentials.find(&old).is_none() && credentials.find(&new).is_some());
        assert!(first.is_draining() && !second.is_draining());
    }

    #[test]
    fn the_local_operator_is_not_a_reviewer() {
        let credentials = Credentials::default();
        let caller = credentials.find(&credentials.issue_local_operator()).expect("issued");
        assert_eq!(caller.authority, Authority::Operator);
        assert!(caller.credential.is_none() && !credentials.is_reserved(&caller.identity));
    }

    #[tokio::test]
    async fn a_waiting_call_is_woken_when_draining_starts() {
        let (_, credential) = Credentials::default().issue("r1", Scope::All);
        let waiting = tokio::spawn({
            let credential = std::sync::Arc::clone(&credential);
            async move { credential.drained().await }
        });
        credential.drain();
        waiting.await.expect("woken");
        assert!(credential.is_draining());
        credential.drained().await;
    }
}
