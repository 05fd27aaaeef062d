//! Whatever is stored is read by others, and a secret in it would be theirs. So a text that quotes one that
//! is still good is not taken, whoever was talked into sending it.

use crate::{
    Context,
    credentials::SecretHash,
    error::BrokerError,
    requests::{MessageRequest, NewProposal, RequestKey, Revision, VerdictRequest},
    submission::unreadable,
};
use store::{SECRET_DIGITS, SECRET_PREFIX};

/// A text as it came, with the name of its argument.
pub(crate) type Given<'a> = (&'static str, Option<&'a str>);

impl Context {
    /// Refuses a text with a live secret of this broker in it. Most texts hold nothing that looks like one
    /// and cost a search.
    pub(crate) async fn refuse_secrets(&self, texts: &[Given<'_>]) -> Result<(), BrokerError> {
        for (field, text) in texts {
            let hashes = hashes_in(text.unwrap_or_default());
            if hashes.is_empty() {
                continue;
            }
            let is_credential = hashes.iter().any(|hash| self.credentials.find_hashed(hash).is_some());
            if is_credential || self.reader.has_live_token(&hashes).await.map_err(unreadable)? {
                return Err(BrokerError::ContainsSecret { field });
            }
        }
        Ok(())
    }
}

// All that is kept of a request, names as well: they are long enough.

impl NewProposal {
    pub(crate) fn texts(&self) -> [Given<'_>; 12] {
        let proposer = &self.proposer;
        [
            ("intent", Some(&self.intent)),
            ("description", self.description.as_deref()),
            ("diff", self.diff.as_deref()),
            ("agent_type", Some(&proposer.agent_type)),
            ("agent_role", Some(&proposer.agent_role)),
            ("phase", Some(&proposer.phase)),
            ("plan", proposer.plan.as_deref()),
            ("task", proposer.task.as_deref()),
            ("proposer_id", proposer.proposer_id.as_deref()),
            ("idempotency_key", given(self.key.as_ref())),
            ("target", self.target.as_ref().map(|target| target.name.as_str())),
            ("target.base", self.target.as_ref().and_then(|target| target.base.as_deref())),
        ]
    }
}

impl Revision {
    pub(crate) fn texts(&self) -> [Given<'_>; 7] {
        [
            ("intent", Some(&self.intent)),
            ("description", self.description.as_deref()),
            ("diff", self.diff.as_deref()),
            ("proposer_id", self.proposer_id.as_deref()),
            ("idempotency_key", given(self.key.as_ref())),
            ("target", self.target.as_ref().map(|target| target.name.as_str())),
            ("target.base", self.target.as_ref().and_then(|target| target.base.as_deref())),
        ]
    }
}

impl VerdictRequest {
    pub(crate) fn texts(&self) -> Vec<Given<'_>> {
        let mut texts = vec![
            ("reason", self.reason.as_deref()),
            ("summary", self.summary.as_deref()),
            ("counter_patch", self.counter_patch.as_deref()),
            ("metrics.model", self.metrics.as_ref().and_then(|metrics| metrics.model.as_deref())),
        ];
        for finding in &self.findings {
            let file = finding.place.as_ref().map(|place| place.file.as_str());
            let optional = [&finding.description, &finding.code_snippet, &finding.suggestion, &finding.rule_ref];
            texts.extend([file, Some(finding.title.as_str())].map(|text| ("issues", text)));
            texts.extend(optional.map(|text| ("issues", text.as_deref())));
        }
        texts
    }
}

impl MessageRequest {
    /// `metadata` is its own, written out.
    pub(crate) fn texts<'a>(&'a self, metadata: Option<&'a str>) -> [Given<'a>; 3] {
        [("body", Some(&self.body)), ("caller_id", self.caller_id.as_deref()), ("metadata", metadata)]
    }
}

fn given(key: Option<&RequestKey>) -> Option<&str> {
    match key? {
        RequestKey::Given(key) | RequestKey::OfClient(key) => Some(key),
    }
}

/// Of everything in the text that has a secret's form, whatever stands around it.
fn hashes_in(text: &str) -> Vec<SecretHash> {
    // Asked first, because it is quicker than looking for the places.
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
