//! Checks with git that the files, lines and quotes of findings exist, and finds their lines again in the content of a
//! new round. It runs in the caller's task, because git reads files.

mod late_findings;

use super::Submissions;
use crate::error::BrokerError;
use domain::{
    content::Content,
    diff::{AffectedFile, FileOperation},
    finding::{
        Anchor, Finding, FindingNumber, Grounding, Lines, LocatedText, Location, NewFinding,
        anchor::{is_as_suggested, project_all, removed_lines},
        grounding::{FileText, Grounded, ProposalTexts, Sides, ground},
    },
    review::{DiffSide, FindingRaised, OfferedFindings, Review, Seat},
};
use git::{FileContent, FileVersions};
use late_findings::{ChangesSince, ContentFiles, path_after};
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
        let findings: Vec<_> = findings.into_iter().map(|found| with_path_before(found, &content)).collect();
        let texts = texts_of(findings.iter().filter_map(|found| found.location.as_ref()));
        let base = self.read_base_files(review, &content, paths_before(&texts)).await;
        let before = match seat.and_then(|seat| seat.reviewed.as_ref()) {
            Some(reviewed) if reviewed.content_hash != review.round.content_hash => {
                let before = self.shared.find_content(&reviewed.content_hash).await?;
                let files = match content.diff {
                    Some(_) => self.read_files(review, &before, paths_in(&before, &texts)).await,
                    None => Err("the proposal has no diff".to_owned()),
                };
                Some(ContentFiles { content: before, files })
            }
            Some(_) | None => None,
        };
        let files = self.read_files(review, &content, paths_in(&content, &texts)).await;
        let now = ContentFiles { content, files };
        let numbers = self.finding_numbers(findings.len());
        let ground_all = move || {
            let changes = before.map(|before| ChangesSince::new(&before, &now, texts));
            let offer = |(number, found)| offer(number, found, &now, &base, changes.as_ref());
            numbers.zip(findings).map(offer).collect()
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
            let texts = texts_of(findings.iter().filter_map(|finding| finding.found.location.as_ref()));
            let mut old_paths = paths_after(&texts);
            let base_paths = paths_before(&texts);
            let mut new_paths: BTreeSet<_> = old_paths.iter().map(|path| path_in(&raised_on, next, path)).collect();
            old_paths.extend(base_paths.iter().map(|path| path_after(&raised_on, path).to_owned()));
            new_paths.extend(base_paths.iter().map(|path| path_after(next, path).to_owned()));
            let (old, new, old_base, new_base) = tokio::join!(
                self.read_files(review, &raised_on, old_paths),
                self.read_files(review, next, new_paths),
                self.read_base_files(review, &raised_on, base_paths.clone()),
                self.read_base_files(review, next, base_paths),
            );
            let old = Version { content: raised_on, files: old.ok(), base: old_base.ok() };
            let new = Version { content: Arc::clone(next), files: new.ok(), base: new_base.ok() };
            let located = tokio::task::spawn_blocking(move || locate(&findings, &old, &new)).await;
            anchors.extend(located.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })?);
        }
        Ok(anchors)
    }

    async fn read_files(&self, review: &Review, content: &Content, paths: BTreeSet<String>) -> Files {
        self.read_versions(review, content, content.diff.as_deref(), paths).await
    }

    /// Reads only what is before the change, so it does not matter whether the diff applies.
    async fn read_base_files(&self, review: &Review, content: &Content, paths: BTreeSet<String>) -> Files {
        self.read_versions(review, content, None, paths).await
    }

    async fn read_versions(
        &self,
        review: &Review,
        content: &Content,
        diff: Option<&str>,
        paths: BTreeSet<String>,
    ) -> Files {
        let paths: Vec<_> = paths.into_iter().collect();
        if paths.is_empty() {
            return Ok(HashMap::new());
        }
        let repository = self.repository(review).map_err(|error| error.to_string())?;
        let base = match &content.diff {
            Some(_) => content.base_commit.clone(),
            None => Box::pin(repository.resolve_base(None)).await.map_err(|error| error.to_string())?,
        };
        // Boxed, because several of these large futures run at once.
        let versions = Box::pin(repository.read_files(base.as_deref(), diff, &paths)).await;
        Ok(paths.into_iter().zip(versions.map_err(|error| error.to_string())?).collect())
    }
}

