use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    Globs::new(vec![pattern.to_owned()]).unwrap().matches(path)
}

#[test]
fn a_star_stays_within_a_folder_and_two_do_not() {
    assert!(matches("migrations/*.sql", "migrations/1.sql"));
    assert!(!matches("migrations/*.sql", "migrations/old/1.sql"));
    assert!(matches("migrations/**", "migrations/old/1.sql"));
    assert!(!matches("migrations/**", "app/migrations/1.sql"));
    assert!(matches("**/migrations/**", "app/migrations/1.sql"));
    assert!(matches("**/migrations/**", "migrations/1.sql"));
}

#[test]
fn a_name_matches_in_every_folder_and_a_folder_matches_everything_below() {
    assert!(matches("Cargo.lock", "Cargo.lock"));
    assert!(matches("*.lock", "tools/x/yarn.lock"));
    assert!(!matches("*.lock", "tools/lock"));
    assert!(matches("migrations/", "migrations/a/b.sql"));
    assert!(!matches("migrations/", "migrations.rs"));
    assert!(matches("src/*.{c,h}", "src/a.h"));
    assert!(matches("[ab].txt", "a.txt"));
    assert!(!matches("README.md", "readme.md"), "paths are case-sensitive, as in git");
}

#[test]
fn a_pattern_that_cannot_match_is_refused() {
    let error = |pattern: &str| Globs::new(vec!["ok/**".into(), pattern.into()]).unwrap_err().to_string();
    for (pattern, word) in [
        ("", "empty"),
        ("  ", "empty"),
        ("/etc/**", "root of the repository"),
        ("./src", "root of the repository"),
        ("a/../b", "root of the repository"),
        ("!keep", "negation"),
        ("src/[a", "unclosed"),
        ("src/{a", "unclosed"),
        (&"x".repeat(201), "longer than 200"),
    ] {
        assert!(error(pattern).contains(word), "{pattern}: {}", error(pattern));
    }
}

#[test]
fn an_empty_list_matches_nothing() {
    assert!(!Globs::default().matches("a"));
    assert!(!Globs::new(Vec::new()).unwrap().matches(""));
}
