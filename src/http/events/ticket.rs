//! Tickets: a page in a browser cannot show a token when it opens a WebSocket, so it gets a ticket first. One is good
//! once, for a moment, so it does not matter where the address that holds it is written down.

use super::{Events, place::share};
use crate::{
    http::{api::problem, problem::with_json},
    service::CallError,
};
use actors::{Caller, credentials::SecretHash};
use api::{ErrorBody, ErrorCode};
use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::new_secret;
use tokio::time::Instant;

const GOOD_FOR: Duration = Duration::from_secs(30);

/// More than all need within that time. Whoever asks for more is refused: nobody's ticket ends early for another's.
const MAX: usize = 1024;

/// Who a ticket was given to.
#[derive(Debug, Clone)]
pub(in crate::http) struct Holder {
    pub(in crate::http) caller: Option<Caller>,
    pub(in crate::http) secret: Option<SecretHash>,
}

/// Those that were given and not yet used.
#[derive(Debug, Clone, Default)]
pub struct Tickets(Arc<Mutex<HashMap<SecretHash, (Instant, Holder)>>>);

impl Tickets {
    /// None if there are too many, of all or of this holder.
    fn issue(&self, holder: Holder, now: Instant) -> Option<String> {
        let ticket = new_secret();
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|_, (until, _)| *until > now);
        let own = given.values().filter(|(_, other)| other.secret == holder.secret).count();
        if given.len() >= MAX || own >= share(MAX) {
            return None;
        }
        given.insert(SecretHash::of(&ticket), (now + GOOD_FOR, holder));
        Some(ticket)
    }

    /// Takes it back: the next one who shows it is refused.
    pub(in crate::http) fn redeem(&self, ticket: &str) -> Option<Holder> {
        self.redeem_at(ticket, Instant::now())
    }

    fn redeem_at(&self, ticket: &str, now: Instant) -> Option<Holder> {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, holder) = given.remove(&SecretHash::of(ticket))?;
        (until > now).then_some(holder)
    }
}

/// `POST /api/v1/ws-ticket`
pub(in crate::http) async fn issue(
    State(events): State<Events>,
    caller: Option<Extension<Caller>>,
    secret: Option<Extension<SecretHash>>,
) -> Response {
    let holder = Holder { caller: caller.map(|caller| caller.0), secret: secret.map(|secret| secret.0) };
    let Some(ticket) = events.0.tickets.issue(holder, Instant::now()) else {
        let refused =
            ErrorBody::new(ErrorCode::Busy, "too many tickets wait to be used; they end within half a minute");
        return problem(CallError::Refused(ErrorBody { retryable: true, ..refused }));
    };
    let body = json!({ "ticket": ticket, "expires_in_seconds": GOOD_FOR.as_secs() });
    let mut response = with_json(StatusCode::OK, &body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::{GOOD_FOR, Holder, MAX, SecretHash, Tickets, share};
    use std::time::Duration;
    use tokio::time::Instant;

    const NOBODY: Holder = Holder { caller: None, secret: None };

    fn holder(number: usize) -> Holder {
        Holder { caller: None, secret: Some(SecretHash::of(&number.to_string())) }
    }

    #[test]
    fn a_ticket_is_good_once_and_for_a_moment() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let ticket = tickets.issue(NOBODY, now).unwrap();
        assert!(tickets.redeem_at("cs_unknown", now).is_none());
        assert!(tickets.redeem_at(&ticket, now).is_some());
        assert!(tickets.redeem_at(&ticket, now).is_none(), "once");

        let late = tickets.issue(NOBODY, now).unwrap();
        assert!(tickets.redeem_at(&late, now + GOOD_FOR).is_none());
        let in_time = tickets.issue(NOBODY, now).unwrap();
        assert!(tickets.redeem_at(&in_time, now + GOOD_FOR - Duration::from_millis(1)).is_some());
    }

    #[test]
    fn whoever_takes_too_many_tickets_takes_none_from_others() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let first = tickets.issue(holder(0), now).unwrap();
        for _ in 0..share(MAX) {
            tickets.issue(holder(1), now).unwrap();
        }
        assert_eq!(tickets.issue(holder(1), now), None);
        assert!(tickets.redeem_at(&first, now).is_some());
        assert!(tickets.issue(holder(1), now + GOOD_FOR).is_some(), "until they have ended");
    }

    #[test]
    fn tickets_that_nobody_uses_do_not_pile_up() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        for number in 0..MAX {
            tickets.issue(holder(number), now).unwrap();
        }
        assert_eq!(tickets.issue(holder(MAX), now), None);
        tickets.issue(NOBODY, now + 2 * GOOD_FOR).unwrap();
        assert_eq!(tickets.0.lock().unwrap().len(), 1);
    }
}