fn texts_of<'a>(locations: impl Iterator<Item = &'a Location>) -> BTreeSet<LocatedText> {
    locations.map(|location| location.text.clone()).collect()
}

/// The files whose new side the texts are.
fn paths_after(texts: &BTreeSet<LocatedText>) -> BTreeSet<String> {
    paths_on(DiffSide::New, texts).map(str::to_owned).collect()
}

/// The files whose old side the texts are.
fn paths_before(texts: &BTreeSet<LocatedText>) -> BTreeSet<String> {
    paths_on(DiffSide::Old, texts).map(str::to_owned).collect()
}

/// The files of the texts on both sides of a content.
fn paths_in(content: &Content, texts: &BTreeSet<LocatedText>) -> BTreeSet<String> {
    let before = paths_on(DiffSide::Old, texts).flat_map(|path| [path, path_after(content, path)]);
    paths_on(DiffSide::New, texts).chain(before).map(str::to_owned).collect()
}

fn paths_on(wanted: DiffSide, texts: &BTreeSet<LocatedText>) -> impl Iterator<Item = &str> {
    texts.iter().filter_map(move |text| match text {
        LocatedText::File { path, side } => (*side == wanted).then_some(path.as_str()),
        LocatedText::Description => None,
    })
}

/// On the old side a renamed or copied file has its old path. Reviewers may give the new one.
fn with_path_before(mut found: NewFinding, content: &Content) -> NewFinding {
    if let Some(Location { text: LocatedText::File { path, side: DiffSide::Old }, .. }) = &mut found.location {
        let file = content.files.iter().find(|file| file.path == *path);
        if let Some(old_path) = file.and_then(|file| file.old_path.as_ref()) {
            path.clone_from(old_path);
        }
    }
    found
}

