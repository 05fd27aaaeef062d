//! Where the model waits for the test.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// A point of the script at which test and model meet: the model stops there, the test does what
/// must happen in between (kill the broker, say), then opens it. Once open it stays open.
#[derive(Clone)]
pub(crate) struct Gate {
    reached: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { reached: watch::Sender::new(false), open: watch::Sender::new(false) }
    }

    /// Waits until a client's model stands at the gate.
    pub(crate) async fn reached(&self) {
        let waited = timeout(Duration::from_secs(90), wait_for(&self.reached)).await;
        waited.expect("the script did not get to its gate within 90 s");
    }

    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        self.reached.send_replace(true);
        wait_for(&self.open).await;
    }
}

async fn wait_for(flag: &watch::Sender<bool>) {
    // The sender lives in `flag`, so the channel cannot close.
    flag.subscribe().wait_for(|set| *set).await.unwrap();
}
