//! The operation that reads a proposal, page by page.

mod content_lookup;

pub(crate) use content_lookup::FullDiff;
pub(super) use content_lookup::{ChosenContent, full_diff};

use super::{
    Authorization, Call, JsonText, Service, Settings, check_round,
    claims::ignored_files,
    error::CallError,
    pagination::{TextStream, json_chars},
    review_view::ReviewView,
};
use actors::{Broker, BrokerError, credentials::Scope};
use api::{
    ErrorBody, ErrorCode,
    diffs::Files,
    proposals::{Effort, Iteration, ProposalDetails, ProposalRequest, ProposalResponse},
};
use domain::{
    content::{Content, ContentHash},
    diff::file_section,
    ids::ReviewId,
    review::{Event, Refusal, Review},
    text::truncate,
    verdict::Verdict,
};
use serde::Serialize;
use std::borrow::Cow;
use store::{CounterPatchRow, LogEntry};

/// Maximum verdicts returned with a proposal.
const MAX_ITERATIONS: u32 = 20;

/// Maximum characters of the reason and the summary of such a verdict.
const REASON_CHARS: usize = 1_000;

/// A review gets its first two events by proposing and claiming, so a verdict needs at least this version.
const FIRST_VERDICT_VERSION: u64 = 3;

pub(super) async fn get(call: &Call<'_>, mut request: ProposalRequest) -> Result<ProposalResponse, CallError> {
    request.caller_id = call.authz.identity_for("caller_id", request.caller_id)?;
    let id = call.resolve(&request.review_id).await?;
    let name = request.caller_id.clone().filter(|_| request.at.is_none());
    let response = load(call.service, id, request).await?;
    if name.is_some() {
        call.touch(&*call.broker.review(id).await?, name.as_deref()).await;
    }
    Ok(response)
}

impl Service {
    /// The first page of a review, for a resource.
    pub(crate) async fn review(&self, given: &str, authz: Authorization<'_>) -> Result<JsonText, CallError> {
        let id = self.broker.resolve(given, authz.scope().unwrap_or(&Scope::All)).await?;
        if authz.is_limited() {
            authz.check_review(&*self.broker.review(id).await?, None)?;
        }
        let response = load(self, id, ProposalRequest::default()).await?;
        Ok(JsonText(serde_json::to_string(&response)?))
    }
}