/// A finding with its location corrected to the lines that it quotes.
fn offer(
    number: FindingNumber,
    found: NewFinding,
    now: &ContentFiles,
    base: &Files,
    changes: Option<&ChangesSince>,
) -> FindingRaised {
    let content = &now.content;
    let (intent, description, diff) = (&*content.intent, content.description.as_deref(), content.diff.as_deref());
    let source = found.location.as_ref().and_then(|location| match &location.text {
        LocatedText::File { path, side: DiffSide::New } => Some((path, &now.files)),
        LocatedText::File { path, side: DiffSide::Old } => Some((path, base)),
        LocatedText::Description => None,
    });
    let sides = source.map(|(path, files)| match files {
        Ok(files) => files.get(path).map_or(UNKNOWN, sides_of),
        Err(_) => UNKNOWN,
    });
    let Grounded { grounding, location } = ground(&found, sides, ProposalTexts { intent, description, diff });
    let grounding = match (grounding, source) {
        (Grounding::Unchecked { .. }, Some((_, Err(why)))) => Grounding::Unchecked { why: why.clone() },
        (grounding, _) => grounding,
    };
    let late = changes.is_some_and(|changes| changes.is_late(location.as_ref()));
    let found = NewFinding { location, ..found };
    FindingRaised { number, found, grounding, late, oscillating: false, duplicate: None }
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

/// The path of a file of `old` in `new`. It differs only if one of the two renames the file; a copy leaves the original
/// in place.
fn path_in(old: &Content, new: &Content, path: &str) -> String {
    let renamed = |file: &&AffectedFile| file.operation == FileOperation::Rename;
    let is_there = new.files.iter().any(|file| file.path == path && file.operation != FileOperation::Delete);
    if is_there {
        return path.to_owned();
    }
    let source = old.files.iter().filter(renamed).find(|file| file.path == path);
    let source = source.and_then(|file| file.old_path.as_deref()).unwrap_or(path);
    let target = new.files.iter().filter(renamed).find(|file| file.old_path.as_deref() == Some(source));
    target.map_or(source, |file| &file.path).to_owned()
}

/// A content with the files that findings refer to. Files that cannot be read are `None`: a diff that does not apply has
/// no files to look at, but the next round may have.
struct Version {
    content: Arc<Content>,
    files: Option<HashMap<String, FileVersions>>,
    base: Option<HashMap<String, FileVersions>>,
}

/// Locates findings of the content they were raised on in the next one. Compares each text once.
fn locate(findings: &[Arc<Finding>], old: &Version, new: &Version) -> Vec<(FindingNumber, Anchor)> {
    let mut by_text: BTreeMap<&LocatedText, Vec<(&Finding, Location)>> = BTreeMap::new();
    for finding in findings {
        if let Some(location) = &finding.found.location {
            by_text.entry(&location.text).or_default().push((finding, location.clone()));
        }
    }
    let mut anchors = Vec::new();
    for (text, findings) in by_text {
        let Some((old_text, new_text, new_name)) = versions_of(text, old, new) else { continue };
        let (findings, locations): (Vec<_>, Vec<_>) = findings.into_iter().unzip();
        let projected = project_all(&locations, old_text, new_text, &new_name);
        for ((finding, location), anchor) in findings.into_iter().zip(&locations).zip(projected) {
            let likely_fixed = match (&location.text, finding.found.suggestion.as_deref(), new_text) {
                // The proposer does not write the old side, but can take a removal back.
                (LocatedText::File { path, side: DiffSide::Old }, _, _) => {
                    let now = anchor.location.as_ref().and_then(|location| location.lines);
                    keeps_lines(old, path, location.lines) == Some(false) && keeps_lines(new, path, now) == Some(true)
                }
                (_, Some(suggestion), FileText::Text(new)) => {
                    is_as_suggested(suggestion, &lines_of(old_text, location), new, &anchor)
                }
                (_, Some(_), FileText::Binary | FileText::Absent | FileText::Unknown) | (_, None, _) => false,
            };
            anchors.push((finding.number, Anchor { likely_fixed, ..anchor }));
        }
    }
    anchors
}

/// Whether a content leaves all these lines of its old side in the file; `None` if that is not known.
fn keeps_lines(version: &Version, path: &str, lines: Option<Lines>) -> Option<bool> {
    let before = version.base.as_ref()?.get(path)?;
    let after = version.files.as_ref()?.get(path_after(&version.content, path))?;
    match (lines?, &before.before, &after.after) {
        (lines, FileContent::Text(before), FileContent::Text(after)) => {
            let is_outside = |removed: &Lines| removed.end < lines.start || removed.start > lines.end;
            Some(removed_lines(before, after).iter().all(is_outside))
        }
        (_, FileContent::Text(_) | FileContent::Binary | FileContent::Absent | FileContent::TooLarge, _) => None,
    }
}

/// A text in the old and in the new content, and its name in the new one. `None` if they cannot be compared.
fn versions_of<'a>(
    text: &LocatedText,
    old: &'a Version,
    new: &'a Version,
) -> Option<(&'a str, FileText<'a>, LocatedText)> {
    let (old, new, name) = match text {
        LocatedText::Description => {
            let new = new.content.description.as_deref().map_or(FileText::Absent, FileText::Text);
            return Some((old.content.description.as_deref()?, new, LocatedText::Description));
        }
        LocatedText::File { path, side: DiffSide::Old } => {
            (&old.base.as_ref()?.get(path)?.before, &new.base.as_ref()?.get(path)?.before, text.clone())
        }
        LocatedText::File { path, side: side @ DiffSide::New } => {
            let new_path = path_in(&old.content, &new.content, path);
            let (old, new) = (old.files.as_ref()?.get(path)?, new.files.as_ref()?.get(&new_path)?);
            let is_of_deleted = old.after == FileContent::Absent;
            let old = if is_of_deleted { &old.before } else { &old.after };
            let new = if is_of_deleted && new.after == FileContent::Absent { &new.before } else { &new.after };
            (old, new, LocatedText::File { path: new_path, side: *side })
        }
    };
    match (old, new) {
        (FileContent::Text(old), FileContent::Text(_) | FileContent::Binary | FileContent::Absent) => {
            Some((old, text_of(new), name))
        }
        (FileContent::Text(_), FileContent::TooLarge)
        | (FileContent::Binary | FileContent::Absent | FileContent::TooLarge, _) => None,
    }
}

fn lines_of(text: &str, location: &Location) -> String {
    let Some(Lines { start, end }) = location.lines else { return String::new() };
    let (skip, count) = (start.saturating_sub(1) as usize, end.saturating_sub(start) as usize + 1);
    text.lines().skip(skip).take(count).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "finding_locations_tests.rs"]
mod tests;
