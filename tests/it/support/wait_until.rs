//! Polls until a condition holds.

use super::broker::TIMEOUT;
use std::time::Duration;

/// Calls `ask` until it returns a value; `what` names it if the time is over.
pub(crate) async fn wait_until<T, A>(what: &str, mut ask: impl FnMut() -> A) -> T
where
    A: Future<Output = Option<T>>,
{
    let asking = async {
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        loop {
            pause.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, asking).await.unwrap_or_else(|_| panic!("timed out: {what}"))
}
