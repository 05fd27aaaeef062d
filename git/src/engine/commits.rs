//! Reads commits: their tree and parents, and how many commits lie between two of them.

use super::Declined;
use super::object_id::{Kind, ObjectId};
use super::objects::ObjectReader;

/// Longer histories are counted by git.
const MAX_COMMITS: u64 = 1000;

#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
}

impl Commit {
    pub(crate) fn read(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<Self, Declined> {
        const MALFORMED: Declined = Declined("a malformed commit");
        let content = reader.read_kind(id, Kind::Commit)?;
        let mut lines = content.split(|&byte| byte == b'\n');
        let id = |line: &[u8]| ObjectId::parse(line, reader.algorithm()).ok_or(MALFORMED);
        let tree = lines.next().and_then(|line| line.strip_prefix(b"tree ")).ok_or(MALFORMED)?;
        let parents = lines.map_while(|line| line.strip_prefix(b"parent ")).map(id);
        Ok(Self { tree: id(tree)?, parents: parents.collect::<Result<_, _>>()? })
    }
}

/// The number of commits from `head` back to `base`. Declines if the way has a merge, or does not lead to `base`.
pub(crate) fn count_commits(reader: &mut ObjectReader<'_>, base: ObjectId, head: ObjectId) -> Result<u64, Declined> {
    let mut commit = head;
    for count in 0..MAX_COMMITS {
        if commit == base {
            return Ok(count);
        }
        commit = match Commit::read(reader, &commit)?.parents.as_slice() {
            [parent] => *parent,
            _ => return Err(Declined("a history that is not a line")),
        };
    }
    Err(Declined("a long history"))
}
