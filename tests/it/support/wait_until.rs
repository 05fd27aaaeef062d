//! Waiting for what somebody else's process shows when it gets there.

use super::broker::PATIENCE;
use std::time::Duration;

/// Asks until there is an answer.
pub(crate) async fn eventually<T, A>(what: &str, mut ask: impl FnMut() -> A) -> T
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
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}
