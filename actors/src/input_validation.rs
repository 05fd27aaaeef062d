//! Validates every request before anything else reads it: its size, and that no text contains a valid token of this
//! broker, which readers of the text could use. Each request type lists its texts, so one function checks them all.

use crate::{Shared, credentials::SecretHash, error::BrokerError};
use TextKind::{Diff, Identity, Intent, Line, Metadata, Name, Prose, RequiredProse, Unlimited};
use domain::{
    content::{CreateReviewRequest, TargetRequest},
    finding::NewFinding,
    identity::{is_deceptive, is_same_identity},
    ids::VALIDATOR,
    review::{AcceptCounterPatch, Command, Proposer, TargetKind},
    size_limits::Limits,
    text::is_hidden,
    verdict::{ReviewMetrics, VerdictRequest},
    vote_signature::has_signature_form,
};
use std::borrow::Cow;
use store::{SECRET_DIGITS, SECRET_PREFIX};

/// The most findings of one verdict.
const MAX_FINDINGS: usize = 100;
const MAX_TITLE_CHARS: usize = 300;
const MAX_PATH_CHARS: usize = 1000;
/// More than a review costs, and small enough to be added up.
const MAX_COST_USD: f64 = 1e6;

/// A text of a request: the argument it came in, and what is allowed in it.
#[derive(Debug, Clone)]
pub(crate) struct Text<'a> {
    pub(crate) field: &'static str,
    pub(crate) value: Option<Cow<'a, str>>,
    kind: TextKind,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TextKind {
    /// A short name: one line, no control or invisible characters.
    Name,
    /// A name that a party acts under. It must not look like that of another party.
    Identity,
    Intent,
    /// May be empty.
    Prose,
    RequiredProse,
    Diff,
    Metadata,
    /// One line within a finding; the first value says which.
    Line(&'static str, usize),
    /// Has no limit of its own.
    Unlimited,
}

/// A path within a project.
pub(crate) const PATH: TextKind = Line("path", MAX_PATH_CHARS);

impl<'a> Text<'a> {
    pub(crate) fn new(field: &'static str, kind: TextKind, value: Option<impl Into<Cow<'a, str>>>) -> Self {
        Self { field, value: value.map(Into::into), kind }
    }
}

fn name<'a>(field: &'static str, value: Option<&'a String>) -> Text<'a> {
    Text::new(field, Name, value)
}

fn identity<'a>(field: &'static str, value: Option<&'a String>) -> Text<'a> {
    Text::new(field, Identity, value)
}

/// The texts of a command that a caller sends. Other commands are built from requests whose texts are checked below.
pub(crate) fn command_texts(command: &Command) -> Vec<Text<'_>> {
    match command {
        Command::Claim(claim) => {
            vec![identity("reviewer_id", Some(&claim.by)), name("persona", claim.persona.as_ref())]
        }
        Command::Release(release) => {
            vec![
                identity("reviewer_id", release.by.as_ref()),
                Text::new("reason", RequiredProse, release.reason.as_ref()),
            ]
        }
        Command::UpdateFinding(update) => {
            vec![identity("caller_id", update.by.as_ref()), Text::new("note", Prose, update.note.as_ref())]
        }
        Command::AddMessage(message) => vec![
            identity("caller_id", message.by.as_ref()),
            name("persona", message.persona.as_ref()),
            Text::new("body", RequiredProse, Some(&message.body)),
            name("anchor.issue", message.anchor.as_ref().and_then(|anchor| anchor.issue.as_ref())),
            Text::new("anchor.file", PATH, message.anchor.as_ref().and_then(|anchor| anchor.file.as_ref())),
            Text::new("metadata", Metadata, message.metadata.as_ref().map(ToString::to_string)),
        ],
        Command::AddSeat(add) => vec![identity("caller_id", add.by.as_ref()), identity("reviewer", Some(&add.persona))],
        Command::AcceptCounterPatch(AcceptCounterPatch { by, persona, .. })
        | Command::RejectCounterPatch { by, persona } => {
            vec![name("persona", persona.as_ref()), identity("caller_id", by.as_ref())]
        }
        Command::Close { identity: caller, .. } => vec![identity("caller_id", caller.as_ref())],
        Command::Cancel { by, reason } => {
            vec![Text::new("reason", RequiredProse, Some(reason)), identity("caller_id", by.as_ref())]
        }
        Command::Propose(_)
        | Command::Revise(_)
        | Command::GiveVerdict(_)
        | Command::Renew { .. }
        | Command::ReviewerGone { .. }
        | Command::Expire => Vec::new(),
    }
}

