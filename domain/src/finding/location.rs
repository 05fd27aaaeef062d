//! The type for the location of a finding: a file or the description, and the lines in it. Also parses and prints it.

use crate::review::{AnchoredText, DiffSide};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::fmt;

/// Lines of a text, counted from 1, `end` included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub start: u32,
    pub end: u32,
}

impl Lines {
    /// Parses `10` or `10-12`.
    fn parse(text: &str) -> Option<Self> {
        let (start, end) = text.split_once('-').unwrap_or((text, text));
        Some(Self { start: start.parse().ok()?, end: end.parse().ok()? })
    }
}

/// The location of a finding, written `src/a.rs:10-12`, `old:src/a.rs:10` or `description:3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "StoredLocation", into = "StoredLocation")]
pub struct Location {
    pub text: LocatedText,
    /// `None` for the whole text.
    pub lines: Option<Lines>,
}

/// The text that the lines of a location are counted in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LocatedText {
    /// A file after the change or, on the old side, before it. If the change deletes the file, the new side is the file
    /// before the change too.
    File { path: String, side: DiffSide },
    /// The description of the proposal.
    Description,
}

impl Location {
    /// In a file after the change.
    pub fn in_file(path: impl Into<String>, lines: Option<Lines>) -> Self {
        Self { text: LocatedText::File { path: path.into(), side: DiffSide::New }, lines }
    }

    /// Parses what `Display` writes. A file called `description` is written `./description`. `None` without a path, or if
    /// something other than lines follows the last colon.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, side) = match text.strip_prefix("old:") {
            Some(text) => (text, DiffSide::Old),
            None => (text, DiffSide::New),
        };
        let (name, lines) = match text.rsplit_once(':') {
            Some((name, lines)) => (name, Some(Lines::parse(lines)?)),
            None => (text, None),
        };
        let text = match (name, side) {
            ("", _) => return None,
            ("description", DiffSide::New) => LocatedText::Description,
            (path, side) => LocatedText::File { path: path.strip_prefix("./").unwrap_or(path).to_owned(), side },
        };
        Some(Self { text, lines })
    }

    /// The path, unless the location is in the description.
    pub fn file(&self) -> Option<&str> {
        match &self.text {
            LocatedText::File { path, .. } => Some(path),
            LocatedText::Description => None,
        }
    }

    /// `Some` only for the old side, because the new side is the default.
    pub fn old_side(&self) -> Option<DiffSide> {
        match self.text {
            LocatedText::File { side: side @ DiffSide::Old, .. } => Some(side),
            LocatedText::File { side: DiffSide::New, .. } | LocatedText::Description => None,
        }
    }

    /// `Some` only for the description, because the diff is the default.
    pub fn other_text(&self) -> Option<AnchoredText> {
        match self.text {
            LocatedText::File { .. } => None,
            LocatedText::Description => Some(AnchoredText::Description),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            LocatedText::File { path, side: DiffSide::New } => f.write_str(path)?,
            LocatedText::File { path, side: DiffSide::Old } => write!(f, "old:{path}")?,
            LocatedText::Description => f.write_str("description")?,
        }
        match self.lines {
            Some(Lines { start, end }) if end > start => write!(f, ":{start}-{end}"),
            Some(Lines { start, .. }) => write!(f, ":{start}"),
            None => Ok(()),
        }
    }
}

/// A location as it is stored. The database filters by `file`.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct StoredLocation {
    file: Option<String>,
    side: Option<DiffSide>,
    #[serde(rename = "in")]
    text: Option<AnchoredText>,
    #[serialize_always]
    lines: Option<Lines>,
}

impl From<Location> for StoredLocation {
    fn from(location: Location) -> Self {
        let (side, text, lines) = (location.old_side(), location.other_text(), location.lines);
        let file = match location.text {
            LocatedText::File { path, .. } => Some(path),
            LocatedText::Description => None,
        };
        Self { file, side, text, lines }
    }
}

impl TryFrom<StoredLocation> for Location {
    type Error = &'static str;

    fn try_from(stored: StoredLocation) -> Result<Self, Self::Error> {
        let text = match (stored.text.unwrap_or_default(), stored.file) {
            (AnchoredText::Diff, Some(path)) => LocatedText::File { path, side: stored.side.unwrap_or_default() },
            (AnchoredText::Diff, None) => return Err("a location in the diff needs a file"),
            (AnchoredText::Description, None) => LocatedText::Description,
            (AnchoredText::Description, Some(_)) => return Err("a location in the description has no file"),
        };
        Ok(Self { text, lines: stored.lines })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, LocatedText, Location};
    use crate::review::DiffSide;
    use serde_json::json;

    #[test]
    fn a_location_is_stored_with_its_file_and_without_defaults() {
        let lines = Some(Lines { start: 3, end: 4 });
        let old = LocatedText::File { path: "a.rs".into(), side: DiffSide::Old };
        for (location, stored, written) in [
            (Location::in_file("a.rs", None), json!({ "file": "a.rs", "lines": null }), "a.rs"),
            (
                Location::in_file("a.rs", lines),
                json!({ "file": "a.rs", "lines": { "start": 3, "end": 4 } }),
                "a.rs:3-4",
            ),
            (
                Location { text: old, lines: Some(Lines { start: 3, end: 3 }) },
                json!({ "file": "a.rs", "side": "old", "lines": { "start": 3, "end": 3 } }),
                "old:a.rs:3",
            ),
            (
                Location { text: LocatedText::Description, lines },
                json!({ "in": "description", "lines": { "start": 3, "end": 4 } }),
                "description:3-4",
            ),
        ] {
            assert_eq!(json!(location), stored);
            assert_eq!(serde_json::from_value::<Location>(stored).expect("a location"), location);
            assert_eq!(location.to_string(), written);
            assert_eq!(Location::parse(written), Some(location));
        }
        for contradictory in [json!({ "lines": null }), json!({ "file": "a.rs", "in": "description" })] {
            assert!(serde_json::from_value::<Location>(contradictory).is_err());
        }
    }
    #[test]
    fn a_written_location_has_a_path_or_names_the_description() {
        for (written, expected) in [
            ("description", Some(Location { text: LocatedText::Description, lines: None })),
            ("./description", Some(Location::in_file("description", None))),
            ("./a.rs:3", Some(Location::in_file("a.rs", Some(Lines { start: 3, end: 3 })))),
            ("a.rs:x", None),
            ("a.rs:3-", None),
            (":3", None),
            ("old:", None),
            ("", None),
        ] {
            assert_eq!(Location::parse(written), expected, "{written}");
        }
    }
}
