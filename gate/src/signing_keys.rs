//! The keys with which the broker signs receipts: one active Ed25519 key, and the public keys of earlier ones.
//!
//! They are in one private file of the data folder. Every change replaces the whole file, under a lock.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::receipt::Envelope;
use crate::signers_file::SignerKey;
use crate::{GateError, PublicKey};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SigningKeys {
    /// 32 secret bytes in base64.
    seed: String,
    active: KeyRecord,
    /// Newest first.
    ended: Vec<KeyRecord>,
}

/// A public key and when it was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    #[serde(flatten)]
    pub signer: SignerKey,
    pub since: Timestamp,
}

impl SigningKeys {
    /// Reads the keys from the file, which is created with a first key if it does not exist.
    pub fn open(path: &Path) -> Result<Self, GateError> {
        match std::fs::read(path) {
            Ok(text) => {
                let keys: Self = serde_json::from_slice(&text).map_err(|error| failed(path, error))?;
                keys.key_pair()?;
                Ok(keys)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let keys = Self::generate(Timestamp::now(), Vec::new())?;
                match keys.draft(path)?.persist_noclobber(path) {
                    Ok(_) => Ok(keys),
                    // Another process was faster.
                    Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Self::open(path),
                    Err(error) => Err(failed(path, error)),
                }
            }
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Ends the active key and starts a new one. Receipts of the old key stay valid.
    pub fn rotate(path: &Path) -> Result<Self, GateError> {
        Self::change(path, |keys, now| keys.replace_active(now, false))
    }

    /// Revokes a key that leaked: none of its receipts counts any more. The active key is replaced.
    pub fn revoke(path: &Path, id: &str) -> Result<Self, GateError> {
        Self::change(path, |mut keys, now| {
            if keys.active.signer.key.id() == id {
                return keys.replace_active(now, true);
            }
            let key = keys.ended.iter_mut().find(|ended| ended.signer.key.id() == id);
            let key = key.ok_or_else(|| GateError::UnknownKey(id.to_owned()))?;
            key.signer.revoked = true;
            Ok(keys)
        })
    }

    /// All keys, the active one first.
    pub fn list(&self) -> impl Iterator<Item = &KeyRecord> {
        std::iter::once(&self.active).chain(&self.ended)
    }

    pub(crate) fn active(&self) -> PublicKey {
        self.active.signer.key
    }

    pub(crate) fn sign(&self, payload: &[u8]) -> Result<Envelope, GateError> {
        let pair = self.key_pair()?;
        Ok(Envelope::new(payload, &self.active(), |message| pair.sign(message).as_ref().to_vec()))
    }

    fn change(path: &Path, change: impl FnOnce(Self, Timestamp) -> Result<Self, GateError>) -> Result<Self, GateError> {
        Self::open(path)?;
        let lock = File::options().append(true).create(true).open(path.with_added_extension("lock"));
        let lock = lock.map_err(|error| failed(path, error))?;
        lock.lock().map_err(|error| failed(path, error))?;
        let keys = change(Self::open(path)?, Timestamp::now())?;
        keys.draft(path)?.persist(path).map_err(|error| failed(path, error))?;
        Ok(keys)
    }

    fn replace_active(self, now: Timestamp, revoked: bool) -> Result<Self, GateError> {
        let signer = SignerKey { until: Some(now), revoked, ..self.active.signer };
        let mut ended = self.ended;
        ended.insert(0, KeyRecord { signer, since: self.active.since });
        Self::generate(now, ended)
    }

    fn generate(since: Timestamp, ended: Vec<KeyRecord>) -> Result<Self, GateError> {
        let mut seed = [0; 32];
        let random = SystemRandom::new().fill(&mut seed);
        random.map_err(|_| GateError::Keys("the operating system has no random bytes".to_owned()))?;
        Self::from_seed(&seed, since, ended)
    }

    pub(crate) fn from_seed(seed: &[u8], since: Timestamp, ended: Vec<KeyRecord>) -> Result<Self, GateError> {
        let key = PublicKey::from_bytes(parse_seed(seed)?.public_key().as_ref());
        let key = key.ok_or_else(|| GateError::Keys("the public key does not have 32 bytes".to_owned()))?;
        let signer = SignerKey { key, until: None, revoked: false };
        Ok(Self { seed: BASE64.encode(seed), active: KeyRecord { signer, since }, ended })
    }

    fn key_pair(&self) -> Result<Ed25519KeyPair, GateError> {
        let seed = BASE64.decode(&self.seed).unwrap_or_default();
        let pair = parse_seed(&seed)?;
        if PublicKey::from_bytes(pair.public_key().as_ref()) != Some(self.active()) {
            return Err(GateError::Keys("the secret key does not belong to the public key".to_owned()));
        }
        Ok(pair)
    }

    /// A complete file beside `path` that only its owner can read.
    fn draft(&self, path: &Path) -> Result<NamedTempFile, GateError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(path, error))?;
        let write = || {
            let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            Ok::<_, std::io::Error>(file)
        };
        write().map_err(|error| failed(path, error))
    }
}

fn parse_seed(seed: &[u8]) -> Result<Ed25519KeyPair, GateError> {
    Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| GateError::Keys("the secret key is damaged".to_owned()))
}

fn failed(path: &Path, error: impl std::fmt::Display) -> GateError {
    GateError::Keys(format!("{}: {error}", path.display()))
}
