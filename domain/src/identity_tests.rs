use super::{identity_key, is_deceptive, is_same_identity};
use proptest::prelude::*;

#[test]
fn case_width_and_invisible_characters_make_no_other_identity() {
    for name in ["ada", "ADA", "Ａｄａ", "A\u{200b}da", "ad\u{fe0f}a", "\u{feff}ada", "a\u{ad}da", "ᴬda"] {
        assert!(is_same_identity("Ada", name) && is_same_identity(name, "Ada"), "{name:?}");
        assert_eq!(identity_key(name), "ada", "{name:?}");
    }
    for (one, other) in
        [("JÖRG", "jo\u{308}rg"), ("straße", "STRASSE"), ("ΣΑΣ", "σας"), ("ﬁn", "FIN"), ("\u{212a}im", "kim")]
    {
        assert!(is_same_identity(one, other), "{one} {other}");
    }
    for (one, other) in [("ada", "adа"), ("ada", "adá"), ("ada", "ada1"), ("ada-1", "ada_1"), ("ada", "")] {
        assert!(!is_same_identity(one, other), "{one} {other}");
    }
}

#[test]
fn a_name_with_letters_that_look_like_others_is_deceptive() {
    for name in ["аda", "codex-r1-а", "pаyments bot"] {
        assert!(is_deceptive(name), "{name}");
    }
    for name in ["ada", "Ада", "Jörg", "лена-bot", "エイダ", "ada エイダ", "claude:opus@host"] {
        assert!(!is_deceptive(name), "{name}");
    }
}

proptest! {
    #[test]
    fn the_key_of_a_key_is_the_key(name in "\\PC{0,12}") {
        let key = identity_key(&name).into_owned();
        prop_assert_eq!(identity_key(&key).into_owned(), key);
    }
}
