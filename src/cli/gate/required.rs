//! Where a project asks for approvals at all.

use std::path::Path;

/// What stands before a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Point {
    Commit,
    Push,
}

/// Whether hooks ask at this point. Everywhere, where hooks are installed: who installs one wants it to ask. A
/// project's own word on it (`review.required_gates` in `.planning/config.json`) belongs here.
pub(in crate::cli) fn is_required(point: Point, _root: &Path) -> bool {
    match point {
        Point::Commit | Point::Push => true,
    }
}
