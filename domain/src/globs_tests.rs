use super::*;

fn fits(pattern: &str, path: &str) -> bool {
    Globs::new(vec![pattern.to_owned()]).unwrap().fits(path)
}

#[test]
fn a_star_stays_within_a_folder_and_two_do_not() {
    assert!(fits("migrations/*.sql", "migrations/1.sql"));
    assert!(!fits("migrations/*.sql", "migrations/old/1.sql"));
    assert!(fits("migrations/**", "migrations/old/1.sql"));
    assert!(!fits("migrations/**", "app/migrations/1.sql"));
    assert!(fits("**/migrations/**", "app/migrations/1.sql"));
    assert!(fits("**/migrations/**", "migrations/1.sql"));
}

#[test]
fn a_name_fits_in_every_folder_and_a_folder_fits_what_is_below() {
    assert!(fits("Cargo.lock", "Cargo.lock"));
    assert!(fits("*.lock", "tools/x/yarn.lock"));
    assert!(!fits("*.lock", "tools/lock"));
    assert!(fits("migrations/", "migrations/a/b.sql"));
    assert!(!fits("migrations/", "migrations.rs"));
    assert!(fits("src/*.{c,h}", "src/a.h"));
    assert!(fits("[ab].txt", "a.txt"));
    assert!(!fits("README.md", "readme.md"), "git tells them apart, and so do we");
}

#[test]
fn what_no_path_can_fit_is_refused() {
    let why = |pattern: &str| Globs::new(vec!["ok/**".into(), pattern.into()]).unwrap_err().to_string();
    for (pattern, word) in [
        ("", "empty"),
        ("  ", "empty"),
        ("/etc/**", "root of the repository"),
        ("./src", "root of the repository"),
        ("a/../b", "root of the repository"),
        ("!keep", "no negation"),
        ("src/[a", "unclosed"),
        ("src/{a", "unclosed"),
        (&"x".repeat(201), "longer than 200"),
    ] {
        assert!(why(pattern).contains(word), "{pattern}: {}", why(pattern));
    }
}

#[test]
fn no_patterns_fit_nothing() {
    assert!(!Globs::default().fits("a"));
    assert!(!Globs::new(Vec::new()).unwrap().fits(""));
}