async fn load(service: &Service, id: ReviewId, request: ProposalRequest) -> Result<ProposalResponse, CallError> {
    let broker = &service.broker;
    let review = ReviewView::load(broker, id, request.at).await?;
    let round = request.round.unwrap_or(review.round.number);
    let is_unread = review.version < FIRST_VERDICT_VERSION && review.decision.is_none();
    check_round(&review, round)?;
    let (patch, iterations) = if is_unread {
        (None, Vec::new())
    } else {
        let verdicts = review.verdicts(round, MAX_ITERATIONS).await?;
        (review.last_counter_patch(round, None).await?, verdicts)
    };
    let chosen = ChosenContent::find(&review, round, &request, patch.is_some(), broker).await?;
    let (hash, content) = (&chosen.hash, chosen.content());
    let patch = match &request.persona {
        Some(persona) => {
            check_persona(broker, &review, persona)?;
            review.last_counter_patch(round, Some(persona)).await?
        }
        None => patch,
    };
    let last_verdict: Option<LastVerdict> = if round == review.round.number {
        review.decision.clone().map(|decision| (decision.verdict, decision.by, decision.reason))
    } else {
        review.last_vote(round).await?.map(|vote| (vote.verdict, vote.reviewer_id, vote.reason))
    };
    let patch = patch.as_ref();
    let reason = match request.verdict {
        Some(version) => Some(reason_of_verdict(broker, &review, version).await?),
        None => None,
    };
    let texts = match (&reason, &request.file) {
        (Some(reason), _) => Texts::of_verdict(reason, request.verdict.unwrap_or_default()),
        (None, Some(file)) => Texts::of_file(content, file)?,
        (None, None) => Texts::new(content, patch, last_verdict.as_ref()),
    };
    let texts = texts.bind(request.since_round, patch.filter(|_| request.persona.is_some()));
    let start = match &request.cursor {
        Some(cursor) => texts.parse_cursor(hash, cursor)?,
        None => 0,
    };
    let stream = TextStream::new([texts.description, &texts.diff, texts.counter_patch, texts.verdict_reason]);
    let details = if start == 0 && request.file.is_none() && request.verdict.is_none() {
        let verdict = last_verdict.as_ref().map(|(verdict, by, _)| (*verdict, by.as_str()));
        let mut details = ProposalDetails::new(&review, round, hash, content, verdict, chosen.target.as_deref());
        details.files = Files::starting_at(content, request.files_from.unwrap_or(0));
        details.iterations = iterations.into_iter().map(shorten_texts).collect();
        if !is_unread {
            details.effort = Effort::total(review.costs().await?);
        }
        let caller = request.caller_id.as_deref();
        let seat = caller.and_then(|caller| review.seats.iter().find(|seat| seat.is_held_by(caller)));
        if let Some(persona) = seat.and_then(|seat| broker.persona(&seat.persona)) {
            details.ignored_files = ignored_files(persona, &details.files);
        }
        Some(details)
    } else {
        None
    };
    let page = stream.page(start, page_budget(details.as_ref(), service.settings)?).ok_or_else(bad_cursor)?;
    let [description, diff, counter_patch, verdict_reason] = page.parts.map(non_empty);
    let response = ProposalResponse {
        head: (&*review).into(),
        round,
        content_hash: hash.clone(),
        submitted_content_hash: chosen.submitted.clone(),
        details,
        since_round: request.since_round,
        since_note: chosen.since.as_ref().and_then(|since| since.note.clone()),
        description,
        diff,
        counter_patch,
        counter_patch_status: patch.map(|patch| patch.status.as_str().to_owned()),
        counter_patch_by: patch.map(|patch| patch.by.clone()),
        counter_patch_persona: patch.map(|patch| patch.persona.clone()),
        verdict_reason,
        total: stream.total(),
        next_cursor: page.next.map(|next| texts.cursor(hash, next)),
        file: request.file,
    };
    Ok(response)
}

/// Refuses a persona without a seat.
fn check_persona(broker: &Broker, review: &Review, persona: &String) -> Result<(), CallError> {
    broker.check_name("persona", Some(persona))?;
    if review.seats.iter().all(|seat| seat.persona != *persona) {
        let (number, persona, seats) = (review.number, persona.clone(), review.personas().join(", "));
        return Err(BrokerError::from(Refusal::NoSuchSeat { number, persona, seats }).into());
    }
    Ok(())
}

/// A counter-patch as a whole.
#[derive(Debug)]
pub(crate) struct FullCounterPatch {
    pub version: u64,
    pub diff: String,
}

/// The last counter-patch of a round, of any seat or of one.
pub(super) async fn counter_patch(call: &Call<'_>, request: ProposalRequest) -> Result<FullCounterPatch, CallError> {
    call.authz.identity_for("caller_id", request.caller_id)?;
    let id = call.resolve(&request.review_id).await?;
    let (broker, review) = (&call.broker, ReviewView::load(&call.broker, id, request.at).await?);
    let round = request.round.unwrap_or(review.round.number);
    check_round(&review, round)?;
    if let Some(persona) = &request.persona {
        check_persona(broker, &review, persona)?;
    }
    let found = review.last_counter_patch(round, request.persona.as_deref()).await?;
    let none = || {
        let seat = request.persona.map_or(String::new(), |persona| format!(" from the seat {persona}"));
        let error = format!("there is no counter-patch{seat} in round {round} of {}", review.number);
        ErrorBody::new(ErrorCode::NoCounterPatch, error)
    };
    let patch = found.ok_or_else(none)?;
    let diff = match request.since_round {
        Some(from) => content_lookup::changed_by_patch(&review, from, patch.diff, broker).await?,
        None => patch.diff,
    };
    Ok(FullCounterPatch { version: review.version, diff })
}

