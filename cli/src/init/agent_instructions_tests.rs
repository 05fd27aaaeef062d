use super::{AGENTS, COMMAND, GUARDS, POINTER, SKILL};
use api::OperationId;

fn all() -> Vec<(&'static str, &'static str)> {
    let others = [("SKILL", SKILL), ("AGENTS", AGENTS), ("command", COMMAND), ("pointer", POINTER)];
    GUARDS.into_iter().chain(others).collect()
}

#[test]
fn each_text_is_short() {
    for (name, text) in all() {
        assert!(text.lines().count() < 60, "{name}");
        assert!(text.ends_with('\n') && !text.contains('\t'), "{name}");
        assert!(text.lines().all(|line| line.chars().count() <= 320), "{name}");
    }
}

/// Every word in backticks that looks like a tool name is one.
#[test]
fn the_named_tools_exist() {
    let verbs =
        ["create", "get", "list", "claim", "submit", "close", "cancel", "add", "accept", "reject", "update", "release"];
    let is_tool = |word: &str| word.split_once('_').is_some_and(|(verb, _)| verbs.contains(&verb));
    let mut named = 0;
    for (name, text) in all() {
        for word in text.split('`').skip(1).step_by(2) {
            if is_tool(word) {
                assert!(OperationId::tool(word).is_some(), "{name} names {word}");
                named += 1;
            }
        }
    }
    assert!(named > 8, "{named}");
}

#[test]
fn each_guard_refers_to_the_shared_loop() {
    for (name, text) in GUARDS {
        if name != "tandem" {
            assert!(text.contains("`{folder}/tandem.md`") && text.to_lowercase().contains("solo"), "{name}");
        }
    }
}