/// The argument that holds the name of a target.
pub(crate) const fn target_field(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Branch => "target.branch",
        TargetKind::Commit => "target.commit",
        TargetKind::Range => "target.range",
    }
}

/// The texts of a request for a new round.
pub(crate) fn submission_texts(request: &CreateReviewRequest) -> Vec<Text<'_>> {
    let target = |part: fn(&TargetRequest) -> &Option<String>| request.target.as_ref().and_then(|it| part(it).as_ref());
    vec![
        Text::new("intent", Intent, request.intent.as_ref()),
        Text::new("change_note", Prose, request.change_note.as_ref()),
        name("base", request.base.as_ref()),
        name(target_field(TargetKind::Branch), target(|target| &target.branch)),
        name(target_field(TargetKind::Commit), target(|target| &target.commit)),
        name(target_field(TargetKind::Range), target(|target| &target.range)),
        name("target.base", target(|target| &target.base)),
        Text::new("idempotency_key", Unlimited, request.idempotency_key.as_ref()),
        Text::new("description", Prose, request.description.as_ref()),
        Text::new("diff", Diff, request.diff.as_ref()),
        identity("proposer_id", request.proposer_id.as_ref()),
    ]
}

/// The texts of a request for a new review.
pub(crate) fn proposal_texts<'a>(proposer: &'a Proposer, request: &'a CreateReviewRequest) -> Vec<Text<'a>> {
    let mut texts = submission_texts(request);
    texts.extend([
        identity("agent_type", Some(&proposer.agent_type)),
        name("agent_role", Some(&proposer.agent_role)),
        name("phase", Some(&proposer.phase)),
        name("plan", proposer.plan.as_ref()),
        name("task", proposer.task.as_ref()),
        name("project", proposer.project.as_ref()),
    ]);
    texts
}

pub(crate) fn verdict_texts<'a>(
    request: &'a VerdictRequest,
    findings: &'a [NewFinding],
    limits: &Limits,
) -> Vec<Text<'a>> {
    let mut texts = vec![
        identity("reviewer_id", request.reviewer_id.as_ref()),
        name("content_hash", request.content_hash.as_ref()),
        name("metrics.model", request.metrics.as_ref().and_then(|metrics| metrics.model.as_ref())),
        Text::new("reason", Prose, request.reason.as_ref()),
        Text::new("summary", Prose, request.summary.as_ref()),
    ];
    texts.extend(findings.iter().flat_map(|finding| finding_texts(finding, limits)));
    texts.push(Text::new("counter_patch", Diff, request.counter_patch.as_ref()));
    texts
}

fn finding_texts<'a>(finding: &'a NewFinding, limits: &Limits) -> [Text<'a>; 6] {
    let field = if finding.is_issue { "issues" } else { "suggestions" };
    let file = finding.location.as_ref().and_then(|location| location.file());
    [
        Text::new(field, Line("title", MAX_TITLE_CHARS), Some(&finding.title)),
        Text::new(field, Line("rule_ref", limits.id_chars), finding.rule_ref.as_ref()),
        Text::new(field, Line("file", MAX_PATH_CHARS), file),
        Text::new("issues", Unlimited, finding.description.as_ref()),
        Text::new("issues", Unlimited, finding.code_snippet.as_ref()),
        Text::new("issues", Unlimited, finding.suggestion.as_ref()),
    ]
}

type Checked = Result<(), BrokerError>;

