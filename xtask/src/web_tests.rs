use super::{differences, scratch};
use std::fs;

#[test]
fn changed_missing_and_extra_files_are_listed() {
    let folder = scratch("web-tests").unwrap();
    let (committed, rebuilt) = (folder.join("committed"), folder.join("rebuilt"));
    for side in [&committed, &rebuilt] {
        fs::create_dir_all(side.join("assets")).unwrap();
        fs::write(side.join("index.html"), "the same").unwrap();
    }
    assert!(differences(&committed, &rebuilt).unwrap().is_empty());

    fs::write(committed.join("assets/changed.js"), "1").unwrap();
    fs::write(rebuilt.join("assets/changed.js"), "2").unwrap();
    fs::write(committed.join("assets/gone.js"), "").unwrap();
    fs::write(rebuilt.join("new.css"), "").unwrap();
    let listed = differences(&committed, &rebuilt).unwrap();
    assert_eq!(listed, ["assets/changed.js", "assets/gone.js", "new.css"]);
    assert_eq!(differences(&folder.join("absent"), &rebuilt).unwrap().len(), 3);
}
