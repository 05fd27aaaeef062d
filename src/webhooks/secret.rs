//! The secret that signs a webhook's requests, in a file that only its owner can read.

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{ErrorKind, Write as _},
    path::Path,
};
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
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.recursive(true).create(folder) {
            Ok(()) => Self::load_or_create(&folder.join(format!("{name}.secret"))),
            Err(error) => Err(error).with_context(|| folder.display().to_string()),
        }
    }

    pub(super) fn load_or_create(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("secret_file {}", path.display());
        let exists = path.try_exists().with_context(context)?;
        if !exists {
            create(path).with_context(context)?;
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

/// Writes to another name first, so that the file is never incomplete.
fn create(path: &Path) -> std::io::Result<()> {
    let mut bytes = Uuid::new_v4().into_bytes().to_vec();
    bytes.extend(Uuid::new_v4().into_bytes());
    let draft = path.with_added_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if let Err(error) = fs::remove_file(&draft)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = options.open(&draft)?;
    writeln!(file, "{PREFIX}{}", BASE64_STANDARD.encode(bytes))?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(unix)]
fn check_private(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = fs::metadata(path)?;
    if !meta.is_file() {
        bail!("not a file");
    }
    if meta.mode() & 0o077 != 0 {
        bail!("other users can read or change it (mode {:o}); run chmod 600 on it", meta.mode() & 0o777);
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(path: &Path) -> anyhow::Result<()> {
    if !fs::metadata(path)?.is_file() {
        bail!("not a file");
    }
    Ok(())
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
