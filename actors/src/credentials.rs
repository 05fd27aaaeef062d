//! Who a caller is that has shown a token, and the passes of this run: they are kept in memory only, so
//! that none is good for longer than the broker that gave it.

pub use domain::credential::{Authority, LOCAL_OPERATOR, Scope, SecretHash};

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
    /// Only a reviewer that the pool has started has one.
    pub credential: Option<Arc<ReviewerCredential>>,
}

impl Caller {
    /// The name it goes by where a call gives none. The local user's commands carry the calls of
    /// whoever uses them, so they speak for nobody by themselves.
    pub fn name(&self) -> Option<&str> {
        let is_local = self.authority == Authority::Operator && self.identity == LOCAL_OPERATOR;
        (!is_local).then_some(&self.identity)
    }
}

/// A pool reviewer's pass: it ends with its process.
#[derive(Debug)]
pub struct ReviewerCredential {
    identity: String,
    scope: Scope,
    draining: CancellationToken,
    claiming: AtomicUsize,
}

/// A claim on its way.
#[derive(Debug)]
pub struct Claiming<'a>(&'a ReviewerCredential);

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        self.0.claiming.fetch_sub(1, SeqCst);
    }
}

impl ReviewerCredential {
    pub fn identity(&self) -> &str {
        &self.identity
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// From now on its holder gets no new claim; what it holds it may finish.
    pub fn drain(&self) {
        self.draining.cancel();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Its holder is about to claim: until the guard is dropped nobody can say what it holds. Taken before
    /// [`Self::is_draining`] is asked, so that either the claim or the draining sees the other.
    pub fn claim(&self) -> Claiming<'_> {
        self.claiming.fetch_add(1, SeqCst);
        Claiming(self)
    }

    pub fn is_claiming(&self) -> bool {
        self.claiming.load(SeqCst) > 0
    }

    /// Resolves when draining begins.
    pub async fn drained(&self) {
        self.draining.cancelled().await;
    }
}

/// All passes of this run.
#[derive(Debug, Clone, Default)]
pub struct Credentials(Arc<RwLock<Issued>>);

#[derive(Debug, Default)]
struct Issued {
    /// By hash, so that how long a search takes says nothing about a secret.
    holders: HashMap<SecretHash, Holder>,
    /// Also those that have ended: until what one held is given back, nobody else is to speak for it.
    reviewers: HashMap<String, Option<SecretHash>>,
}

#[derive(Debug)]
enum Holder {
    Reviewer(Arc<ReviewerCredential>),
    LocalOperator,
}

impl Credentials {
    /// A reviewer's pass and its secret, which is kept nowhere. An older one of the same name ends.
    pub fn issue(&self, identity: &str, scope: Scope) -> (String, Arc<ReviewerCredential>) {
        let secret = new_secret();
        let hash = SecretHash::of(&secret);
        let credential = Arc::new(ReviewerCredential {
            identity: identity.to_owned(),
            scope,
            draining: CancellationToken::new(),
            claiming: AtomicUsize::new(0),
        });
        let mut issued = self.write();
        issued.revoke(identity);
        issued.holders.insert(hash.clone(), Holder::Reviewer(Arc::clone(&credential)));
        issued.reviewers.insert(identity.to_owned(), Some(hash));
        (secret, credential)
    }

    /// The secret by which the local user's own commands act on this broker.
    pub fn issue_local_operator(&self) -> String {
        let secret = new_secret();
        self.write().holders.insert(SecretHash::of(&secret), Holder::LocalOperator);
        secret
    }

    /// Ends a reviewer's pass, and what waits with it.
    pub fn revoke(&self, identity: &str) {
        self.write().revoke(identity);
    }

    /// Ends the passes of all reviewers: whoever gave them is gone.
    pub fn revoke_reviewers(&self) {
        let mut issued = self.write();
        for identity in issued.reviewers.keys().cloned().collect::<Vec<_>>() {
            issued.revoke(&identity);
        }
    }

    pub fn find(&self, secret: &str) -> Option<Caller> {
        self.find_hashed(&SecretHash::of(secret))
    }

    pub fn find_hashed(&self, hash: &SecretHash) -> Option<Caller> {
        Some(match self.read().holders.get(hash)? {
            Holder::Reviewer(credential) => Caller {
                authority: Authority::Reviewer,
                identity: credential.identity.clone(),
                scope: credential.scope.clone(),
                credential: Some(Arc::clone(credential)),
            },
            Holder::LocalOperator => Caller {
                authority: Authority::Operator,
                identity: LOCAL_OPERATOR.into(),
                scope: Scope::All,
                credential: None,
            },
        })
    }

    /// Keeps the names of reviewers of earlier runs: what they hold or have said is nobody else's.
    pub(crate) fn remember(&self, identities: Vec<String>) {
        let mut issued = self.write();
        for identity in identities {
            issued.reviewers.entry(identity).or_default();
        }
    }

    /// Whether a pool reviewer goes by this name, or did, so that nobody else may.
    pub fn is_issued(&self, identity: &str) -> bool {
        self.read().reviewers.contains_key(identity)
    }

    fn read(&self) -> RwLockReadGuard<'_, Issued> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Issued> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Issued {
    fn revoke(&mut self, identity: &str) {
        let ended = self.reviewers.get_mut(identity).and_then(Option::take).and_then(|hash| self.holders.remove(&hash));
        if let Some(Holder::Reviewer(credential)) = ended {
            credential.drain();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Authority, Credentials, Scope};

    #[test]
    fn a_pass_is_found_by_its_secret_until_it_is_revoked() {
        let credentials = Credentials::default();
        let (secret, credential) = credentials.issue("codex-r1-a7f3", Scope::Project(Some("app".into())));
        let caller = credentials.find(&secret).expect("issued");
        assert_eq!((caller.authority, caller.identity.as_str()), (Authority::Reviewer, "codex-r1-a7f3"));
        assert_eq!(caller.scope, Scope::Project(Some("app".into())));
        assert!(credentials.is_issued("codex-r1-a7f3") && !credentials.is_issued("codex-r1"));
        assert!(credentials.find(&secret[..secret.len() - 1]).is_none());
        assert!(!credential.is_draining());

        credentials.revoke("codex-r1-a7f3");
        assert!(credentials.find(&secret).is_none());
        assert!(credentials.is_issued("codex-r1-a7f3"), "it is still nobody else's name");
        assert!(credential.is_draining());
    }

    #[test]
    fn a_new_pass_ends_the_old_one_of_that_name() {
        let credentials = Credentials::default();
        let (old, first) = credentials.issue("r1", Scope::All);
        let (new, second) = credentials.issue("r1", Scope::All);
        assert!(credentials.find(&old).is_none() && credentials.find(&new).is_some());
        assert!(first.is_draining() && !second.is_draining());
    }

    #[test]
    fn the_local_operator_is_no_reviewer() {
        let credentials = Credentials::default();
        let caller = credentials.find(&credentials.issue_local_operator()).expect("issued");
        assert_eq!(caller.authority, Authority::Operator);
        assert!(caller.credential.is_none() && !credentials.is_issued(&caller.identity));
    }

    #[tokio::test]
    async fn whoever_waits_hears_that_draining_begins() {
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
