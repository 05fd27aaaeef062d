//! Limits how many bytes each caller may send within a minute, so that none of them fills the disk.

use actors::{Caller, credentials::Authority};
use api::{ErrorBody, ErrorCode};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// After this time a caller may send as much as at first.
const PERIOD: Duration = Duration::from_secs(60);

/// Beyond this number of callers, those that have not sent for a [`PERIOD`] are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// The callers and what they have sent. What a caller may send grows evenly over time.
pub(super) struct CallerQuota {
    bytes: u64,
    callers: Mutex<HashMap<CallerKey, Usage>>,
}

/// All callers without a token count as one: they choose their names themselves.
type CallerKey = Option<(Authority, String)>;

struct Usage {
    left: u64,
    at: Instant,
}

impl CallerQuota {
    pub(super) fn new(bytes: u64) -> Self {
        Self { bytes, callers: Mutex::default() }
    }

    /// Counts a request of this size, or refuses it.
    pub(super) fn charge(&self, caller: Option<&Caller>, size: usize) -> Result<(), ErrorBody> {
        self.charge_at(caller, size, Instant::now())
    }

    fn charge_at(&self, caller: Option<&Caller>, size: usize, now: Instant) -> Result<(), ErrorBody> {
        let (key, size) = (caller.map(|caller| (caller.authority, caller.identity.clone())), size as u64);
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() > MAX_REMEMBERED {
            callers.retain(|_, usage| now.saturating_duration_since(usage.at) < PERIOD);
        }
        let usage = callers.entry(key).or_insert(Usage { left: self.bytes, at: now });
        let grown = self.share(now.saturating_duration_since(usage.at));
        let left = usage.left.saturating_add(grown).min(self.bytes);
        if left < size {
            let wait_ms = (size - left).saturating_mul(60_000).div_ceil(self.bytes);
            let error = format!(
                "this caller has sent more than {} bytes within a minute (limits.caller_bytes); try again in {} s",
                self.bytes,
                wait_ms.div_ceil(1000)
            );
            return Err(ErrorBody::new(ErrorCode::QuotaExceeded, error).with("retry_after_ms", wait_ms));
        }
        // A caller that sends little and often would otherwise lose the fractions.
        if grown > 0 {
            usage.at = now;
        }
        usage.left = left - size;
        Ok(())
    }

    /// How much more may be sent after this time.
    fn share(&self, elapsed: Duration) -> u64 {
        let share = u128::from(self.bytes) * elapsed.as_millis() / PERIOD.as_millis();
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallerQuota, PERIOD};
    use actors::{
        Caller,
        credentials::{Authority, Scope},
    };
    use std::time::Duration;
    use tokio::time::Instant;

    fn caller(name: &str) -> Caller {
        Caller { authority: Authority::Reviewer, identity: name.to_owned(), scope: Scope::All, credential: None }
    }

    #[test]
    fn a_caller_may_send_the_limit_within_a_minute() {
        let (quota, now) = (CallerQuota::new(6000), Instant::now());
        let charge = |size, seconds| quota.charge_at(None, size, now + Duration::from_secs(seconds));
        charge(6000, 0).unwrap();
        let refused = charge(1000, 0).unwrap_err();
        assert_eq!((refused.code.as_str(), refused.retryable), ("quota_exceeded", true));
        assert_eq!(refused.details["retry_after_ms"], 10_000);
        charge(1000, 10).unwrap();
        charge(1, 10).unwrap_err();
        charge(6000, 70).unwrap();
    }

    #[test]
    fn time_between_small_requests_counts_completely() {
        let (quota, now) = (CallerQuota::new(60), Instant::now());
        quota.charge_at(None, 60, now).unwrap();
        for request in 1..=60 {
            // Each alone is less than a byte later than the one before.
            quota.charge_at(None, 0, now + Duration::from_millis(request * 500)).unwrap();
        }
        quota.charge_at(None, 30, now + PERIOD / 2).unwrap();
    }

    #[test]
    fn a_caller_takes_nothing_from_others() {
        let (quota, now) = (CallerQuota::new(1000), Instant::now());
        for caller in [None, Some(caller("ada")), Some(caller("bob"))] {
            quota.charge_at(caller.as_ref(), 1000, now).unwrap();
            quota.charge_at(caller.as_ref(), 1, now).unwrap_err();
        }
    }

    #[test]
    fn callers_that_are_gone_are_forgotten() {
        let (quota, now) = (CallerQuota::new(1000), Instant::now());
        for number in 0..3000 {
            quota.charge_at(Some(&caller(&number.to_string())), 1, now).unwrap();
        }
        quota.charge_at(None, 1, now + PERIOD).unwrap();
        assert_eq!(quota.callers.lock().unwrap().len(), 1);
    }
}
