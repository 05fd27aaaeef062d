//! Refuses texts that contain a live token of this broker. Stored texts are read by others, who could use it.

use crate::{
    Shared,
    credentials::SecretHash,
    error::BrokerError,
    size_limits::{self, Text},
};
use store::{SECRET_DIGITS, SECRET_PREFIX};

impl Shared {
    /// Checks the texts of a request: their limits, then whether they contain a token.
    pub(crate) async fn check_texts(&self, texts: &[Text<'_>]) -> Result<(), BrokerError> {
        size_limits::check(&self.settings.limits, texts)?;
        self.refuse_secrets(texts).await
    }

    /// Refuses a text that contains a token. Most texts contain nothing that looks like one and cost one search.
    pub(crate) async fn refuse_secrets(&self, texts: &[Text<'_>]) -> Result<(), BrokerError> {
        for text in texts {
            let hashes = hashes_in(text.value.as_deref().unwrap_or_default());
            if hashes.is_empty() {
                continue;
            }
            let is_reviewer = hashes.iter().any(|hash| self.credentials.find_hashed(hash).is_some());
            if is_reviewer || self.reader.has_live_token(&hashes).await? {
                return Err(BrokerError::ContainsSecret { field: text.field });
            }
        }
        Ok(())
    }
}

/// The hashes of everything in the text that has the form of a token.
fn hashes_in(text: &str) -> Vec<SecretHash> {
    // Faster than searching for every position.
    if !text.contains(SECRET_PREFIX) {
        return Vec::new();
    }
    let length = SECRET_PREFIX.len() + SECRET_DIGITS;
    let found = text.match_indices(SECRET_PREFIX).filter_map(|(start, _)| text.get(start..start + length));
    found
        .filter(|word| word.bytes().skip(SECRET_PREFIX.len()).all(|byte| byte.is_ascii_hexdigit()))
        .map(SecretHash::from_secret)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{SecretHash, hashes_in};
    use store::new_secret;

    #[test]
    fn a_secret_is_found_wherever_it_stands() {
        let (one, two) = (new_secret(), new_secret());
        let hashes =
            |secrets: &[&String]| secrets.iter().map(|secret| SecretHash::from_secret(secret)).collect::<Vec<_>>();
        for text in [
            one.clone(),
            format!("take {one}."),
            format!("docs_{one}0123"),
            format!("cs_cs_{one}"),
            format!("+token = \"{one}\"\n"),
            format!("ж{one}ж"),
        ] {
            assert_eq!(hashes_in(&text), hashes(&[&one]), "{text}");
        }
        assert_eq!(hashes_in(&format!("{one}{two}")), hashes(&[&one, &two]));
    }

    #[test]
    fn what_only_begins_like_one_is_none() {
        let secret = new_secret();
        let cut = &secret[..secret.len() - 1];
        for text in ["", "cs_", "docs_and_specs_", cut, &format!("{cut}ж"), &format!("{cut}g"), &secret[3..]] {
            assert_eq!(hashes_in(text), [], "{text}");
        }
    }
}
