use super::path_in;
use domain::{
    content::Content,
    diff::{AffectedFile, FileOperation},
};

fn content(files: &[(FileOperation, Option<&str>, &str)]) -> Content {
    let file = |(operation, old_path, path): &(FileOperation, Option<&str>, &str)| AffectedFile {
        path: (*path).into(),
        old_path: old_path.map(Into::into),
        operation: *operation,
        added: 1,
        removed: 1,
        binary: false,
    };
    Content {
        intent: "a change".into(),
        description: None,
        diff: None,
        base_commit: None,
        files: files.iter().map(file).collect(),
        flags: Vec::new(),
        diff_note: None,
    }
}

#[test]
fn only_a_rename_leads_elsewhere() {
    use FileOperation::{Copy, Delete, Modify, Rename};
    let plain = content(&[(Modify, None, "a")]);
    let renamed = content(&[(Rename, Some("a"), "b")]);
    let copied = content(&[(Copy, Some("a"), "b")]);
    let copied_twice = content(&[(Copy, Some("a"), "b"), (Copy, Some("a"), "c")]);
    let copied_and_changed = content(&[(Modify, None, "a"), (Copy, Some("a"), "b")]);
    for (old, new, path, expected) in [
        (&plain, &renamed, "a", "b"),
        (&renamed, &plain, "b", "a"),
        (&renamed, &content(&[(Rename, Some("a"), "c")]), "b", "c"),
        (&plain, &copied, "a", "a"),
        (&plain, &copied_and_changed, "a", "a"),
        (&copied_twice, &copied_twice, "c", "c"),
        (&copied, &plain, "b", "b"),
        (&plain, &content(&[(Delete, None, "a")]), "a", "a"),
        (&plain, &content(&[]), "a", "a"),
    ] {
        assert_eq!(path_in(old, new, path), expected, "{:?} to {:?}", old.files, new.files);
    }
}
