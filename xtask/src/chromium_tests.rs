use super::{PACKAGE, PACKAGE_VERSION};
use crate::subprocess::root;

#[test]
fn the_version_of_the_folder_is_that_of_the_package() {
    let package = std::fs::read_to_string(root().join(PACKAGE).join("package.json")).unwrap();
    assert!(package.contains(&format!("\"@sparticuz/chromium\": \"{PACKAGE_VERSION}\"")), "{package}");
}
