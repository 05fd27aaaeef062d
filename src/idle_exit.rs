//! Decides when a broker that a command has started may end: it has had nothing to do for a while, and no part of it is
//! in use.

use crate::{http::Activity, webhooks::Webhooks};
use actors::Broker;
use domain::reviewer_pool::PoolState;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// Returns when for `idle_time` no connection was open, and there is neither a claim nor a reviewer of the pool, nor a
/// review that the pool will start one for, nor a webhook that waits for a retry.
pub(crate) async fn nothing_to_do(broker: Broker, webhooks: Webhooks, activity: Arc<Activity>, idle_time: Duration) {
    loop {
        match idle_time.checked_sub(activity.unused_for()).filter(|left| !left.is_zero()) {
            Some(left) => sleep(left).await,
            None if webhooks.is_retrying() || is_in_use(&broker).await => sleep(idle_time).await,
            // A call may have arrived in the meantime.
            None if activity.unused_for() >= idle_time => return,
            None => {}
        }
    }
}

/// If one of these cannot be read, the broker stays.
async fn is_in_use(broker: &Broker) -> bool {
    let reader = broker.reader();
    let (Ok(deadline), Ok(queue), Ok(pool)) =
        (reader.find_last_deadline().await, reader.count_queue().await, broker.pool_status().await)
    else {
        return true;
    };
    let will_start = !matches!(pool.state, PoolState::Disabled | PoolState::Paused) && !queue.is_empty();
    deadline.is_some() || !pool.live.is_empty() || will_start
}
