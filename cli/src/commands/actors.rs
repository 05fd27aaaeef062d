//! `countersign actors`: prints the actor tree of the running broker.

use crate::{CliError, client::BrokerArgs, render::hanging, terminal};
use serde_json::json;

pub(crate) async fn run(broker: BrokerArgs) -> Result<(), CliError> {
    let client = broker.connect().await?;
    let format = if client.json { "json" } else { "text" };
    let text = client.get("/debug/actors", &json!({ "format": format })).await?;
    if client.json {
        return terminal::write_raw(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
    }
    terminal::page(&text.lines().map(wrapped).collect::<String>())
}

/// One actor, wrapped between its properties, which two spaces separate. The lines of the tree continue below it.
fn wrapped(line: &str) -> String {
    let (tree, actor) = line.split_at(line.find(|c: char| c.is_alphanumeric() || c == '…').unwrap_or_default());
    let below = tree.replace('├', "│").replace(['└', '─'], " ");
    // Only two spaces are a place to wrap at.
    let actor = actor.replace("  ", "\u{1}").replace(' ', "\u{a0}").replace('\u{1}', "  ");
    hanging(tree, &format!("{below}  "), &actor).replace('\u{a0}', " ")
}
