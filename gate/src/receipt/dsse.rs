//! The DSSE envelope (<https://github.com/secure-systems-lab/dsse>): a payload with signatures over its type and bytes.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Serialize};

use super::ReceiptFault;
use crate::public_key::PublicKey;

/// The payload type of in-toto statements.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub payload_type: String,
    /// In base64.
    pub payload: String,
    pub signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Names the key. The signature decides whether it is that key.
    #[serde(default)]
    pub keyid: String,
    /// In base64.
    pub sig: String,
}

/// The bytes that are signed: the pre-authentication encoding.
pub(crate) fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend(payload);
    bytes
}

impl Envelope {
    /// An envelope with one signature, which `sign` makes.
    pub(crate) fn new(payload: &[u8], key: &PublicKey, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        let signature = sign(&pre_authentication_encoding(PAYLOAD_TYPE, payload));
        Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: BASE64.encode(payload),
            signatures: vec![Signature { keyid: key.id(), sig: BASE64.encode(signature) }],
        }
    }

    /// Reads a line of a note.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, ReceiptFault> {
        serde_json::from_slice(line).map_err(|_| ReceiptFault::Unreadable)
    }

    pub(crate) fn decode_payload(&self) -> Option<Vec<u8>> {
        BASE64.decode(&self.payload).ok()
    }

    /// Whether this signature of the envelope is of this key.
    pub(crate) fn is_signed_by(&self, signature: &Signature, key: &PublicKey) -> bool {
        let (Some(payload), Ok(sig)) = (self.decode_payload(), BASE64.decode(&signature.sig)) else { return false };
        key.verifies(&pre_authentication_encoding(&self.payload_type, &payload), &sig)
    }
}
