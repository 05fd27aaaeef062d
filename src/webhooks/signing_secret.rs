//! Reads or creates the secret that signs a webhook's requests, in a file that only its owner can read.

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use config::data_dir::{make_private, replace_private};
use std::{fs, os::unix::fs::MetadataExt as _, path::Path};
use uuid::Uuid;

/// The prefix of Standard Webhooks. Its libraries accept the file's line as it is.
const PREFIX: &str = "whsec_";

/// Number of bytes that Standard Webhooks allows.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

pub(super) struct Secret(Vec<u8>);

impl Secret {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Loads or creates a secret in the broker's own folder, which is created too.
    pub(super) fn load_or_create_in(folder: &Path, name: &str) -> anyhow::Result<Self> {
        make_private(folder).with_context(|| folder.display().to_string())?;
        Self::load_or_create(&folder.join(format!("{name}.secret")))
    }

    pub(super) fn load_or_create(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("secret_file {}", path.display());
        let exists = path.try_exists().with_context(context)?;
        if !exists {
            let bytes = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
            let line = format!("{PREFIX}{}\n", BASE64_STANDARD.encode(bytes));
            replace_private(path, line.as_bytes()).with_context(context)?;
            tracing::info!(file = %path.display(), "created the secret of a webhook; its receiver needs it too");
        }
        check_private(path).with_context(context)?;
        let text = fs::read_to_string(path).with_context(context)?;
        parse(&text).with_context(context)
    }
}

fn parse(text: &str) -> anyhow::Result<Secret> {
    let text = text.trim();
    let bytes = BASE64_STANDARD.decode(text.strip_prefix(PREFIX).unwrap_or(text)).ok();
    match bytes.filter(|bytes| LENGTHS.contains(&bytes.len())) {
        Some(bytes) => Ok(Secret(bytes)),
        None => bail!("expected {PREFIX} and 24 to 64 bytes in base64; delete the file to create a new secret"),
    }
}

fn check_private(path: &Path) -> anyhow::Result<()> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() {
        bail!("not a file");
    }
    if meta.mode() & 0o077 != 0 {
        bail!("other users can read or change it (mode {:o}); run chmod 600 on it", meta.mode() & 0o777);
    }
    Ok(())
}

#[cfg(test)]
#[path = "signing_secret_tests.rs"]
mod tests;
