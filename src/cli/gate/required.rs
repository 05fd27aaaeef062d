//! Where a project asks for approvals at all.

pub(in crate::cli) use crate::tandem::Point;

use crate::tandem::Tandem;
use std::path::Path;

/// Whether hooks ask at this point. Everywhere, unless the project's `.planning/config.json` says otherwise: who installs
/// a hook wants it to ask. Settings that cannot be understood excuse nobody.
pub(in crate::cli) fn is_required(point: Point, root: &Path) -> bool {
    Tandem::of(root).map_or(true, |tandem| tandem.asks_at(point))
}
