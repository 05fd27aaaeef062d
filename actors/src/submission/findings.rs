//! Grounds findings in the files they refer to, and finds their lines again in a new content. Git reads the files, so
//! this runs in the caller's task.

use super::Submissions;
use crate::error::BrokerError;
use domain::{
    content::Content,
    diff::{AffectedFile, Operation},
    finding::{
        Anchor, Finding, FindingNumber, Grounding, Lines, Location, NewFinding,
        anchor::{changed_lines, is_as_suggested, project_all},
        grounding::{FileText, Grounded, Sides, ground},
    },
    review::{FindingRaised, OfferedFindings, Review, Seat},
};
use git::{FileContent, FileVersions};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The files of one content, or why they cannot be read.
type Files = Result<HashMap<String, FileVersions>, String>;

impl Submissions {
    /// Checks the findings of a verdict against the active content. A finding that cannot be checked is marked so; it
    /// does not fail the verdict.
    pub(super) async fn ground_findings(
        &self,
        review: &Review,
        seat: Option<&Seat>,
        findings: Vec<NewFinding>,
    ) -> Result<OfferedFindings, BrokerError> {
        let content = self.shared.find_content(&review.round.content_hash).await?;
        let files = self.read_files(review, &content, paths_of(&findings)).await;
        let before = match seat.and_then(|seat| seat.reviewed.as_ref()) {
            Some(reviewed) if reviewed.content_hash != review.round.content_hash && content.diff.is_some() => {
                let before = self.shared.find_content(&reviewed.content_hash).await?;
                Some(self.read_files(review, &before, paths_of(&findings)).await)
            }
            Some(_) | None => None,
        };
        let numbers = self.finding_numbers(findings.len());
        let ground_all = move || {
            let changed = before.and_then(|before| changed_since(&files, &before));
            let numbered = numbers.zip(findings);
            numbered.map(|(number, found)| offer(number, found, &content, &files, changed.as_ref())).collect()
        };
        let list = tokio::task::spawn_blocking(ground_all).await;
        let list = list.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?;
        Ok(OfferedFindings { content_hash: review.round.content_hash.clone(), list })
    }

    /// The anchors of the findings in the next content. A finding that cannot be located is left out.
    pub(super) async fn reanchor_findings(
        &self,
        review: &Review,
        next: &Arc<Content>,
    ) -> Result<Vec<(FindingNumber, Anchor)>, BrokerError> {
        let mut by_content: BTreeMap<_, Vec<Arc<Finding>>> = BTreeMap::new();
        for finding in review.findings.iter().filter(|finding| finding.is_anchored()) {
            by_content.entry(finding.raised_on.clone()).or_default().push(Arc::clone(finding));
        }
        let mut anchors = Vec::new();
        for (hash, findings) in by_content {
            let raised_on = self.shared.find_content(&hash).await?;
            let locations = || findings.iter().filter_map(|finding| finding.found.location.as_ref());
            let old_paths: BTreeSet<_> = locations().map(|location| location.file.clone()).collect();
            let new_paths = old_paths.iter().map(|path| path_in(&raised_on, next, path)).collect();
            let (old, new) =
                tokio::join!(self.read_files(review, &raised_on, old_paths), self.read_files(review, next, new_paths));
            // A diff that does not apply has no files to look at. The next round may have.
            let (Ok(old), Ok(new)) = (old, new) else { continue };
            let next = Arc::clone(next);
            let locate = move || locate(&findings, &raised_on, &old, &next, &new);
            let located = tokio::task::spawn_blocking(locate).await;
            anchors.extend(located.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?);
        }
        Ok(anchors)
    }

    async fn read_files(&self, review: &Review, content: &Content, paths: BTreeSet<String>) -> Files {
        let paths: Vec<_> = paths.into_iter().collect();
        if paths.is_empty() {
            return Ok(HashMap::new());
        }
        let repository = self.repository(review).map_err(|error| error.to_string())?;
        let base = match &content.diff {
            Some(_) => content.base_commit.clone(),
            None => repository.resolve_base(None).await.map_err(|error| error.to_string())?,
        };
        let sides = repository.read_files(base.as_deref(), content.diff.as_deref(), &paths).await;
        Ok(paths.into_iter().zip(sides.map_err(|error| error.to_string())?).collect())
    }
}

