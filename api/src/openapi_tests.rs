use super::document;
use crate::{json_schema::referenced_name, typescript};
use serde_json::Value;
use std::{collections::BTreeSet, env, fs, path::Path};

/// Compares a generated file. `cargo xtask openapi` sets the variable, and then the test writes the file.
fn check_committed(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    if env::var_os("COUNTERSIGN_UPDATE_OPENAPI").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(&path, text).expect("the file can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{file} is out of date: run `cargo xtask openapi` and check the diff");
}

#[test]
fn the_committed_document_is_up_to_date() {
    check_committed("docs/openapi.json", &format!("{}\n", serde_json::to_string_pretty(document()).expect("JSON")));
}

#[test]
fn the_committed_types_of_the_page_are_up_to_date() {
    check_committed("web/src/api/generated.ts", &typescript::generate(document()));
}

fn visit<'a>(schema: &'a Value, found: &mut dyn FnMut(&'a Value)) {
    found(schema);
    match schema {
        Value::Object(object) => object.values().for_each(|value| visit(value, found)),
        Value::Array(items) => items.iter().for_each(|value| visit(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_has_one_definition_and_every_definition_is_used() {
    let schemas = document()["components"]["schemas"].as_object().expect("schemas");
    let mut used = BTreeSet::new();
    visit(document(), &mut |value| used.extend(referenced_name(value)));
    // The messages of a stream have no operation.
    used.insert("LiveFrame");
    assert_eq!(used, schemas.keys().map(String::as_str).collect());
    // A digit at the end means that two types have one name.
    for name in schemas.keys() {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
    }
    for name in ["Issue", "SeatState", "Turn", "Consensus", "ReviewRow", "LiveEvent", "LiveReady", "LiveDropped"] {
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[test]
fn a_field_that_is_always_there_may_be_null() {
    let event = &document()["components"]["schemas"]["LiveEvent"];
    assert_eq!(event["properties"]["round"]["type"], serde_json::json!(["integer", "null"]));
    let row = &document()["components"]["schemas"]["ReviewRow"];
    assert_eq!(row["properties"]["claimed_by"]["type"], "string");
}
