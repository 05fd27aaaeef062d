use super::{TABLE, of};
use std::{fs, path::Path};

/// The text between `start` and the next quote, wherever `start` stands.
fn quoted_after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(|rest| rest.split('"').next())
}

/// The codes that `fn code` of a file gives.
fn codes_of(file: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a source file");
    let body = text.split("fn code(").nth(1).expect("it has codes");
    let body = body.split("\n    }\n").next().expect("it ends");
    let codes: Vec<_> = quoted_after(body, "=> \"").map(str::to_owned).collect();
    assert!(codes.len() > 10, "{file}: {codes:?}");
    codes
}

/// The codes that tools give by themselves.
fn codes_below(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            codes_below(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            for start in ["Refused::new(\"", "unknown_word(\""] {
                found.extend(quoted_after(&text, start).map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_code_has_a_status() {
    let mut codes = codes_of("domain/src/review/refusal.rs");
    codes.extend(codes_of("actors/src/error.rs"));
    let before = codes.len();
    let told = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("domain/src/finding/told.rs"));
    let told = told.expect("a source file");
    codes.extend(quoted_after(&told, ", \"unknown_").map(|rest| format!("unknown_{rest}")));
    assert!(codes.contains(&"unknown_type".to_owned()), "findings have codes of their own");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    codes_below(&source.join("mcp"), &mut codes);
    codes_below(&source.join("http"), &mut codes);
    assert!(codes.len() > before);
    let known: Vec<_> = TABLE.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    for code in codes {
        assert!(known.contains(&code.as_str()), "{code} has no HTTP status");
    }
}

#[test]
fn a_code_has_one_status() {
    let mut known: Vec<_> = TABLE.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    let before = known.len();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), before);
    assert_eq!(of("a_new_one"), 422);
}
