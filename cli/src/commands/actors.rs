//! `countersign actors`: prints the actor tree of the running broker.

use crate::{CliError, client::BrokerArgs, terminal};
use serde_json::json;

pub(crate) async fn run(broker: BrokerArgs) -> Result<(), CliError> {
    let client = broker.connect().await?;
    let format = if client.json { "json" } else { "text" };
    let text = client.get("/debug/actors", &json!({ "format": format })).await?;
    terminal::write_raw(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
}
