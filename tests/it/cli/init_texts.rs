//! Every command and option in the installed instructions exists.

use crate::support::command::command_in;
use std::{collections::BTreeMap, fs, path::Path};

/// The `countersign` commands in the files that `init` installs, each with its options.
fn calls() -> BTreeMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations");
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["skills", "gsd"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap().replace("\\\n", " ");
            for code in text.split('`').skip(1).step_by(2).filter(|code| !code.is_empty()) {
                collect(code, &mut calls);
            }
            for line in text.lines().filter(|line| line.trim_start().starts_with("countersign ")) {
                collect(line, &mut calls);
            }
        }
    }
    calls
}

fn collect(code: &str, calls: &mut BTreeMap<String, Vec<String>>) {
    let Some(rest) = code.trim_start().strip_prefix("countersign ") else { return };
    let rest = rest.split(['|', '#']).next().unwrap_or_default();
    let mut words = rest.split_whitespace();
    let Some(command) = words.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-')) else {
        return;
    };
    let command = match (command, rest.split_whitespace().nth(1)) {
        ("patch", Some(inner)) => format!("patch {inner}"),
        _ => command.to_owned(),
    };
    let options = rest.split_whitespace().filter(|word| word.starts_with('-') && word.len() > 1);
    calls.entry(command).or_default().extend(options.map(|option| option.split('=').next().unwrap().to_owned()));
}

#[tokio::test]
async fn every_command_and_option_in_the_instructions_exists() {
    let home = tempfile::tempdir().unwrap();
    let calls = calls();
    assert!(calls.len() >= 12, "{calls:?}");
    for (command, options) in calls {
        let line: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = command_in(home.path(), home.path(), &line).finish().await;
        assert_eq!(help.code, 0, "countersign {command}: {}", help.err);
        for option in options {
            let named = help.out.split([' ', ',', '=', '[', '\n']).any(|word| word == option);
            assert!(named, "countersign {command} has no {option}:\n{}", help.out);
        }
    }
}
