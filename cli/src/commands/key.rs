//! `countersign key`: shows, rotates and revokes the keys with which receipts are signed. It works on the data folder, with
//! or without a running broker.

use crate::{CliError, config_overrides::ConfigArgs, terminal};
use config::data_dir::make_private;
use gate::{KeyRecord, SigningKeys};
use serde_json::{Value, json};
use std::{fmt::Write as _, path::PathBuf};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print the public keys as a signers file wants them, the active one first; creates the first key
    Show(Args),
    /// Replace the active key; receipts that it signed stay valid
    Rotate(Args),
    /// Revoke a key that leaked: none of its receipts counts any more
    Revoke {
        /// Id of the key
        id: String,
        #[command(flatten)]
        args: Args,
    },
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) fn run(command: &Command) -> Result<(), CliError> {
    let (args, keys) = match command {
        Command::Show(args) => (args, SigningKeys::open(&path(args)?)?),
        Command::Rotate(args) => (args, SigningKeys::rotate(&path(args)?)?),
        Command::Revoke { id, args } => (args, SigningKeys::revoke(&path(args)?, id)?),
    };
    if args.json {
        let keys: Vec<_> = keys.list().map(key_answer).collect();
        return terminal::write_pretty_json(&json!({ "keys": keys }));
    }
    terminal::write(&keys.list().map(signers_entry).collect::<Vec<_>>().join("\n"))
}

fn path(args: &Args) -> Result<PathBuf, CliError> {
    let data_dir = args.config.resolve(None)?.config.server.data_dir;
    make_private(&data_dir)?;
    Ok(data_dir.signing_keys())
}

fn status(record: &KeyRecord) -> &'static str {
    match (record.signer.revoked, record.signer.until) {
        (true, _) => "revoked",
        (false, Some(_)) => "ended",
        (false, None) => "active",
    }
}

fn key_answer(record: &KeyRecord) -> Value {
    let KeyRecord { signer, since } = record;
    json!({
        "id": signer.key.id(),
        "key": signer.key,
        "status": status(record),
        "since": since,
        "until": signer.until,
    })
}

/// An entry of a signers file.
fn signers_entry(record: &KeyRecord) -> String {
    let KeyRecord { signer, since } = record;
    let mut entry =
        format!("# {} {}, since {since}\n[[keys]]\nkey = \"{}\"\n", signer.key.id(), status(record), signer.key);
    if let Some(until) = signer.until {
        let _ = writeln!(entry, "until = \"{until}\"");
    }
    if signer.revoked {
        entry.push_str("revoked = true\n");
    }
    entry
}
