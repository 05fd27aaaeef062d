//! Long texts in pages that no client cuts. Sizes are characters, places are bytes.

/// The byte at which a page of at most `max_chars` ends: after a line where one ends not too early.
pub(super) fn page_end(text: &str, max_chars: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return text.len();
    };
    let window = &text[..end];
    match window.rfind('\n') {
        Some(line_end) if line_end + 1 > end / 2 => line_end + 1,
        Some(_) | None => end,
    }
}

/// The first `max_chars` characters, and how many there are in all if that is not all.
pub(super) fn cut(text: &str, max_chars: usize) -> (&str, Option<usize>) {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => (&text[..end], Some(text.chars().count())),
        None => (text, None),
    }
}

/// Several texts read one after the other as if they were one.
pub(super) struct Stream<'a, const N: usize> {
    parts: [&'a str; N],
}

/// One page of a [`Stream`]: the share of each text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shares<'a, const N: usize> {
    pub parts: [&'a str; N],
    /// Where the next page begins; `None` after the last.
    pub next: Option<usize>,
}

impl<'a, const N: usize> Stream<'a, N> {
    pub(super) const fn new(parts: [&'a str; N]) -> Self {
        Self { parts }
    }

    /// In characters.
    pub(super) fn total(&self) -> usize {
        self.parts.iter().map(|part| part.chars().count()).sum()
    }

    /// The page that begins at byte `start` of the whole; `None` if nothing can begin there.
    pub(super) fn page(&self, start: usize, max_chars: usize) -> Option<Shares<'a, N>> {
        let length: usize = self.parts.iter().map(|part| part.len()).sum();
        if start > length || (start == length && start > 0) {
            return None;
        }
        let mut shares = [""; N];
        let (mut skip, mut room, mut place) = (start, max_chars, start);
        for (part, share) in self.parts.iter().zip(&mut shares) {
            if skip >= part.len() {
                skip -= part.len();
                continue;
            }
            let rest = part.get(skip..)?;
            skip = 0;
            let end = page_end(rest, room);
            *share = &rest[..end];
            place += end;
            room -= share.chars().count();
            if end < rest.len() {
                break;
            }
        }
        Some(Shares { parts: shares, next: (place < length).then_some(place) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Stream, cut, page_end};

    #[test]
    fn a_page_ends_with_a_line_where_it_can() {
        assert_eq!(page_end("ab\ncd\nef", 7), 6);
        assert_eq!(page_end("a\nbcdefgh", 7), 7);
        assert_eq!(page_end("äöü", 2), 4);
        assert_eq!(page_end("abc", 3), 3);
    }

    #[test]
    fn a_cut_says_how_much_there_is() {
        assert_eq!(cut("äbc", 2), ("äb", Some(3)));
        assert_eq!(cut("äbc", 3), ("äbc", None));
    }

    #[test]
    fn pages_put_together_are_the_whole() {
        let stream = Stream::new(["öne\ntwo\n", "", "three\nfour", "five"]);
        let (mut start, mut whole) = (0, [String::new(), String::new(), String::new(), String::new()]);
        loop {
            let page = stream.page(start, 5).expect("a page");
            assert!(page.parts.iter().map(|part| part.chars().count()).sum::<usize>() <= 5);
            for (all, part) in whole.iter_mut().zip(page.parts) {
                all.push_str(part);
            }
            match page.next {
                Some(next) => start = next,
                None => break,
            }
        }
        assert_eq!(whole, ["öne\ntwo\n", "", "three\nfour", "five"]);
        assert_eq!(stream.total(), 22);
    }

    #[test]
    fn nothing_begins_inside_a_character_or_beyond_the_end() {
        let stream = Stream::new(["ö"]);
        assert_eq!(stream.page(1, 5), None);
        assert_eq!(stream.page(2, 5), None);
        assert_eq!(Stream::new([""]).page(0, 5).map(|page| page.next), Some(None));
    }
}
