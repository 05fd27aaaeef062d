//! What is proposed, page by page.

mod shown;
mod since;
mod whole;

pub(crate) use whole::Whole;
pub(super) use whole::whole;

use shown::Shown;

use super::{Call, Done, Stop};
use crate::mcp::{
    Server,
    args::GetProposal,
    file_part::file_part,
    page::Stream,
    present::{About, Answer, EffortTotals, Ending, IterationRow, Proposal, ignored},
    refusal::Refused,
};
use domain::{
    content::{Content, ContentHash},
    ids::ReviewId,
};
use serde::Serialize;
use std::borrow::Cow;
use store::CounterPatchRow;

/// Verdicts shown with a proposal.
const MAX_ITERATIONS: u32 = 20;

/// Before the third change (proposed, claimed) no reviewer can have given a verdict.
const FIRST_VERDICT_VERSION: u64 = 3;

/// What of a proposal is asked for.
#[derive(Debug, Default)]
pub(in crate::mcp) struct Asked {
    pub round: Option<u32>,
    pub which: Which,
    pub file: Option<String>,
    pub since: Option<u32>,
    pub persona: Option<String>,
    pub cursor: Option<String>,
    /// Who reads, where that is known.
    pub caller: Option<String>,
}

/// Which of a round's contents. They differ once a counter-patch was accepted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Which {
    #[default]
    Active,
    Submitted,
}

impl Which {
    fn read(word: Option<&str>) -> Result<Self, Refused> {
        match word {
            None | Some("active") => Ok(Self::Active),
            Some("submitted") => Ok(Self::Submitted),
            Some(other) => Err(Refused::unknown_word("unknown_content", "content", other, &["active", "submitted"])),
        }
    }
}

pub(super) async fn get(args: GetProposal, call: &Call<'_>) -> Done {
    let which = Which::read(args.content.as_deref())?;
    let caller = call.who.speaks_as("caller_id", args.caller_id)?;
    let id = call.resolve(&args.review_id).await?;
    let GetProposal { round, file, since_round: since, persona, cursor, .. } = args;
    show(id, Asked { round, which, file, since, persona, cursor, caller }, call.server).await
}

pub(in crate::mcp) async fn show(id: ReviewId, asked: Asked, server: &Server) -> Done {
    let broker = &server.broker;
    let review = broker.review(id).await?;
    let round = asked.round.unwrap_or(review.round.number);
    let is_unread = review.version < FIRST_VERDICT_VERSION && review.decision.is_none();
    let (patch, iterations) = if is_unread {
        (None, Vec::new())
    } else {
        (broker.last_counter_patch(id, round, None).await?, broker.iterations(id, round, MAX_ITERATIONS).await?)
    };
    let shown = Shown::find(&review, round, &asked, patch.is_some(), server).await?;
    let (hash, content) = (&shown.hash, shown.content());
    let patch = match &asked.persona {
        Some(persona) => broker.last_counter_patch(id, round, Some(persona)).await?,
        None => patch,
    };
    let iterations = iterations.iter().map(IterationRow::of).collect();
    let earlier = if round == review.round.number { None } else { Some(broker.last_vote(id, round).await?) };
    let ending = match &earlier {
        None => review.decision.as_ref().map(Ending::of_decision),
        Some(vote) => vote.as_ref().map(Ending::of_vote),
    };
    let patch = patch.as_ref();
    let texts = match &asked.file {
        Some(file) => Texts::of_file(content, file)?,
        None => Texts::of(content, patch, ending),
    };
    let texts = texts.bound_to(asked.since, patch.filter(|_| asked.persona.is_some()));
    let start = match &asked.cursor {
        Some(cursor) => texts.place(hash, cursor)?,
        None => 0,
    };
    let stream = Stream::new([texts.description, &texts.diff, texts.counter_patch, texts.verdict_reason]);
    let is_first = start == 0 && asked.file.is_none();
    let mut about = is_first
        .then(|| About::of(&review, round, hash, content, ending, iterations).with_target(shown.target.as_deref()));
    let seat = asked.caller.as_deref().and_then(|caller| review.seats.iter().find(|seat| seat.is_held_by(caller)));
    let efforts = if about.is_some() && !is_unread { broker.efforts(id).await? } else { Vec::new() };
    if let Some(about) = &mut about {
        about.effort = EffortTotals::of(&efforts);
    }
    if let (Some(about), Some(persona)) = (&mut about, seat.and_then(|seat| broker.persona(&seat.persona))) {
        about.ignored_files = ignored(persona, &about.files);
    }
    let shares = stream.page(start, room(about.as_ref(), server)?).ok_or_else(bad_cursor)?;
    let [description, diff, counter_patch, verdict_reason] = shares.parts;
    let proposal = Proposal {
        review_id: review.id,
        number: review.number.to_string(),
        status: review.status,
        version: review.version,
        round,
        current_round: review.round.number,
        content_hash: &hash.0,
        submitted_content_hash: shown.submitted.as_ref().map(|hash| hash.0.as_str()),
        about,
        since_round: asked.since,
        since_note: shown.since.as_ref().and_then(|since| since.note.as_deref()),
        file: asked.file.as_deref(),
        description: some(description),
        diff: some(diff),
        counter_patch: some(counter_patch),
        counter_patch_status: patch.map(|patch| patch.status.as_str()),
        counter_patch_by: patch.map(|patch| patch.by.as_str()),
        counter_patch_persona: patch.map(|patch| patch.persona.as_str()),
        verdict_reason: some(verdict_reason),
        total: stream.total(),
        next_cursor: shares.next.map(|next| texts.cursor(hash, next)),
    };
    Ok(Answer::of(&proposal)?)
}

