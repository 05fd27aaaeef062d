//! Decides which connections may call without a token, and keeps reviewers of the pool to their own credential.
//!
//! Without required tokens the broker trusts the processes of its own user. A reviewer is one of them, and reads text of
//! others that may manipulate it. So while reviewers live, the broker looks which process holds a connection.

use super::{connections::Peer, peer_user::PeerUser};
use actors::{Broker, Caller, reviewer_process::SocketHolder};
use api::{ErrorBody, ErrorCode};
use tokio::task::spawn_blocking;

/// Callers that need no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenlessCallers {
    None,
    /// Processes of the broker's own user.
    OwnUser,
    #[default]
    Any,
}

const HOW_TO_GET_ONE: &str = "the broker's user creates one with `countersign token create --role ROLE --name NAME`; send \
                              it as `Authorization: Bearer …`, or set COUNTERSIGN_TOKEN for `countersign`";

impl TokenlessCallers {
    /// Why a call from this connection needs a token; `None` if it needs none.
    pub(super) fn token_needed(self, peer: Option<&Peer>) -> Option<ErrorBody> {
        let why = match (self, peer.map(|peer| peer.user)) {
            (Self::Any, _) | (Self::OwnUser, Some(PeerUser::OwnUser { .. })) => return None,
            (Self::None, _) => {
                let error = "this broker requires a token (Authorization: Bearer …); create one with `countersign \
                             token create`, or sign in to the page with `countersign open`";
                return Some(ErrorBody::new(ErrorCode::TokenNeeded, error));
            }
            (Self::OwnUser, Some(PeerUser::OtherUser { uid })) => {
                format!("this connection comes from another user of this machine (uid {uid})")
            }
            (Self::OwnUser, Some(PeerUser::Unsupported)) => {
                "this system does not say which user a connection comes from (auth.local_users = \"any\" accepts all)"
                    .to_owned()
            }
            (Self::OwnUser, Some(PeerUser::Unseen) | None) => {
                "the broker cannot see which user this connection comes from, for example because a container or a proxy \
                 is between them"
                    .to_owned()
            }
        };
        let error = format!("{why}; only the broker's own user may call without a token; {HOW_TO_GET_ONE}");
        Some(ErrorBody::new(ErrorCode::TokenNeeded, error))
    }
}

/// Refuses processes of a pool reviewer that call without their own credential.
pub(super) async fn refuse_reviewers(broker: &Broker, peer: &Peer, caller: Option<&Caller>) -> Result<(), ErrorBody> {
    let PeerUser::OwnUser { inode } = peer.user else { return Ok(()) };
    if caller.is_some_and(|caller| caller.credential.is_some()) {
        return Ok(());
    }
    let holder = match peer.holder.get() {
        Some(holder) => *holder,
        // A connection from before the first reviewer belongs to none.
        None if !broker.credentials().any_reviewer_lives() => SocketHolder::Other,
        None => {
            let find = async || spawn_blocking(move || SocketHolder::find(inode)).await.unwrap_or(SocketHolder::Unseen);
            *peer.holder.get_or_init(find).await
        }
    };
    match (holder, caller) {
        (SocketHolder::Other, _) | (SocketHolder::Unseen, Some(_)) => Ok(()),
        (SocketHolder::Reviewer, None) => {
            let error = "a process of a pool reviewer needs the reviewer's own token (COUNTERSIGN_TOKEN)";
            Err(ErrorBody::new(ErrorCode::TokenNeeded, error))
        }
        (SocketHolder::Reviewer, Some(_)) => {
            let error = "a process of a pool reviewer may use only the reviewer's own token (COUNTERSIGN_TOKEN)";
            Err(ErrorBody::new(ErrorCode::WrongIdentity, error))
        }
        (SocketHolder::Unseen, None) => {
            let error = format!(
                "the broker cannot see which process this connection belongs to, and pool reviewers run that may not \
                 act under other names; call with a token: {HOW_TO_GET_ONE}"
            );
            Err(ErrorBody::new(ErrorCode::TokenNeeded, error))
        }
    }
}
