//! Findings meet the files they speak of. The files are read by git, so in the caller's task: no mailbox waits.

use crate::{
    Context,
    error::BrokerError,
    git::{FileSides, Stored},
};
use domain::{
    content::Content,
    finding::{
        Anchor, Finding, FindingNumber, Grounding, Lines, NewFinding, Place,
        anchor::{changed_lines, is_as_suggested, project},
        ground::{FileText, Grounded, Sides, ground},
    },
    review::{OfferedFinding, OfferedFindings, Review, Seat, followed},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The files of one content, or why they cannot be read.
type Files = Result<HashMap<String, FileSides>, String>;

impl Context {
    /// Looks up what a verdict brings in the content it is about. Never fails for a finding's sake: what cannot be
    /// checked says so.
    pub(crate) async fn look_up(
        &self,
        review: &Review,
        seat: Option<&Seat>,
        findings: Vec<NewFinding>,
    ) -> Result<OfferedFindings, BrokerError> {
        let content = self.find_content(&review.round.content_hash).await?;
        let files = self.read_files(review, &content, paths_of(&findings)).await;
        let before = match seat.and_then(|seat| seat.reviewed.as_ref()) {
            Some(reviewed) if reviewed.content_hash != review.round.content_hash && content.diff.is_some() => {
                let before = self.find_content(&reviewed.content_hash).await?;
                Some(self.read_files(review, &before, paths_of(&findings)).await)
            }
            Some(_) | None => None,
        };
        let checked = Some(review.round.content_hash.clone());
        let look = move || findings.into_iter().map(|found| offer(found, &content, &files, before.as_ref())).collect();
        let list = tokio::task::spawn_blocking(look).await;
        let list = list.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?;
        // The gateway mints the numbers.
        Ok(OfferedFindings { first: 0, checked, list })
    }

    /// Where the findings of `review` stand in the content that is to follow. One that cannot be followed is left out.
    pub(crate) async fn follow(
        &self,
        review: &Review,
        next: &Arc<Content>,
    ) -> Result<Vec<(FindingNumber, Anchor)>, BrokerError> {
        let mut by_content: BTreeMap<_, Vec<Arc<Finding>>> = BTreeMap::new();
        for finding in review.findings.iter().filter(|finding| followed(finding)) {
            by_content.entry(finding.raised_on.clone()).or_default().push(Arc::clone(finding));
        }
        let mut anchors = Vec::new();
        for (hash, findings) in by_content {
            let raised_on = self.find_content(&hash).await?;
            let places = || findings.iter().filter_map(|finding| finding.found.place.as_ref());
            let old_paths: BTreeSet<_> = places().map(|place| place.file.clone()).collect();
            let new_paths = old_paths.iter().map(|path| path_in(&raised_on, next, path)).collect();
            let (old, new) =
                tokio::join!(self.read_files(review, &raised_on, old_paths), self.read_files(review, next, new_paths));
            // A diff that does not apply yet leads to no files; the next round may.
            let (Ok(old), Ok(new)) = (old, new) else { continue };
            let next = Arc::clone(next);
            let trace = move || findings.iter().filter_map(|f| trace(f, &raised_on, &old, &next, &new)).collect();
            let traced: Result<Vec<_>, _> = tokio::task::spawn_blocking(trace).await;
            anchors.extend(traced.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?);
        }
        Ok(anchors)
    }

    async fn read_files(&self, review: &Review, content: &Content, paths: BTreeSet<String>) -> Files {
        let paths: Vec<_> = paths.into_iter().collect();
        if paths.is_empty() {
            return Ok(HashMap::new());
        }
        let project = review.proposer.project.as_deref();
        let repository = self.projects.repository(project).map_err(|error| error.to_string())?;
        let base = match &content.diff {
            Some(_) => content.base_commit.clone(),
            None => repository.resolve_base(None).await.map_err(|error| error.to_string())?,
        };
        let sides = repository.read_files(base.as_deref(), content.diff.as_deref(), &paths).await;
        Ok(paths.into_iter().zip(sides.map_err(|error| error.to_string())?).collect())
    }
}

fn paths_of(findings: &[NewFinding]) -> BTreeSet<String> {
    findings.iter().filter_map(|finding| finding.place.as_ref()).map(|place| place.file.clone()).collect()
}

/// A finding with the place that it really speaks of.
fn offer(found: NewFinding, content: &Content, files: &Files, before: Option<&Files>) -> OfferedFinding {
    let file = found.place.as_ref().map(|place| place.file.as_str());
    let prose = [Some(&*content.intent), content.description.as_deref(), content.diff.as_deref()];
    let prose: Vec<_> = prose.into_iter().flatten().collect();
    let sides = file.map(|file| match files {
        Ok(files) => files.get(file).map_or(UNKNOWN, sides_of),
        Err(_) => UNKNOWN,
    });
    let Grounded { grounding, place } = ground(&found, sides, &prose);
    let grounding = match (grounding, files) {
        (Grounding::Unchecked { .. }, Err(why)) if file.is_some() => Grounding::Unchecked { why: why.clone() },
        (grounding, _) => grounding,
    };
    let on_changed_lines = before.and_then(|before| is_on_changed_lines(place.as_ref(), files, before));
    OfferedFinding { found: NewFinding { place, ..found }, grounding, on_changed_lines }
}

const UNKNOWN: Sides<'static> = Sides { after: FileText::Unknown, before: FileText::Unknown };

fn sides_of(sides: &FileSides) -> Sides<'_> {
    Sides { after: text_of(&sides.after), before: text_of(&sides.before) }
}

