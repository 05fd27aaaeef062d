//! `countersign actors`: prints the actor tree of the running broker.

use crate::{
    CliError,
    client::rest::{BrokerArgs, Remote},
    terminal,
};

pub(crate) async fn run(at: BrokerArgs) -> Result<(), CliError> {
    let format = if at.json { "json" } else { "text" };
    let mut text = Remote::find(at).await?.get(&format!("/debug/actors?format={format}")).await?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    terminal::write_raw(text.as_bytes())
}
