use super::*;
use crate::diff::FileOperation;

fn file(path: &str, old_path: Option<&str>) -> AffectedFile {
    AffectedFile {
        path: path.into(),
        old_path: old_path.map(Into::into),
        operation: FileOperation::Modify,
        added: 1,
        removed: 0,
        binary: false,
    }
}

fn rule(category: Option<Category>, paths: &[&str], personas: &[&str], replace: bool) -> PanelRule {
    let texts = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let paths = (!paths.is_empty()).then(|| Globs::new(texts(paths)).unwrap());
    PanelRule { category, paths, personas: texts(personas), replace, required: false }
}

fn chosen(rules: Vec<PanelRule>, category: Option<Category>, files: &[AffectedFile]) -> (Vec<String>, Vec<String>) {
    let ChosenPanel { personas, reasons } = DefaultPanel { rules, ..DefaultPanel::default() }.choose(category, files);
    (personas, reasons)
}

#[test]
fn without_rules_the_default_personas_review() {
    assert_eq!(chosen(vec![], Some(Category::CodeChange), &[file("a", None)]), (vec!["general".into()], vec![]));
}

#[test]
fn every_matching_rule_adds_its_personas_once() {
    let rules = vec![
        rule(None, &["migrations/**"], &["architecture"], false),
        rule(None, &["*.sql"], &["performance", "architecture"], false),
        rule(None, &["web/**"], &["tests"], false),
    ];
    let (personas, reasons) = chosen(rules, None, &[file("README.md", None), file("migrations/1.sql", None)]);
    assert_eq!(personas, ["general", "architecture", "performance"]);
    assert_eq!(reasons, ["migrations/1.sql: also architecture", "migrations/1.sql: also performance, architecture"]);
}

#[test]
fn the_old_path_of_a_rename_counts() {
    let rules = || vec![rule(None, &["auth/**"], &["security"], false)];
    let moved = [file("lib/token.rs", Some("auth/token.rs"))];
    assert_eq!(chosen(rules(), None, &moved).1, ["auth/token.rs: also security"]);
    assert_eq!(chosen(rules(), None, &[file("lib/token.rs", None)]).0, ["general"]);
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let plan = Some(Category::PlanReview);
    let rules = || vec![rule(plan, &["docs/**"], &["architecture"], false)];
    assert_eq!(chosen(rules(), plan, &[file("docs/a", None)]).1, ["category plan_review, docs/a: also architecture"]);
    for (category, path) in [(plan, "src/a"), (None, "docs/a"), (Some(Category::CodeChange), "docs/a")] {
        assert_eq!(chosen(rules(), category, &[file(path, None)]).0, ["general"], "{category:?} {path}");
    }
    assert_eq!(chosen(rules(), plan, &[]).0, ["general"], "no diff, no path");
}

#[test]
fn a_rule_may_replace_the_default_personas_but_not_those_of_other_rules() {
    let rules = vec![
        rule(None, &["a/**"], &["tests"], false),
        rule(None, &["b/**"], &["security"], true),
        rule(None, &[], &["performance"], false),
    ];
    let both = [file("a/1", None), file("b/1", None)];
    assert_eq!(chosen(rules.clone(), None, &both).0, ["tests", "security", "performance"]);
    let (personas, reasons) = chosen(rules, None, &[file("c", None)]);
    assert_eq!(personas, ["general", "performance"]);
    assert_eq!(reasons, ["any change: also performance"]);
}

#[test]
fn required_personas_are_those_of_required_rules_that_apply() {
    let required = |rule: PanelRule| PanelRule { required: true, ..rule };
    let rules = vec![
        required(rule(None, &["auth/**"], &["security"], false)),
        rule(None, &["auth/**"], &["tests"], false),
        required(rule(None, &["web/**"], &["architecture"], false)),
    ];
    let panel = DefaultPanel { rules, ..DefaultPanel::default() };
    assert_eq!(panel.required(None, &[file("auth/login.rs", None)]), ["security"]);
    assert_eq!(panel.required(None, &[file("moved.rs", Some("auth/login.rs"))]), ["security"]);
    assert!(panel.required(None, &[file("README.md", None)]).is_empty());
}
