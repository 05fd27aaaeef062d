use super::Cli;
use clap::{CommandFactory as _, error::ErrorKind};
use std::{fs, path::Path};

/// Every command line that the page shows is one that the command line accepts.
#[test]
fn the_command_lines_of_the_page_can_be_parsed() {
    let mut lines = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src"), &mut lines);
    assert!(lines.iter().any(|(file, _)| file == "cliLines.ts"), "no command line in web/src/cliLines.ts");
    for (file, line) in lines {
        let words = shell_words(&with_examples(&file, &line));
        if let Err(error) = Cli::command().try_get_matches_from(words) {
            panic!("{file} shows `{line}`: {error}");
        }
    }
}

/// The texts that begin with the name of the program, in quotation marks or as the text of an element.
fn collect(folder: &Path, lines: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, lines);
        } else if name.ends_with(".tsx")
            || (name.ends_with(".ts") && name != "generated.ts" && !name.contains(".test."))
        {
            let text = fs::read_to_string(&path).unwrap();
            for (at, found) in text.match_indices("countersign ") {
                let end = match text[..at].chars().next_back() {
                    Some('>') => '<',
                    Some(quote @ ('"' | '\'' | '`')) => quote,
                    _ => continue,
                };
                let length = text[at..].find(end).unwrap_or(found.len());
                lines.push((name.clone(), text[at..at + length].to_owned()));
            }
        }
    }
}

/// Replaces each `${…}` of a template by an example.
fn with_examples(file: &str, line: &str) -> String {
    let mut parts = line.split("${");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once('}').unwrap_or((part, ""));
        text.push_str(match expression {
            of if of.contains("status") => "changes_requested",
            of if of.contains("review") || of.contains("number") => "R-12",
            of if of.contains("persona") => "security",
            of if of.contains("words") => "umlaut",
            of if of.contains("name") => "shop",
            of if of.contains("value") => "7",
            "at" => "7",
            "size" => "3",
            other => panic!("{file}: no example for {other:?} in `{line}`; add one here"),
        });
        text.push_str(rest);
    }
    text
}

/// The words of a line as a shell splits it. Lines of the page use single quotes only.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        match n % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// The command lines in messages, instructions for agents and documentation. Names in capitals stand for a value.
#[test]
fn the_command_lines_of_messages_and_documentation_can_be_parsed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut lines = Vec::new();
    for folder in ["cli/src", "src", "actors/src", "api/src", "config/src", "gate/src", "integrations", "docs"] {
        collect_hints(&root.join(folder), &mut lines);
    }
    collect_hints(&root.join("README.md"), &mut lines);
    assert!(lines.len() > 100, "only {} command lines were found", lines.len());
    let mut wrong = Vec::new();
    for (file, line) in lines {
        if let Err(error) = Cli::command().try_get_matches_from(shell_words(&line.replace('"', "'"))) {
            // A word such as ROLE is not one of the values, and a text may only name a command.
            let is_example = matches!(
                error.kind(),
                ErrorKind::InvalidValue
                    | ErrorKind::MissingRequiredArgument
                    | ErrorKind::MissingSubcommand
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    | ErrorKind::ValueValidation
                    | ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
            );
            if !is_example {
                wrong.push(format!("{file} shows `{line}`: {}", error.to_string().lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Command lines in backquotes, except in comments of the source, and lines of examples in documentation.
fn collect_hints(path: &Path, lines: &mut Vec<(String, String)>) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect_hints(&entry.unwrap().path(), lines);
        }
        return;
    }
    let is_source = name.ends_with(".rs") && !name.ends_with("tests.rs");
    // A record of what commands printed, in which columns follow a command.
    let is_record = name == "first-hour.md";
    if (!is_source && !name.ends_with(".md")) || is_record {
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let kept = text.lines().filter(|line| !(is_source && line.trim_start().starts_with("//")));
    let kept: Vec<_> = kept.map(|line| line.trim_end_matches('\\').trim()).collect();
    let joined = kept.join(" ");
    let mut found: Vec<String> = Vec::new();
    for (at, _) in joined.match_indices("`countersign ") {
        found.extend(joined[at + 1..].split_once('`').map(|(line, _)| line.to_owned()));
    }
    if !is_source {
        let examples = kept.iter().filter(|line| line.starts_with("countersign "));
        found.extend(examples.map(|line| line.split(" #").next().unwrap_or_default().to_owned()));
    }
    // Further dots, alternatives and pipes are for people.
    let is_whole = |line: &String| {
        !line.contains(['…', '|', '[', '&', '<']) && !line.contains("COMMAND") && !line.starts_with("countersign {")
    };
    lines.extend(found.into_iter().filter(is_whole).map(|line| (name.clone(), with_values(&line))));
}

/// Replaces each `{…}` of a format string by a review.
fn with_values(line: &str) -> String {
    let mut parts = line.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "R-12" + part.split_once('}').map_or("", |(_, rest)| rest))
}

/// A command that stands in no group would be missing from the help of the program.
#[test]
fn every_command_stands_in_one_group_of_the_help() {
    let help = super::definition().render_help().to_string();
    let lines: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let commands = Cli::command();
    for command in commands.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let found = lines.iter().filter(|line| line.split(' ').next() == Some(name)).count();
        assert_eq!(found, 1, "{name} in {help}");
    }
}