fn text_of(stored: &Stored) -> FileText<'_> {
    match stored {
        Stored::Text(text) => FileText::Text(text),
        Stored::Binary => FileText::Binary,
        Stored::Absent => FileText::Absent,
        Stored::TooLarge => FileText::Unknown,
    }
}

/// Whether a place was touched since `before`. What names no place is not about what was changed.
fn is_on_changed_lines(place: Option<&Place>, now: &Files, before: &Files) -> Option<bool> {
    let Some(place) = place else { return Some(false) };
    let (Ok(now), Ok(before)) = (now, before) else { return None };
    let (now, before) = (now.get(&place.file)?, before.get(&place.file)?);
    match (&before.after, &now.after) {
        (Stored::Text(before), Stored::Text(now)) => {
            let touches = |changed: &Lines| place.lines.is_none_or(|own| overlap(own, *changed));
            Some(changed_lines(before, now).iter().any(touches))
        }
        (before, now) => Some(before != now),
    }
}

const fn overlap(a: Lines, b: Lines) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The path that a file of one content has in another. A rename is known by where both came from.
fn path_in(old: &Content, new: &Content, path: &str) -> String {
    let source = old.files.iter().find(|file| file.path == path).and_then(|file| file.old_path.as_deref());
    let source = source.unwrap_or(path);
    let renamed = new.files.iter().find(|file| file.old_path.as_deref() == Some(source));
    renamed.map_or(source, |file| &file.path).to_owned()
}

/// Follows one finding from the content it was raised on.
fn trace(
    finding: &Finding,
    raised_on: &Content,
    old: &HashMap<String, FileSides>,
    next: &Content,
    new: &HashMap<String, FileSides>,
) -> Option<(FindingNumber, Anchor)> {
    let place = finding.found.place.as_ref()?;
    let path = path_in(raised_on, next, &place.file);
    let (old, new) = (old.get(&place.file)?, new.get(&path)?);
    let is_of_deleted = old.after == Stored::Absent;
    let Stored::Text(old) = (if is_of_deleted { &old.before } else { &old.after }) else { return None };
    let new = if is_of_deleted && new.after == Stored::Absent { &new.before } else { &new.after };
    if *new == Stored::TooLarge {
        return None;
    }
    let projection = project(place, old, text_of(new), &path);
    let likely_fixed = match (finding.found.suggestion.as_deref(), new) {
        (Some(suggestion), Stored::Text(new)) => is_as_suggested(suggestion, &lines_of(old, place), new, &projection),
        _ => false,
    };
    Some((finding.number, Anchor { state: projection.state, place: projection.place, likely_fixed }))
}

fn lines_of(text: &str, place: &Place) -> String {
    let Some(Lines { start, end }) = place.lines else { return String::new() };
    let (skip, count) = (start.saturating_sub(1) as usize, end.saturating_sub(start) as usize + 1);
    text.lines().skip(skip).take(count).collect::<Vec<_>>().join("\n")
}
