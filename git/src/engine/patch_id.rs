//! Computes the id that `git patch-id --stable` gives a diff: equal for diffs that differ only in white space, line
//! numbers and the order of their files.

use super::Declined;
use super::object_id::{Algorithm, Hasher};

/// A shorter line with this start is not a newline marker for git.
const MIN_MARKER_BYTES: usize = 13;

/// Where in a patch a line is.
enum Place {
    /// Before the first `diff` line.
    Outside,
    Header,
    /// Behind the `---` line of a header.
    OldName,
    /// Behind the header or a hunk.
    Between,
    /// In a hunk, with the lines that are left on both sides.
    Hunk {
        old: u64,
        new: u64,
    },
    /// In binary data, which is not hashed.
    Binary,
}

/// The patch id of a text; `None` if it contains no patch, or several of them.
pub(crate) fn patch_id(text: &str, algorithm: Algorithm) -> Result<Option<String>, Declined> {
    if text.contains('\0') {
        return Err(Declined("a NUL byte"));
    }
    let mut ids = Vec::new();
    let mut patch = PatchHash::new(algorithm);
    for line in text.split_inclusive('\n') {
        if line.starts_with("\\ ") {
            if line.len() < MIN_MARKER_BYTES {
                return Err(Declined("a short newline marker"));
            }
            continue;
        }
        // Also the start of a mail or a log entry ends a patch.
        if is_commit_line(line, algorithm) || !patch.add_line(line)? {
            ids.extend(std::mem::replace(&mut patch, PatchHash::new(algorithm)).finish()?);
        }
    }
    ids.extend(patch.finish()?);
    Ok(if ids.len() == 1 { ids.pop() } else { None })
}

fn is_commit_line(line: &str, algorithm: Algorithm) -> bool {
    let id = line.strip_prefix("commit ").or_else(|| line.strip_prefix("From ")).unwrap_or(line);
    id.as_bytes().get(..2 * algorithm.id_len()).is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
}

/// The hash of one patch: the sum of the hashes of its files.
struct PatchHash<'a> {
    algorithm: Algorithm,
    place: Place,
    sum: Vec<u8>,
    file: Hasher,
    is_empty: bool,
    /// The two ids of the `index` line of this file, as they are written.
    ids: Option<(&'a str, &'a str)>,
}

impl<'a> PatchHash<'a> {
    fn new(algorithm: Algorithm) -> Self {
        let sum = vec![0; algorithm.id_len()];
        Self { algorithm, place: Place::Outside, sum, file: Hasher::new(algorithm), is_empty: true, ids: None }
    }

    /// Returns `false` at a line that is not part of the patch.
    fn add_line(&mut self, line: &'a str) -> Result<bool, Declined> {
        const UNUSUAL: Declined = Declined("an unusual patch");
        match self.place {
            Place::Outside if !line.starts_with("diff ") => {}
            Place::Outside => self.begin_file(line),
            Place::Header => return self.add_header_line(line),
            Place::OldName if line.starts_with("+++ ") => {
                self.hash(line);
                self.place = Place::Between;
            }
            Place::Between if line.starts_with("diff ") => {
                self.end_file()?;
                self.begin_file(line);
            }
            Place::Between => {
                let Some(range) = line.strip_prefix("@@ -") else { return Ok(false) };
                let (old, new) = parse_counts(range).ok_or(UNUSUAL)?;
                self.place = if (old, new) == (0, 0) { Place::Between } else { Place::Hunk { old, new } };
            }
            Place::Hunk { old, new } => {
                let (old, new) = match line.as_bytes().first() {
                    Some(b'-') => (old.checked_sub(1), Some(new)),
                    Some(b'+') => (Some(old), new.checked_sub(1)),
                    Some(b' ') => (old.checked_sub(1), new.checked_sub(1)),
                    _ => return Err(UNUSUAL),
                };
                let (old, new) = old.zip(new).ok_or(UNUSUAL)?;
                self.hash(line);
                self.place = if (old, new) == (0, 0) { Place::Between } else { Place::Hunk { old, new } };
            }
            Place::Binary if line.starts_with("diff ") => {
                // Git does not hash this line.
                self.place = Place::Header;
                self.ids = None;
            }
            Place::Binary => {}
            Place::OldName => return Err(UNUSUAL),
        }
        Ok(true)
    }

    fn add_header_line(&mut self, line: &'a str) -> Result<bool, Declined> {
        if line.starts_with("GIT binary patch") || line.starts_with("Binary files") {
            let (old, new) = self.ids.ok_or(Declined("a binary patch without ids"))?;
            self.file.update(old.as_bytes());
            self.file.update(new.as_bytes());
            self.end_file()?;
            self.place = Place::Binary;
        } else if let Some(ids) = line.strip_prefix("index ") {
            let ids = ids.split([' ', '\n']).next().unwrap_or_default();
            self.ids = Some(ids.split_once("..").ok_or(Declined("an unusual index line"))?);
        } else if line.starts_with("--- ") {
            self.hash(line);
            self.place = Place::OldName;
        } else if line.starts_with("diff ") {
            // A file without hunks ends here, but git hashes it together with this one.
            self.begin_file(line);
        } else if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.hash(line);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn begin_file(&mut self, line: &str) {
        self.place = Place::Header;
        self.ids = None;
        self.hash(line);
    }

    /// Hashes a line without white space.
    fn hash(&mut self, line: &str) {
        for part in line.split([' ', '\t', '\r', '\n']).filter(|part| !part.is_empty()) {
            self.is_empty = false;
            self.file.update(part.as_bytes());
        }
    }

    /// Adds the hash of the file to the sum, as numbers with the lowest byte first.
    fn end_file(&mut self) -> Result<(), Declined> {
        let file = std::mem::replace(&mut self.file, Hasher::new(self.algorithm)).finish()?;
        let mut carry = 0;
        for (sum, byte) in self.sum.iter_mut().zip(file.as_bytes()) {
            carry += u16::from(*sum) + u16::from(*byte);
            *sum = (carry & 0xff) as u8;
            carry >>= 8;
        }
        Ok(())
    }

    /// `None` if no line was hashed.
    fn finish(mut self) -> Result<Option<String>, Declined> {
        if self.is_empty {
            return Ok(None);
        }
        self.end_file()?;
        Ok(Some(super::object_id::ObjectId::new(&self.sum).to_string()))
    }
}

/// The numbers of lines in `1,2 +3,4 @@`.
fn parse_counts(range: &str) -> Option<(u64, u64)> {
    let (ranges, _) = range.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let is_number = |text: &str| !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = |range: &str| {
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        (is_number(start) && is_number(count)).then(|| count.parse().ok())?
    };
    Some((count(old)?, count(new)?))
}
