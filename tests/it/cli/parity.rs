//! What a person can do on the page has a command, and the other way round. The operations are those of the table; the
//! calls are read from the sources of the command line and of the page.

use api::OperationId;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Operations without a command, and why.
const NO_COMMAND: &[(OperationId, &str)] = &[
    (OperationId::CountReviews, "the numbers on the tabs of the page; `list` prints the rows"),
    (OperationId::GetFile, "the lines around the hunks of a diff; a terminal has `git show`"),
    (OperationId::ExportReview, "`export` writes the same text with the same code"),
    (OperationId::ExportIssues, "`export` writes the same text with the same code"),
    (OperationId::ListPersonas, "`personas` reads the settings, also without a broker"),
    (OperationId::GetActors, "`actors` reads the same tree as text from /debug/actors"),
    (OperationId::GetOpenApi, "for programs"),
];

/// Operations that no page calls, and why.
const NO_PAGE: &[(OperationId, &str)] = &[
    (OperationId::ListApprovals, "for the gate, which has to see all approvals at once"),
    (OperationId::GetApproval, "for the gate and `land`"),
    (OperationId::RegisterProject, "only for a process of the broker's user; the page shows the command"),
    (OperationId::RemoveProject, "only for a process of the broker's user; the page shows the command"),
];

/// The sources below a folder whose names end with one of `endings`, without those for which `is_left_out` holds.
fn sources(folder: &str, endings: &[&str], is_left_out: impl Fn(&Path) -> bool) -> String {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if is_left_out(&path) {
            } else if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                text += &fs::read_to_string(&path).unwrap();
            }
        }
    }
    text
}

/// The words between `before` and one of `ends`, wherever `before` occurs.
fn words_after<'a>(text: &'a str, before: &str, ends: &[char]) -> BTreeSet<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest[..rest.find(ends)?].trim())).collect()
}

/// The operations that commands call through the typed client: `execute::<ListReviews>`. What the demo's agents do is not
/// what a person can do.
fn operations_of_commands() -> BTreeSet<&'static str> {
    let is_left_out = |path: &Path| path.ends_with("demo") || path.to_string_lossy().contains("tests");
    let folders = ["cli/src", "gate/src"].map(|folder| sources(folder, &[".rs"], is_left_out));
    // Lists that the command line reads to their end.
    let pages = sources("api/src", &["pages.rs"], |_| false);
    let text = folders.join("\n") + &pages;
    let named = words_after(&text, "::<", &['>', ',']);
    let all = OperationId::ALL.iter().filter(|id| named.contains(format!("{id:?}").as_str()));
    all.map(|id| id.name()).collect()
}

/// The operations that pages call through the one client, `call("list_reviews", …)`, or link to.
fn operations_of_pages() -> BTreeSet<&'static str> {
    let is_left_out = |path: &Path| {
        path.ends_with("generated.ts") || path.to_string_lossy().contains(".test.ts") || path.ends_with("sample.ts")
    };
    let text = sources("web/src", &[".ts", ".tsx"], is_left_out);
    // A formatted call may stand on several lines.
    let text: String = text.split_whitespace().collect();
    let called = words_after(&text, "call(\"", &['"']);
    let others = ["callForDiff(\"", "addressOf(\""].map(|before| words_after(&text, before, &['"']));
    let called: BTreeSet<_> = called.into_iter().chain(others.into_iter().flatten()).collect();
    let is_linked = |route: &&api::Route| is_address_in(&text, route.path);
    let routes = OperationId::ALL.iter().flat_map(|id| id.routes());
    routes.filter(|route| called.contains(route.id) || is_linked(route)).map(|route| route.operation.name()).collect()
}

/// Whether a text has this address with something in place of each name in braces: `/api/v1/reviews/${number}/patch`.
fn is_address_in(text: &str, path: &str) -> bool {
    let mut parts = path.split(['{', '}']).step_by(2);
    let first = parts.next().unwrap_or_default();
    text.split(first).skip(1).any(|after| {
        let address = after.split(['`', '"']).next().unwrap_or_default();
        let rest = parts.clone().try_fold(address, |rest, part| Some(&rest[rest.find(part)? + part.len()..]));
        // The address goes on neither with a name nor with a further part.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
    })
}

/// Checks that exactly the operations outside of `exceptions` are called.
fn check(called: &BTreeSet<&str>, exceptions: &[(OperationId, &str)], missing: &str) {
    assert!(called.len() > 10, "the sources are read: {called:?}");
    let reason = |id: OperationId| exceptions.iter().find(|(exception, _)| *exception == id).map(|(_, reason)| *reason);
    let problems = OperationId::ALL.iter().filter_map(|id| match (called.contains(id.name()), reason(*id)) {
        (true, None) | (false, Some(_)) => None,
        (false, None) => Some(format!("{}: {missing}; or name it here with a reason", id.name())),
        (true, Some(reason)) => Some(format!("{} is called now, so it is no exception: {reason}", id.name())),
    });
    assert_eq!(problems.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_operation_has_a_command() {
    check(&operations_of_commands(), NO_COMMAND, "no command calls it");
}

#[test]
fn every_operation_has_a_place_on_the_page() {
    check(&operations_of_pages(), NO_PAGE, "no page calls it");
}
