//! Applies binary patches: blocks of base 85 text that hold a new file or a delta to the old one.

use std::sync::Arc;

use domain::diff::Patch;

use super::Declined;
use super::delta::apply_delta;
use super::object_id::{Kind, ObjectId};
use super::objects::ObjectReader;
use super::pack::inflate;
use super::work_budget::Budget;

const ALPHABET: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const MALFORMED: Declined = Declined("an unusual binary patch");

/// The data of one block.
enum Block {
    Literal(Vec<u8>),
    Delta(Vec<u8>),
}

/// The content after a binary patch. `old` is the blob that it changes; `None` if it creates the file.
///
/// The patch must name both contents by their full ids. Git takes the new content from its objects, if it is there, and
/// ignores the data. The data must have that id here, so it makes no difference.
pub(crate) fn apply_binary(
    reader: &mut ObjectReader<'_>,
    patch: &Patch<'_>,
    old: Option<&ObjectId>,
) -> Result<Vec<u8>, Declined> {
    let (old_hex, new_hex) = patch.index_ids.ok_or(MALFORMED)?;
    let parse = |hex: &str| ObjectId::parse(hex.as_bytes(), reader.algorithm()).ok_or(MALFORMED);
    let (old_id, new_id) = (parse(old_hex)?, parse(new_hex)?);
    let is_old = old.map_or(old_id.is_null(), |old| *old == old_id);
    if !is_old || new_id.is_null() != patch.new.is_none() {
        return Err(MALFORMED);
    }
    let before = match old {
        Some(old) => reader.read_kind(old, Kind::Blob)?,
        None => Arc::default(),
    };
    let mut rest = patch.binary_data;
    let forward = read_block(&mut rest, &mut reader.budget)?;
    // The way back, which git decodes but does not use.
    if !rest.is_empty() {
        read_block(&mut rest, &mut reader.budget)?;
    }
    let content = match forward {
        Block::Literal(content) => content,
        Block::Delta(delta) => apply_delta(&before, &delta, &mut reader.budget)?,
    };
    let is_new = match patch.new {
        Some(_) => reader.algorithm().object_id(Kind::Blob, &content)? == new_id,
        None => content.is_empty(),
    };
    if is_new && rest.is_empty() { Ok(content) } else { Err(MALFORMED) }
}

/// Reads `literal SIZE` or `delta SIZE`, the lines of data and the empty line behind them.
fn read_block(rest: &mut &str, budget: &mut Budget) -> Result<Block, Declined> {
    let mut next_line = || {
        let (line, after) = rest.split_once('\n').ok_or(MALFORMED)?;
        *rest = after;
        Ok(line)
    };
    let (kind, size) = next_line()?.split_once(' ').ok_or(MALFORMED)?;
    let is_number = !size.is_empty() && size.len() < 10 && size.bytes().all(|byte| byte.is_ascii_digit());
    let size: usize = size.parse().ok().filter(|_| is_number).ok_or(MALFORMED)?;
    budget.take_bytes(size)?;
    let mut deflated = Vec::new();
    loop {
        match next_line()? {
            "" => break,
            line => decode_line(line.as_bytes(), &mut deflated)?,
        }
    }
    let data = inflate(deflated.as_slice(), size)?;
    match kind {
        _ if data.len() != size => Err(MALFORMED),
        "literal" => Ok(Block::Literal(data)),
        "delta" => Ok(Block::Delta(data)),
        _ => Err(MALFORMED),
    }
}

/// Decodes a line: a letter for the number of bytes, then five characters for every four bytes.
fn decode_line(line: &[u8], to: &mut Vec<u8>) -> Result<(), Declined> {
    let (&length, text) = line.split_first().ok_or(MALFORMED)?;
    let length = match length {
        b'A'..=b'Z' => length - b'A' + 1,
        b'a'..=b'z' => length - b'a' + 27,
        _ => return Err(MALFORMED),
    };
    let length = usize::from(length);
    if text.len() != length.div_ceil(4) * 5 {
        return Err(MALFORMED);
    }
    let end = to.len() + length;
    for group in text.chunks_exact(5) {
        let mut number = 0_u64;
        for byte in group {
            let digit = ALPHABET.iter().position(|known| known == byte).ok_or(MALFORMED)?;
            number = number * 85 + digit as u64;
        }
        to.extend_from_slice(&u32::try_from(number).map_err(|_| MALFORMED)?.to_be_bytes());
    }
    to.truncate(end);
    Ok(())
}
