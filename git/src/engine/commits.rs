//! Reads commits: their tree, parents and subject, and the commits between two of them if they form a line.
//!
//! Histories with merges are left to git: their order and their common ancestors follow rules of their own.

use std::collections::HashSet;

use super::Declined;
use super::object_id::{Kind, ObjectId};
use super::objects::ObjectReader;
use crate::history::{CommitRecord, Walk};

/// Longer histories are read by git.
const MAX_COMMITS: usize = 2000;
const NO_LINE: Declined = Declined("a history that is not a line");

#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    /// `None` if only git can tell: the message is unusual, or in another encoding.
    subject: Option<String>,
}

impl Commit {
    pub(crate) fn read(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<Self, Declined> {
        const MALFORMED: Declined = Declined("a malformed commit");
        let content = reader.read_kind(id, Kind::Commit)?;
        let mut lines = content.split(|&byte| byte == b'\n');
        let id = |line: &[u8]| ObjectId::parse(line, reader.algorithm()).ok_or(MALFORMED);
        let tree = lines.next().and_then(|line| line.strip_prefix(b"tree ")).ok_or(MALFORMED)?;
        let parents = lines.map_while(|line| line.strip_prefix(b"parent ")).map(id);
        Ok(Self { tree: id(tree)?, parents: parents.collect::<Result<_, _>>()?, subject: find_subject(&content) })
    }

    pub(crate) fn record(self, id: &ObjectId) -> Result<CommitRecord, Declined> {
        let subject = self.subject.ok_or(Declined("an unusual message"))?;
        let parents = self.parents.iter().map(ToString::to_string).collect();
        Ok(CommitRecord { id: id.to_string(), tree: self.tree.to_string(), parents, subject })
    }
}

/// The first paragraph of the message in one line.
fn find_subject(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))?;
    let (header, message) = text.split_once("\n\n")?;
    let has_encoding = header.lines().any(|line| line.starts_with("encoding "));
    let is_plain = |c: char| c == ' ' || !(c.is_whitespace() || c.is_control());
    let lines: Vec<&str> = message.split('\n').map(str::trim_end).take_while(|line| !line.is_empty()).collect();
    let subject = lines.join(" ");
    (!has_encoding && !subject.is_empty() && subject.chars().all(is_plain)).then_some(subject)
}

/// The commits that `walk` lists, as git lists them.
pub(crate) fn list_commits(
    reader: &mut ObjectReader<'_>,
    tips: &[ObjectId],
    excluded: &[ObjectId],
    walk: Walk,
) -> Result<Vec<CommitRecord>, Declined> {
    let (tip, end) = match (tips, excluded) {
        ([tip], []) => (tip, None),
        ([tip], [end]) => (tip, Some(end)),
        _ => return Err(Declined("several tips or ends")),
    };
    let max = match walk {
        Walk::TipsOnly => 1,
        Walk::Ancestors { max } => max,
        Walk::Descendants => usize::MAX,
    };
    if matches!(walk, Walk::Descendants) && end.is_none() || matches!(walk, Walk::TipsOnly) && end.is_some() {
        return Err(Declined("an unusual walk"));
    }
    let (line, is_whole) = read_line(reader, tip, end, max.min(MAX_COMMITS))?;
    // Without an end, the newest `max` commits are wanted.
    if !is_whole && (end.is_some() || max > MAX_COMMITS) {
        return Err(NO_LINE);
    }
    line.into_iter().rev().map(|(id, commit)| commit.record(&id)).collect()
}

/// The commits from `tip` back to `end`, which is left out, or to the root; at most `max`. Also whether it got there.
fn read_line(
    reader: &mut ObjectReader<'_>,
    tip: &ObjectId,
    end: Option<&ObjectId>,
    max: usize,
) -> Result<(Vec<(ObjectId, Commit)>, bool), Declined> {
    let (mut line, mut next) = (Vec::new(), Some(*tip));
    while let Some(id) = next {
        if Some(&id) == end {
            return Ok((line, true));
        }
        if line.len() == max {
            return Ok((line, false));
        }
        let commit = Commit::read(reader, &id)?;
        next = match commit.parents.as_slice() {
            [] => None,
            [parent] => Some(*parent),
            [first, ..] if line.len() + 1 == max => Some(*first),
            _ => return Err(NO_LINE),
        };
        line.push((id, commit));
    }
    Ok((line, end.is_none()))
}

/// The commits from `head` back to `base`, the newest first.
pub(crate) fn commits_since(
    reader: &mut ObjectReader<'_>,
    base: &ObjectId,
    head: &ObjectId,
) -> Result<Vec<(ObjectId, Commit)>, Declined> {
    let (line, is_whole) = read_line(reader, head, Some(base), MAX_COMMITS)?;
    if is_whole { Ok(line) } else { Err(NO_LINE) }
}

/// The last common ancestor of two commits. Both are followed by turns, so the way to it is short.
pub(crate) fn merge_base(
    reader: &mut ObjectReader<'_>,
    one: &ObjectId,
    other: &ObjectId,
) -> Result<ObjectId, Declined> {
    let mut seen = HashSet::from([*one]);
    if !seen.insert(*other) {
        return Ok(*one);
    }
    let mut ends = [Some(*one), Some(*other)];
    while seen.len() < MAX_COMMITS && ends.iter().any(Option::is_some) {
        for end in &mut ends {
            let Some(id) = *end else { continue };
            *end = match Commit::read(reader, &id)?.parents.as_slice() {
                [] => None,
                [parent] => Some(*parent),
                _ => return Err(NO_LINE),
            };
            if let Some(parent) = end.filter(|parent| !seen.insert(*parent)) {
                return Ok(parent);
            }
        }
    }
    Err(Declined("no common ancestor, or a distant one"))
}
