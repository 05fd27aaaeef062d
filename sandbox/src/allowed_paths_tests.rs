use super::without_hidden;
use std::{fs, path::Path};

fn below(root: &Path, path: &str, hidden: &[&str]) -> Vec<String> {
    let hidden: Vec<_> = hidden.iter().map(|path| root.join(path)).collect();
    let found = without_hidden(&root.join(path), &hidden);
    let mut found: Vec<_> =
        found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect();
    found.sort();
    found
}

#[test]
fn a_hidden_folder_stays_closed_although_a_folder_above_it_is_open() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    for folder in ["share/countersign/reviewers", "share/fonts", "bin"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("share/list"), "").unwrap();
    std::os::unix::fs::symlink("share/countersign", root.join("link")).unwrap();
    let hidden = ["share/countersign"];
    assert_eq!(below(&root, "share/fonts", &hidden), ["share/fonts"]);
    assert_eq!(below(&root, "", &hidden), ["bin", "share/fonts", "share/list"]);
    for closed in ["share/countersign", "share/countersign/reviewers", "link", "missing"] {
        assert_eq!(below(&root, closed, &hidden), [""; 0], "{closed}");
    }
    assert_eq!(below(&root, "share", &[]), ["share"]);
}
