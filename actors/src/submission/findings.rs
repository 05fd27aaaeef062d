//! Findings meet the files they speak of. The files are read by git, so in the caller's task: no mailbox waits.

use crate::{Context, error::BrokerError};
use domain::{
    content::Content,
    diff::{AffectedFile, Operation},
    finding::{
        Anchor, Finding, FindingNumber, Grounding, Lines, Location, NewFinding,
        anchor::{changed_lines, is_as_suggested, project_all},
        grounding::{FileText, Grounded, Sides, ground},
    },
    review::{OfferedFinding, OfferedFindings, Review, Seat, followed},
};
use git::{FileContent, FileVersions};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The files of one content, or why they cannot be read.
type Files = Result<HashMap<String, FileVersions>, String>;

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
        let look = move || {
            let changed = before.and_then(|before| changed_since(&files, &before));
            findings.into_iter().map(|found| offer(found, &content, &files, changed.as_ref())).collect()
        };
        let list = tokio::task::spawn_blocking(look).await;
        let list = list.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?;
        // The gateway mints the numbers.
        Ok(OfferedFindings { first: 0, digest: None, checked, list })
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
            let trace = move || trace(&findings, &raised_on, &old, &next, &new);
            let traced = tokio::task::spawn_blocking(trace).await;
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
fn offer(found: NewFinding, content: &Content, files: &Files, changed: Option<&Changed>) -> OfferedFinding {
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
    let on_changed_lines = changed.and_then(|changed| is_on_changed_lines(place.as_ref(), changed));
    OfferedFinding { found: NewFinding { place, ..found }, grounding, on_changed_lines }
}

const UNKNOWN: Sides<'static> = Sides { after: FileText::Unknown, before: FileText::Unknown };

fn sides_of(sides: &FileVersions) -> Sides<'_> {
    Sides { after: text_of(&sides.after), before: text_of(&sides.before) }
}

fn text_of(stored: &FileContent) -> FileText<'_> {
    match stored {
        FileContent::Text(text) => FileText::Text(text),
        FileContent::Binary => FileText::Binary,
        FileContent::Absent => FileText::Absent,
        FileContent::TooLarge => FileText::Unknown,
    }
}

/// What of each file was touched since.
type Changed = HashMap<String, Touched>;

enum Touched {
    Lines(Vec<Lines>),
    /// All of it, or nothing.
    Whole(bool),
}

/// Each file compared once; `None` where there is nothing to compare.
fn changed_since(now: &Files, before: &Files) -> Option<Changed> {
    let (Ok(now), Ok(before)) = (now, before) else { return None };
    let touched = |(path, now): (&String, &FileVersions)| {
        let touched = match (&before.get(path)?.after, &now.after) {
            (FileContent::Text(before), FileContent::Text(now)) => Touched::Lines(changed_lines(before, now)),
            (before, now) => Touched::Whole(before != now),
        };
        Some((path.clone(), touched))
    };
    Some(now.iter().filter_map(touched).collect())
}

/// Whether a place is among it. What names no place is not about what was changed.
fn is_on_changed_lines(place: Option<&Location>, changed: &Changed) -> Option<bool> {
    let Some(place) = place else { return Some(false) };
    Some(match changed.get(&place.file)? {
        Touched::Lines(changed) => changed.iter().any(|lines| place.lines.is_none_or(|own| overlap(own, *lines))),
        Touched::Whole(touched) => *touched,
    })
}

const fn overlap(a: Lines, b: Lines) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The path that a file of one content has in another. Only a rename leads elsewhere, and it is known by where both came
/// from; a copy leaves the file where it was.
fn path_in(old: &Content, new: &Content, path: &str) -> String {
    let renamed = |file: &&AffectedFile| file.operation == Operation::Rename;
    let is_there = new.files.iter().any(|file| file.path == path && file.operation != Operation::Delete);
    if is_there {
        return path.to_owned();
    }
    let source = old.files.iter().filter(renamed).find(|file| file.path == path);
    let source = source.and_then(|file| file.old_path.as_deref()).unwrap_or(path);
    let target = new.files.iter().filter(renamed).find(|file| file.old_path.as_deref() == Some(source));
    target.map_or(source, |file| &file.path).to_owned()
}

/// Follows findings from the content they were raised on. Each file is compared once.
fn trace(
    findings: &[Arc<Finding>],
    raised_on: &Content,
    old: &HashMap<String, FileVersions>,
    next: &Content,
    new: &HashMap<String, FileVersions>,
) -> Vec<(FindingNumber, Anchor)> {
    let mut by_file: BTreeMap<&str, Vec<(&Finding, Location)>> = BTreeMap::new();
    for finding in findings {
        if let Some(place) = &finding.found.place {
            by_file.entry(&place.file).or_default().push((finding, place.clone()));
        }
    }
    let mut anchors = Vec::new();
    for (file, findings) in by_file {
        let path = path_in(raised_on, next, file);
        let (Some(old), Some(new)) = (old.get(file), new.get(&path)) else { continue };
        let is_of_deleted = old.after == FileContent::Absent;
        let FileContent::Text(old) = (if is_of_deleted { &old.before } else { &old.after }) else { continue };
        let new = if is_of_deleted && new.after == FileContent::Absent { &new.before } else { &new.after };
        if *new == FileContent::TooLarge {
            continue;
        }
        let (findings, places): (Vec<_>, Vec<_>) = findings.into_iter().unzip();
        let projections = project_all(&places, old, text_of(new), &path);
        for ((finding, place), projection) in findings.into_iter().zip(&places).zip(projections) {
            let likely_fixed = match (finding.found.suggestion.as_deref(), new) {
                (Some(suggestion), FileContent::Text(new)) => {
                    is_as_suggested(suggestion, &lines_of(old, place), new, &projection)
                }
                _ => false,
            };
            let anchor = Anchor { state: projection.state, place: projection.place, likely_fixed };
            anchors.push((finding.number, anchor));
        }
    }
    anchors
}

fn lines_of(text: &str, place: &Location) -> String {
    let Some(Lines { start, end }) = place.lines else { return String::new() };
    let (skip, count) = (start.saturating_sub(1) as usize, end.saturating_sub(start) as usize + 1);
    text.lines().skip(skip).take(count).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
