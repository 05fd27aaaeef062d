//! Decides whether two names are one identity, and which names can be an identity.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use crate::homoglyphs::{has_homoglyphs, looks_like_ascii};
use crate::text::is_invisible;

/// Whether two names are one identity: they differ at most in case, width and characters that are not visible.
pub fn is_same_identity(one: &str, other: &str) -> bool {
    one == other
        || if one.is_ascii() && other.is_ascii() {
            one.eq_ignore_ascii_case(other)
        } else {
            identity_key(one) == identity_key(other)
        }
}

/// The form of a name that all names of one identity share, for look-ups: compatibility forms are composed (NFKC), case
/// is folded, and characters that Unicode calls ignorable are left out.
pub fn identity_key(name: &str) -> Cow<'_, str> {
    if name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    // Upper case first: it makes one letter of ſ and s, of ß and SS, of ς and σ.
    let visible = name.nfkc().filter(|&c| !is_invisible(c));
    let folded = visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    Cow::Owned(folded.nfkc().filter(|&c| !is_invisible(c)).collect())
}

/// Whether a name looks like another one because it mixes letters of several scripts: in one word, or with a word that
/// looks like ASCII beside one that is ASCII. Such a name is another identity, so it must not be used.
pub fn is_deceptive(name: &str) -> bool {
    let words = || name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let has_ascii_letters = || name.contains(|c: char| c.is_ascii_alphabetic());
    words().any(has_homoglyphs) || (has_ascii_letters() && words().any(looks_like_ascii))
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
