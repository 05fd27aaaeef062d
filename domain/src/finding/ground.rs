//! Stand-in.
use super::{Grounding, NewFinding, Place};
#[derive(Debug, Clone, Copy)]
pub enum FileText<'a> {
    Text(&'a str),
    Binary,
    Absent,
    Unknown,
}
pub struct Sides<'a> {
    pub after: FileText<'a>,
    pub before: FileText<'a>,
}
pub struct Grounded {
    pub grounding: Grounding,
    pub place: Option<Place>,
}
pub fn ground(finding: &NewFinding, _sides: Option<Sides<'_>>, _prose: &[&str]) -> Grounded {
    Grounded { grounding: Grounding::Grounded { note: None }, place: finding.place.clone() }
}