pub(crate) fn check(limits: &Limits, texts: &[Text<'_>]) -> Checked {
    texts.iter().try_for_each(|text| {
        text.value.as_deref().map_or(Ok(()), |value| check_text(limits, text.field, text.kind, value))
    })
}

fn check_text(limits: &Limits, field: &'static str, kind: TextKind, text: &str) -> Checked {
    let is_blank = text.trim().is_empty();
    let chars = || text.chars().count();
    match kind {
        Name | Identity | Intent | RequiredProse if is_blank => Err(invalid(field, "must not be empty".into())),
        Name | Identity if text.chars().any(|c| c.is_control() || is_hidden(c)) => {
            Err(invalid(field, "contains control or invisible characters".into()))
        }
        Name | Identity if text.trim() != text => Err(invalid(field, "starts or ends with a blank".into())),
        Identity if is_deceptive(text) => Err(invalid(
            field,
            "has letters of one script that look like those of another; use letters of one script".into(),
        )),
        Name | Identity => within(field, chars(), limits.id_chars, "characters"),
        Intent => within(field, chars(), limits.intent_chars, "characters"),
        Prose | RequiredProse => within(field, chars(), limits.text_chars, "characters"),
        Diff if is_blank => Err(invalid(field, "is empty; leave it out if there is no diff".into())),
        Diff => within(field, text.len(), limits.diff_bytes, "bytes"),
        Metadata => within(field, text.len(), limits.metadata_bytes, "bytes"),
        Line(part, _) if is_blank => Err(invalid(field, format!("the {part} must not be empty"))),
        Line(part, _) if text.chars().any(char::is_control) => {
            Err(invalid(field, format!("the {part} contains control characters")))
        }
        Line(_, max_chars) => within(field, chars(), max_chars, "characters in a line"),
        Unlimited => Ok(()),
    }
}

/// Refuses the broker's own name.
pub(crate) fn check_reviewer(id: &str) -> Checked {
    if is_same_identity(id, VALIDATOR) {
        Err(invalid("reviewer_id", "is reserved for the broker".into()))
    } else {
        Ok(())
    }
}

/// Checks how many findings there are and how long they are together.
pub(crate) fn check_findings(limits: &Limits, findings: &[NewFinding]) -> Checked {
    within("issues", findings.len(), MAX_FINDINGS, "items, suggestions included")?;
    let chars: usize = findings.iter().map(finding_chars).sum();
    within("issues", chars, limits.text_chars, "characters in all")
}

pub(crate) fn check_metrics(metrics: Option<&ReviewMetrics>) -> Checked {
    match metrics.and_then(|metrics| metrics.cost_usd) {
        Some(cost) if !(0.0..=MAX_COST_USD).contains(&cost) => {
            Err(invalid("metrics.cost_usd", format!("is {cost}; allowed: 0 to {MAX_COST_USD}")))
        }
        Some(_) | None => Ok(()),
    }
}

pub(crate) fn check_signature(request: &VerdictRequest) -> Checked {
    match &request.signature {
        Some(_) if !request.verdict.is_vote() => {
            Err(invalid("signature", "is only for a vote, not for a comment".to_owned()))
        }
        Some(signature) if !has_signature_form(&signature.ssh) => {
            let problem = "is not an SSH signature; `countersign respond --sign` makes one";
            Err(invalid("signature.ssh", problem.to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

/// The number of rows on a page, given the requested one.
pub(crate) fn page(limits: &Limits, requested: Option<u32>) -> Result<u32, BrokerError> {
    match requested {
        None => Ok(limits.page_items),
        Some(requested) if (1..=limits.max_page_items).contains(&requested) => Ok(requested),
        Some(requested) => Err(invalid("limit", format!("is {requested}; allowed: 1 to {}", limits.max_page_items))),
    }
}

fn finding_chars(finding: &NewFinding) -> usize {
    let optional = [&finding.description, &finding.code_snippet, &finding.suggestion];
    let texts = optional.into_iter().flatten().chain([&finding.title]);
    texts.map(|text| text.chars().count()).sum()
}

pub(crate) fn invalid(field: &'static str, problem: String) -> BrokerError {
    BrokerError::InvalidArgument { field, problem }
}

fn within(field: &'static str, actual: usize, limit: usize, unit: &'static str) -> Checked {
    if actual > limit { Err(BrokerError::TooLong { field, actual, limit, unit }) } else { Ok(()) }
}

impl Shared {
    /// Checks the texts of a request: their limits, then whether they contain a token.
    pub(crate) async fn check_texts(&self, texts: &[Text<'_>]) -> Result<(), BrokerError> {
        check(&self.settings.limits, texts)?;
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