fn paths_of(findings: &[NewFinding]) -> BTreeSet<String> {
    findings.iter().filter_map(|finding| finding.location.as_ref()).map(|location| location.file.clone()).collect()
}

/// A finding with its location corrected to the lines that it quotes.
fn offer(
    number: FindingNumber,
    found: NewFinding,
    content: &Content,
    files: &Files,
    changed: Option<&Changed>,
) -> FindingRaised {
    let file = found.location.as_ref().map(|location| location.file.as_str());
    let prose = [Some(&*content.intent), content.description.as_deref(), content.diff.as_deref()];
    let prose: Vec<_> = prose.into_iter().flatten().collect();
    let sides = file.map(|file| match files {
        Ok(files) => files.get(file).map_or(UNKNOWN, sides_of),
        Err(_) => UNKNOWN,
    });
    let Grounded { grounding, location } = ground(&found, sides, &prose);
    let grounding = match (grounding, files) {
        (Grounding::Unchecked { .. }, Err(why)) if file.is_some() => Grounding::Unchecked { why: why.clone() },
        (grounding, _) => grounding,
    };
    let is_late = changed.and_then(|changed| is_on_changed_lines(location.as_ref(), changed)) == Some(false);
    let found = NewFinding { location, ..found };
    FindingRaised { number, found, grounding, late: is_late, oscillating: false, duplicate: None }
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

/// The changed lines of each file.
type Changed = HashMap<String, Touched>;

enum Touched {
    Lines(Vec<Lines>),
    /// Whether the file changed; its lines cannot be compared.
    Whole(bool),
}

/// Compares each file once; `None` if the files of a content cannot be read.
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

/// Whether the location overlaps changed lines. A finding without a location does not.
fn is_on_changed_lines(location: Option<&Location>, changed: &Changed) -> Option<bool> {
    let Some(location) = location else { return Some(false) };
    Some(match changed.get(&location.file)? {
        Touched::Lines(changed) => changed.iter().any(|lines| location.lines.is_none_or(|own| overlap(own, *lines))),
        Touched::Whole(touched) => *touched,
    })
}

const fn overlap(a: Lines, b: Lines) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The path of a file of `old` in `new`. It differs only if one of the two renames the file; a copy leaves the original
/// in place.
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

/// Locates findings of the content they were raised on in the next one. Compares each file once.
fn locate(
    findings: &[Arc<Finding>],
    raised_on: &Content,
    old: &HashMap<String, FileVersions>,
    next: &Content,
    new: &HashMap<String, FileVersions>,
) -> Vec<(FindingNumber, Anchor)> {
    let mut by_file: BTreeMap<&str, Vec<(&Finding, Location)>> = BTreeMap::new();
    for finding in findings {
        if let Some(location) = &finding.found.location {
            by_file.entry(&location.file).or_default().push((finding, location.clone()));
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
        let (findings, locations): (Vec<_>, Vec<_>) = findings.into_iter().unzip();
        let projected = project_all(&locations, old, text_of(new), &path);
        for ((finding, location), anchor) in findings.into_iter().zip(&locations).zip(projected) {
            let likely_fixed = match (finding.found.suggestion.as_deref(), new) {
                (Some(suggestion), FileContent::Text(new)) => {
                    is_as_suggested(suggestion, &lines_of(old, location), new, &anchor)
                }
                _ => false,
            };
            anchors.push((finding.number, Anchor { likely_fixed, ..anchor }));
        }
    }
    anchors
}

fn lines_of(text: &str, location: &Location) -> String {
    let Some(Lines { start, end }) = location.lines else { return String::new() };
    let (skip, count) = (start.saturating_sub(1) as usize, end.saturating_sub(start) as usize + 1);
    text.lines().skip(skip).take(count).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
