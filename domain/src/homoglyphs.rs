//! Finds letters that look like letters of another script.

use unicode_script::{Script, UnicodeScript as _};
use unicode_security::{MixedScript as _, confusable_detection::skeleton};

/// Whether a word has letters of several scripts, and one of them looks like an ASCII letter: `p\u{430}yment` is another
/// word than `payment`. Letters that look like themselves, such as in `Δx`, are no trap.
pub fn has_homoglyphs(word: &str) -> bool {
    !word.is_single_script() && word.chars().any(is_homoglyph)
}

/// Whether all letters of a word are of another script and look like ASCII letters.
pub fn looks_like_ascii(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_homoglyph)
}

fn is_homoglyph(c: char) -> bool {
    let is_foreign = c.is_alphabetic() && !c.is_ascii() && !matches!(c.script(), Script::Latin | Script::Common);
    is_foreign && skeleton_of(c).is_some_and(|like| like.is_ascii_alphabetic())
}

/// The character that looks like `c`, if it is only one.
fn skeleton_of(c: char) -> Option<char> {
    let mut text = [0; 4];
    let mut like = skeleton(c.encode_utf8(&mut text));
    let first = like.next();
    first.filter(|_| like.next().is_none())
}

/// Names the letters that look like others: `U+0430 (Cyrillic) in "pаyment"`.
pub(crate) fn describe_letters(word: &str) -> String {
    let foreign = |c: &char| c.is_alphabetic() && !matches!(c.script(), Script::Latin | Script::Common);
    match word.chars().find(foreign) {
        Some(c) => format!("U+{:04X} ({}) in {word:?}", u32::from(c), c.script().full_name()),
        None => format!("{word:?}"),
    }
}