/// The reason of the verdict after which the review had this version.
async fn reason_of_verdict(broker: &Broker, review: &Review, version: u64) -> Result<String, CallError> {
    let records = broker.reader().list_timeline(review.number, version.saturating_sub(1), 1).await?;
    let recorded = records.into_iter().find_map(|record| match record.event.entry {
        LogEntry::Review { recorded, .. } if recorded.version == version => Some(recorded.event),
        LogEntry::Review { .. } | LogEntry::Pool(_) => None,
    });
    match recorded {
        Some(Event::VerdictGiven(given)) if version <= review.version => Ok(given.reason.unwrap_or_default()),
        Some(_) | None => {
            let problem = "names no verdict of this review; give the version of one in get_review_timeline";
            Err(ErrorBody::invalid("verdict", problem).into())
        }
    }
}

/// The last verdict of a round, who gave it, and its reason.
type LastVerdict = (Verdict, String, Option<String>);

fn shorten_texts(iteration: Iteration) -> Iteration {
    let short = |text: Option<String>| text.map(|text| truncate(&text, REASON_CHARS).to_owned());
    Iteration { reason: short(iteration.reason), summary: short(iteration.summary), ..iteration }
}

/// Characters left for the texts of a page. The rest of the response counts, but takes at most half of the page.
pub(super) fn page_budget(rest: Option<&impl Serialize>, settings: Settings) -> Result<usize, CallError> {
    let page = settings.page_chars;
    let used = rest.map(json_chars).transpose()?.unwrap_or(0);
    Ok(page - used.min(page / 2))
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn bad_cursor() -> ErrorBody {
    ErrorBody::bad_cursor("proposal")
}

/// The texts that are paged, in this order.
struct Texts<'a> {
    description: &'a str,
    diff: Cow<'a, str>,
    counter_patch: &'a str,
    verdict_reason: &'a str,
    /// Distinguishes the cursors of different texts of one content.
    kind: String,
}

impl<'a> Texts<'a> {
    fn new(content: &'a Content, patch: Option<&'a CounterPatchRow>, last_verdict: Option<&'a LastVerdict>) -> Self {
        Self {
            description: content.description.as_deref().unwrap_or_default(),
            diff: content.diff.as_deref().unwrap_or_default().into(),
            counter_patch: patch.map_or("", |patch| patch.diff.as_str()),
            verdict_reason: last_verdict.and_then(|(_, _, reason)| reason.as_deref()).unwrap_or_default(),
            kind: "all".into(),
        }
    }

    /// Only the part of the diff that belongs to one file.
    fn of_file(content: &'a Content, file: &str) -> Result<Self, ErrorBody> {
        let diff = content.diff.as_deref().unwrap_or_default();
        let diff = file_section(diff, file).ok_or_else(|| {
            let some: Vec<_> = content.files.iter().map(|file| file.path.as_str()).take(20).collect();
            let error = "file: the diff does not change this file; give a path from affected_files";
            ErrorBody::new(ErrorCode::UnknownFile, error).with("field", "file").with("allowed", some)
        })?;
        Ok(Self { description: "", diff, counter_patch: "", verdict_reason: "", kind: "file".into() })
    }

    fn of_verdict(reason: &'a str, version: u64) -> Self {
        let kind = format!("verdict-{version}");
        Self { description: "", diff: "".into(), counter_patch: "", verdict_reason: reason, kind }
    }

    fn bind(mut self, since: Option<u32>, patch: Option<&CounterPatchRow>) -> Self {
        self.kind.extend(since.map(|round| format!("-since-{round}")));
        self.kind.extend(patch.map(|patch| format!("-patch-{}", patch.id)));
        self
    }

    /// A cursor is bound to the content, so that it never continues in a different text.
    fn cursor(&self, hash: &ContentHash, position: usize) -> String {
        format!("{}.{}.{position}", short_hash(hash), self.kind)
    }

    fn parse_cursor(&self, hash: &ContentHash, cursor: &str) -> Result<usize, ErrorBody> {
        let mut parts = cursor.split('.');
        let (tag, kind) = (parts.next(), parts.next());
        let position = parts.next().and_then(|position| position.parse().ok());
        match (tag == Some(short_hash(hash)) && kind == Some(self.kind.as_str()), position) {
            (true, Some(position)) if position > 0 => Ok(position),
            _ => Err(bad_cursor()),
        }
    }
}

fn short_hash(hash: &ContentHash) -> &str {
    hash.0.get(..12).unwrap_or(&hash.0)
}
