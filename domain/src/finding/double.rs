//! Stand-in.
use super::{FindingKind, Place};
pub struct Told<'a> {
    pub place: Option<&'a Place>,
    pub title: &'a str,
    pub description: Option<&'a str>,
    pub kind: FindingKind,
}
pub fn is_same(a: &Told<'_>, b: &Told<'_>) -> bool {
    a.place == b.place && a.title == b.title
}
