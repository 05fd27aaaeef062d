//! Issues and redeems one-time codes that stand for a caller: tickets for opening a WebSocket, where a browser cannot send
//! a token, and codes with which a browser signs in. A code is valid once and for a short time, because it is part of an
//! address, which may be logged.

use actors::{
    Caller,
    credentials::{SecretHash, ShownSecret},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::new_secret;
use tokio::time::Instant;

pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(30);

/// Most unused codes. Further requests are refused, so that no caller's code ends early because of another.
const MAX_CODES: usize = 1024;

/// Most unused codes of one token.
const MAX_CODES_OF_TOKEN: usize = MAX_CODES / 4;

/// The caller that a code was issued to.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeHolder {
    pub(crate) caller: Option<Caller>,
    /// The secret that the caller has shown.
    pub(crate) secret: Option<ShownSecret>,
}

impl CodeHolder {
    fn token(&self) -> Option<&SecretHash> {
        self.secret.as_ref().map(ShownSecret::token)
    }
}

/// Unused codes of one kind. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct OneTimeCodes(Arc<Mutex<HashMap<SecretHash, (Instant, CodeHolder)>>>);

impl OneTimeCodes {
    /// `None` if there are too many unused codes, in total or of this holder.
    pub(crate) fn issue(&self, holder: CodeHolder) -> Option<String> {
        self.issue_at(holder, Instant::now())
    }

    fn issue_at(&self, holder: CodeHolder, now: Instant) -> Option<String> {
        let code = new_secret();
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, (until, _)| *until > now);
        let own = codes.values().filter(|(_, other)| other.token() == holder.token()).count();
        if codes.len() >= MAX_CODES || own >= MAX_CODES_OF_TOKEN {
            return None;
        }
        codes.insert(SecretHash::from_secret(&code), (now + CODE_LIFETIME, holder));
        Some(code)
    }

    /// Uses a code up and returns its holder. `None` if it is unknown, used or expired.
    pub(crate) fn redeem(&self, code: &str) -> Option<CodeHolder> {
        self.redeem_at(code, Instant::now())
    }

    fn redeem_at(&self, code: &str, now: Instant) -> Option<CodeHolder> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, holder) = codes.remove(&SecretHash::from_secret(code))?;
        (until > now).then_some(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::{CODE_LIFETIME, CodeHolder, MAX_CODES, MAX_CODES_OF_TOKEN, OneTimeCodes, SecretHash, ShownSecret};
    use std::time::Duration;
    use tokio::time::Instant;

    const ANONYMOUS: CodeHolder = CodeHolder { caller: None, secret: None };

    fn holder(number: usize) -> CodeHolder {
        CodeHolder { caller: None, secret: Some(ShownSecret::Token(SecretHash::from_secret(&number.to_string()))) }
    }

    #[test]
    fn a_code_is_valid_once_and_for_its_lifetime() {
        let (codes, now) = (OneTimeCodes::default(), Instant::now());
        let code = codes.issue_at(ANONYMOUS, now).unwrap();
        assert!(codes.redeem_at("cs_unknown", now).is_none());
        assert!(codes.redeem_at(&code, now).is_some());
        assert!(codes.redeem_at(&code, now).is_none(), "once");

        let late = codes.issue_at(ANONYMOUS, now).unwrap();
        assert!(codes.redeem_at(&late, now + CODE_LIFETIME).is_none());
        let in_time = codes.issue_at(ANONYMOUS, now).unwrap();
        assert!(codes.redeem_at(&in_time, now + CODE_LIFETIME - Duration::from_millis(1)).is_some());
    }

    #[test]
    fn a_caller_with_too_many_codes_takes_none_from_others() {
        let (codes, now) = (OneTimeCodes::default(), Instant::now());
        let first = codes.issue_at(holder(0), now).unwrap();
        for _ in 0..MAX_CODES_OF_TOKEN {
            codes.issue_at(holder(1), now).unwrap();
        }
        assert_eq!(codes.issue_at(holder(1), now), None);
        assert!(codes.redeem_at(&first, now).is_some());
        assert!(codes.issue_at(holder(1), now + CODE_LIFETIME).is_some(), "until they have ended");
    }

    #[test]
    fn unused_codes_do_not_pile_up() {
        let (codes, now) = (OneTimeCodes::default(), Instant::now());
        for number in 0..MAX_CODES {
            codes.issue_at(holder(number), now).unwrap();
        }
        assert_eq!(codes.issue_at(holder(MAX_CODES), now), None);
        codes.issue_at(ANONYMOUS, now + 2 * CODE_LIFETIME).unwrap();
        assert_eq!(codes.0.lock().unwrap().len(), 1);
    }
}
