//! Signatures as Standard Webhooks has them: whoever has the secret can tell that a message is ours, whole and new.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The value of `webhook-signature`.
pub(super) fn signature(secret: &[u8], id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    // A key of any length will do.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::signature;
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    /// The example that the libraries of Standard Webhooks are tested with.
    #[test]
    fn a_known_message_has_the_known_signature() {
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }
}