/// Characters left for the texts of a page: what is said beside them counts, but never takes more than half.
pub(super) fn room(about: Option<&impl Serialize>, server: &Server) -> Result<usize, Stop> {
    let page = server.settings.page_chars;
    let beside = about.map(serde_json::to_string).transpose()?.map_or(0, |text| text.chars().count());
    Ok(page - beside.min(page / 2))
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn bad_cursor() -> Refused {
    Refused::bad_cursor("proposal")
}

/// The texts that are paged, in this order.
struct Texts<'a> {
    description: &'a str,
    diff: Cow<'a, str>,
    counter_patch: &'a str,
    verdict_reason: &'a str,
    /// Keeps the cursors of different texts of one content apart.
    kind: String,
}

impl<'a> Texts<'a> {
    fn of(content: &'a Content, patch: Option<&'a CounterPatchRow>, ending: Option<Ending<'a>>) -> Self {
        Self {
            description: content.description.as_deref().unwrap_or_default(),
            diff: content.diff.as_deref().unwrap_or_default().into(),
            counter_patch: patch.map_or("", |patch| patch.diff.as_str()),
            verdict_reason: ending.and_then(|ending| ending.reason).unwrap_or_default(),
            kind: "all".into(),
        }
    }

    fn of_file(content: &'a Content, file: &str) -> Result<Self, Refused> {
        let diff = content.diff.as_deref().unwrap_or_default();
        let diff = file_part(diff, content, file).ok_or_else(|| {
            let some: Vec<_> = content.files.iter().map(|file| file.path.as_str()).take(20).collect();
            Refused::new("unknown_file", "file: the diff does not touch it; take a path from affected_files")
                .with("field", "file")
                .with("allowed", some)
        })?;
        Ok(Self { description: "", diff, counter_patch: "", verdict_reason: "", kind: "file".into() })
    }

    fn bound_to(mut self, since: Option<u32>, patch: Option<&CounterPatchRow>) -> Self {
        self.kind.extend(since.map(|round| format!("-since-{round}")));
        self.kind.extend(patch.map(|patch| format!("-patch-{}", patch.id)));
        self
    }

    /// Bound to the content, so that a cursor never goes on in another text.
    fn cursor(&self, hash: &ContentHash, place: usize) -> String {
        format!("{}.{}.{place}", self.tag(hash), self.kind)
    }

    fn place(&self, hash: &ContentHash, cursor: &str) -> Result<usize, Refused> {
        let mut parts = cursor.split('.');
        let (tag, kind, place) = (parts.next(), parts.next(), parts.next().and_then(|place| place.parse().ok()));
        match (tag == Some(self.tag(hash)) && kind == Some(self.kind.as_str()), place) {
            (true, Some(place)) if place > 0 => Ok(place),
            _ => Err(bad_cursor()),
        }
    }

    fn tag<'h>(&self, hash: &'h ContentHash) -> &'h str {
        hash.0.get(..12).unwrap_or(&hash.0)
    }
}
