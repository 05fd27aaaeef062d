use super::{is_as_suggested, tests::project};
use crate::finding::grounding::FileText;
use crate::finding::{Lines, Location};

const OLD: &str = "fn read() {\n    let size = a + b;\n    take(size);\n}\n";
const NEW: &str = "fn read() {\n    let size = a.checked_add(b)?;\n    take(size);\n}\n";

fn as_suggested(suggestion: &str, new: &str) -> bool {
    let location = Location::in_file("a.rs", Some(Lines { start: 2, end: 2 }));
    let projection = project(&location, OLD, FileText::Text(new), "a.rs");
    is_as_suggested(suggestion, "    let size = a + b;", new, &projection)
}

#[test]
fn a_suggestion_is_found_in_the_lines_that_replace_the_old_ones() {
    let rows = [
        ("let size = a.checked_add(b)?;", true),
        ("Write this:\n```rust\nlet size  =  a.checked_add(b)?;\n```\nand be safe.", true),
        ("```diff\n-    let size = a + b;\n+    let size = a.checked_add(b)?;\n```", true),
        ("Use `checked_add` instead of `a + b`.", true),
        ("Use `saturating_add`.", false),
        ("Use `checked_add` and `checked_mul`.", false),
        ("let size = a.checked_add(b).unwrap();", false),
        ("Mind the overflow.", false),
        // it says nothing that was not there before
        ("let size = a + b;", false),
        ("```\n```", false),
        ("", false),
    ];
    for (suggestion, expected) in rows {
        assert_eq!(as_suggested(suggestion, NEW), expected, "{suggestion:?}");
    }
}

#[test]
fn lines_that_did_not_change_are_not_as_suggested() {
    assert!(!as_suggested("let size = a.checked_add(b)?;", OLD));
    assert!(!as_suggested("let size = a.checked_add(b)?;", &OLD.replace("    let size = a + b;\n", "")));
    let elsewhere = NEW.replace("let size = a.checked_add(b)?;", "let size = 1;") + "let size = a.checked_add(b)?;\n";
    assert!(!as_suggested("let size = a.checked_add(b)?;", &elsewhere));
}
