//! Ed25519 public keys: their text form, their id, and the check of a signature.

use std::fmt;
use std::str::FromStr;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use domain::text::hex;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "ed25519:";
const ID_BYTES: usize = 8;

/// Written as `ed25519:` and 32 bytes in base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// The first 16 hex digits of the SHA-256 of the key.
    pub fn id(&self) -> String {
        let digest = Sha256::digest(self.0);
        hex(digest.get(..ID_BYTES).unwrap_or_default())
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let key = text.strip_prefix(PREFIX).and_then(|key| BASE64.decode(key).ok());
        key.and_then(|key| Self::from_bytes(&key)).ok_or_else(|| {
            format!("{text:?} is not a public key; expected {PREFIX} and 32 bytes in base64, as `countersign key show` prints it")
        })
    }
}
