//! Inserts and removes a block of lines between two marker lines, in Markdown files and shell scripts.

use super::{EditError, line_diff::dominant_newline};

/// The first line of a block in a shell script.
pub(in super::super) const SHELL_BEGIN: &str = "# countersign: begin";

/// Where a new block is inserted. The first two are for Markdown, the last one is for shell scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum BlockPosition {
    /// At the end of the file.
    End,
    /// At the start, after YAML front matter.
    AfterFrontMatter,
    /// Before the first command of a script. An empty file becomes an `sh` script.
    AfterShebang,
}

#[derive(Debug, Clone)]
pub(in super::super) struct MarkedBlock {
    pub position: BlockPosition,
    /// Complete lines, each ending in a newline.
    pub body: String,
}

const SHEBANG: &str = "#!/bin/sh\n";

impl MarkedBlock {
    /// The lines between the markers, with plain newlines.
    pub(super) fn body_in(&self, text: &str) -> Result<Option<String>, EditError> {
        let Some((begin, end)) = self.find(text)? else { return Ok(None) };
        let inside: Vec<&str> = text[begin..end].lines().collect();
        let body = inside.get(1..inside.len().saturating_sub(1)).unwrap_or_default();
        Ok(Some(body.iter().map(|line| format!("{line}\n")).collect()))
    }

    pub(super) fn insert(&self, text: &str) -> Result<String, EditError> {
        let newline = dominant_newline(text);
        let (begin, end) = self.markers();
        let block = format!("{begin}\n{}{end}\n", self.body).replace('\n', newline);
        if let Some((start, stop)) = self.find(text)? {
            return Ok([&text[..start], &block, &text[stop..]].concat());
        }
        if text.is_empty() {
            let head = if self.position == BlockPosition::AfterShebang { SHEBANG } else { "" };
            return Ok(format!("{head}{block}"));
        }
        let at = self.position.offset(text);
        let (before, after) = text.split_at(at);
        let closed = if before.is_empty() || before.ends_with('\n') { "" } else { newline };
        let blank_line = if self.position == BlockPosition::End && !before.trim().is_empty() { newline } else { "" };
        Ok([before, closed, blank_line, &block, after].concat())
    }

    pub(super) fn remove(&self, text: &str) -> Result<String, EditError> {
        let Some((start, stop)) = self.find(text)? else { return Ok(text.to_owned()) };
        let before = &text[..start];
        // Remove the blank line that was inserted with the block.
        let before = match self.position {
            BlockPosition::End if text[stop..].is_empty() => {
                before.strip_suffix(dominant_newline(text)).unwrap_or(before)
            }
            BlockPosition::End | BlockPosition::AfterFrontMatter | BlockPosition::AfterShebang => before,
        };
        Ok([before, &text[stop..]].concat())
    }

    pub(super) fn is_blank(&self, text: &str) -> bool {
        text.trim().is_empty() || (self.position == BlockPosition::AfterShebang && text == SHEBANG)
    }

    fn markers(&self) -> (&'static str, &'static str) {
        match self.position {
            BlockPosition::AfterShebang => (SHELL_BEGIN, "# countersign: end"),
            BlockPosition::End | BlockPosition::AfterFrontMatter => {
                ("<!-- countersign: begin -->", "<!-- countersign: end -->")
            }
        }
    }

    /// The byte range of the block, including both marker lines.
    fn find(&self, text: &str) -> Result<Option<(usize, usize)>, EditError> {
        let (marker, end_marker) = self.markers();
        let mut offset = 0;
        let mut begun = None;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let end = offset + line.len();
            match begun {
                None if line.trim() == marker => begun = Some((offset, number + 1)),
                Some((start, _)) if line.trim() == end_marker => return Ok(Some((start, end))),
                None | Some(_) => {}
            }
            offset = end;
        }
        match begun {
            Some((_, line)) => Err(EditError::UnclosedMarker { line, marker }),
            None => Ok(None),
        }
    }
}

impl BlockPosition {
    fn offset(self, text: &str) -> usize {
        match self {
            Self::End => text.len(),
            Self::AfterShebang if text.starts_with("#!") => text.find('\n').map_or(text.len(), |newline| newline + 1),
            Self::AfterShebang => 0,
            Self::AfterFrontMatter => after_front_matter(text),
        }
    }
}

fn after_front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return 0 };
    let mut offset = first.len();
    for line in lines {
        offset += line.len();
        if line.trim_end() == "---" {
            return offset;
        }
    }
    0
}
