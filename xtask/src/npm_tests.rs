use crate::subprocess::root;
use serde_json::Value;
use std::fs;

/// npm checks a package against the hash in the lock file. The registry that made these files lacks some programs for
/// other operating systems, and `npm ci` refuses a lock file without their names.
#[test]
fn only_optional_tools_for_other_systems_have_no_hash() {
    for folder in ["web", "tests/clients", "tests/chromium"] {
        let lock = fs::read(root().join(folder).join("package-lock.json")).unwrap();
        let lock: Value = serde_json::from_slice(&lock).unwrap();
        for (name, package) in lock["packages"].as_object().unwrap() {
            assert!(package["resolved"].is_null(), "{folder}: {name} names the address of a registry");
            let is_for_some_systems = package["os"].is_array() || package["cpu"].is_array();
            let is_optional_tool = package["optional"] == true && package["dev"] == true && is_for_some_systems;
            let has_hash = package["integrity"].is_string();
            assert!(name.is_empty() || has_hash || is_optional_tool, "{folder}: {name} has no hash");
        }
    }
}
