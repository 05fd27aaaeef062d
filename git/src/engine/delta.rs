//! Applies git's deltas: an object stored as copies from another object and new bytes.

use super::Declined;
use super::work_budget::{Budget, MAX_OBJECT_BYTES};

const MALFORMED: Declined = Declined("a malformed delta");

/// The object that `delta` makes from `base`.
pub(crate) fn apply_delta(base: &[u8], delta: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Declined> {
    let mut rest = delta;
    let base_size = read_size(&mut rest)?;
    let size = read_size(&mut rest)?;
    if base_size != base.len() || size > MAX_OBJECT_BYTES {
        return Err(MALFORMED);
    }
    budget.take_bytes(size)?;
    let mut result = Vec::with_capacity(size);
    while let Some((&command, after)) = rest.split_first() {
        rest = after;
        let piece = if command & 0x80 != 0 {
            let offset = read_fields(&mut rest, command, 4)?;
            let length = match read_fields(&mut rest, command >> 4, 3)? {
                0 => 0x1_0000,
                length => length,
            };
            base.get(offset..offset + length).ok_or(MALFORMED)?
        } else {
            // The length 0 is reserved.
            let (piece, after) = rest.split_at_checked(usize::from(command)).ok_or(MALFORMED)?;
            rest = after;
            if piece.is_empty() {
                return Err(MALFORMED);
            }
            piece
        };
        if piece.len() > size - result.len() {
            return Err(MALFORMED);
        }
        result.extend_from_slice(piece);
    }
    if result.len() == size { Ok(result) } else { Err(MALFORMED) }
}

/// A number in groups of seven bits, the lowest first.
fn read_size(rest: &mut &[u8]) -> Result<usize, Declined> {
    let mut size = 0_usize;
    for shift in (0..35).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(MALFORMED)?;
        *rest = after;
        size |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(size);
        }
    }
    Err(MALFORMED)
}

/// A little-endian number of up to `count` bytes. The bits of `present` tell which bytes are there; the others are 0.
fn read_fields(rest: &mut &[u8], present: u8, count: u8) -> Result<usize, Declined> {
    let mut number = 0;
    for at in (0..count).filter(|at| present & (1 << at) != 0) {
        let (&byte, after) = rest.split_first().ok_or(MALFORMED)?;
        *rest = after;
        number |= usize::from(byte) << (8 * at);
    }
    Ok(number)
}
