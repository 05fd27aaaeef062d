//! `countersign actors`: prints the actor tree of the running broker.

use crate::{
    Failure,
    client::rest::{At, Remote},
    terminal,
};

pub(crate) async fn run(at: At) -> Result<(), Failure> {
    let format = if at.json { "json" } else { "text" };
    let mut text = Remote::find(at).await?.get(&format!("/debug/actors?format={format}")).await?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    terminal::write_raw(text.as_bytes())
}
