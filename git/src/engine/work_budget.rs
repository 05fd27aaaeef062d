//! Limits the work of one call to the built-in engine. A diff that is more expensive than the limit goes to git.

use super::Declined;

/// The largest object that is read or made.
pub(crate) const MAX_OBJECT_BYTES: usize = 32 * 1024 * 1024;
/// Limits everything that one call reads from objects or makes, together.
const MAX_CALL_BYTES: usize = 128 * 1024 * 1024;
/// About a tenth of a second of comparing and moving lines.
const MAX_STEPS: usize = 5_000_000;

/// What one call may still use.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    steps: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { bytes: MAX_CALL_BYTES, steps: MAX_STEPS }
    }

    /// Takes the bytes of one object or delta.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), Declined> {
        if bytes > MAX_OBJECT_BYTES {
            return Err(Declined("an object over the limit"));
        }
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Declined("too many bytes to read"))?;
        Ok(())
    }

    /// Takes steps: a line compared, moved or written, or a tree entry passed.
    pub(crate) fn take_steps(&mut self, steps: usize) -> Result<(), Declined> {
        self.steps = self.steps.checked_sub(steps).ok_or(Declined("too many steps"))?;
        Ok(())
    }
}
