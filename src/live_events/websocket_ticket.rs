//! Issues and redeems tickets for opening a WebSocket. A browser cannot send a token then, so a page first asks for a
//! ticket and puts it into the address. A ticket is valid once and for a short time, so it does not matter if the
//! address is logged.

use super::stream_limits::token_share;
use actors::Caller;
use domain::credential::SecretHash;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::new_secret;
use tokio::time::Instant;

pub(crate) const TICKET_LIFETIME: Duration = Duration::from_secs(30);

/// Most unused tickets. Further requests are refused, so that no caller's ticket ends early because of another.
const MAX_TICKETS: usize = 1024;

/// The caller that a ticket was issued to.
#[derive(Debug, Clone)]
pub(crate) struct TicketHolder {
    pub(crate) caller: Option<Caller>,
    /// The hash of the token that the caller has shown.
    pub(crate) secret: Option<SecretHash>,
}

/// Unused tickets. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tickets(Arc<Mutex<HashMap<SecretHash, (Instant, TicketHolder)>>>);

impl Tickets {
    /// `None` if there are too many unused tickets, in total or of this holder.
    pub(crate) fn issue(&self, holder: TicketHolder) -> Option<String> {
        self.issue_at(holder, Instant::now())
    }

    fn issue_at(&self, holder: TicketHolder, now: Instant) -> Option<String> {
        let ticket = new_secret();
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (until, _)| *until > now);
        let own = tickets.values().filter(|(_, other)| other.secret == holder.secret).count();
        if tickets.len() >= MAX_TICKETS || own >= token_share(MAX_TICKETS) {
            return None;
        }
        tickets.insert(SecretHash::from_secret(&ticket), (now + TICKET_LIFETIME, holder));
        Some(ticket)
    }

    /// Uses a ticket up and returns its holder. `None` if it is unknown, used or expired.
    pub(crate) fn redeem(&self, ticket: &str) -> Option<TicketHolder> {
        self.redeem_at(ticket, Instant::now())
    }

    fn redeem_at(&self, ticket: &str, now: Instant) -> Option<TicketHolder> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, holder) = tickets.remove(&SecretHash::from_secret(ticket))?;
        (until > now).then_some(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TICKETS, SecretHash, TICKET_LIFETIME, TicketHolder, Tickets, token_share};
    use std::time::Duration;
    use tokio::time::Instant;

    const ANONYMOUS: TicketHolder = TicketHolder { caller: None, secret: None };

    fn holder(number: usize) -> TicketHolder {
        TicketHolder { caller: None, secret: Some(SecretHash::from_secret(&number.to_string())) }
    }

    #[test]
    fn a_ticket_is_valid_once_and_for_its_lifetime() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let ticket = tickets.issue_at(ANONYMOUS, now).unwrap();
        assert!(tickets.redeem_at("cs_unknown", now).is_none());
        assert!(tickets.redeem_at(&ticket, now).is_some());
        assert!(tickets.redeem_at(&ticket, now).is_none(), "once");

        let late = tickets.issue_at(ANONYMOUS, now).unwrap();
        assert!(tickets.redeem_at(&late, now + TICKET_LIFETIME).is_none());
        let in_time = tickets.issue_at(ANONYMOUS, now).unwrap();
        assert!(tickets.redeem_at(&in_time, now + TICKET_LIFETIME - Duration::from_millis(1)).is_some());
    }

    #[test]
    fn a_caller_with_too_many_tickets_takes_none_from_others() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let first = tickets.issue_at(holder(0), now).unwrap();
        for _ in 0..token_share(MAX_TICKETS) {
            tickets.issue_at(holder(1), now).unwrap();
        }
        assert_eq!(tickets.issue_at(holder(1), now), None);
        assert!(tickets.redeem_at(&first, now).is_some());
        assert!(tickets.issue_at(holder(1), now + TICKET_LIFETIME).is_some(), "until they have ended");
    }

    #[test]
    fn unused_tickets_do_not_pile_up() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        for number in 0..MAX_TICKETS {
            tickets.issue_at(holder(number), now).unwrap();
        }
        assert_eq!(tickets.issue_at(holder(MAX_TICKETS), now), None);
        tickets.issue_at(ANONYMOUS, now + 2 * TICKET_LIFETIME).unwrap();
        assert_eq!(tickets.0.lock().unwrap().len(), 1);
    }
}
