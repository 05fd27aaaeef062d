use super::{BlockPosition, EditError, Fragment, FragmentState, MarkedBlock, splices, undo, unified};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

const KEYS: &[&str] = &["type", "command", "args", "url", "timeout"];

fn server() -> Fragment {
    let value = json!({ "type": "stdio", "command": "countersign", "args": ["mcp"], "timeout": 120_000 });
    Fragment::Json { path: vec!["mcpServers", "countersign"], value, keys: KEYS }
}

fn table() -> Fragment {
    let value = json!({ "command": "countersign", "args": ["mcp"], "timeout": 120 });
    Fragment::Toml { path: vec!["mcp_servers", "countersign"], value, keys: KEYS }
}

fn hook(event: &'static str, matcher: Option<&'static str>) -> Fragment {
    let handler = json!({ "type": "command", "command": "countersign hook stop", "timeout": 30 });
    Fragment::Hook { event, matcher, handler, subcommand: "hook stop" }
}

fn block(position: BlockPosition) -> Fragment {
    Fragment::Block(MarkedBlock { position, body: "one\ntwo\n".into() })
}

/// Settings files in the styles that people use.
const JSON: [&str; 15] = [
    "",
    "\n",
    "{}",
    "{}\n",
    "{\n}\n",
    "// only words\n",
    "{ \"mcpServers\": {} }",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}",
    "{\n  // ours to keep\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // why\n  },\n}\n",
    "{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\r\n\t\t\t\"command\": \"x\"\r\n\t\t}\r\n\t}\r\n}\r\n",
    "\u{feff}{\n    \"a\": [1, 2,   3],\n    \"mcpServers\": { }\n}",
    "{\n\t\"z\": 1,\n\n\n\t/* block */ \"a\": { \"b\" : null }\n\t// end\n}",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"mine\" } ] }\n    ]\n  }\n}\n",
    "{\"hooks\":{\"Stop\":[],\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]}}",
    "{\n  \"hooks\": {}\n}",
];

const TOML: [&str; 10] = [
    "",
    "# only words\n",
    "model = \"x\"",
    "model = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n# of other\nargs = [ 'a',\n  'b' ]\n\n[profiles.z]\na = 1\n# the end\n",
    "[mcp_servers.other]\r\ncommand = \"y\"\r\n\r\n[tools]\r\nweb = true\r\n",
    "mcp_servers = { other = { command = \"y\" } }\n",
    "mcp_servers.other.command = \"y\"\n[tools]\nweb = true",
    "\u{feff}[mcp_servers]\n\n[mcp_servers.a]\ncommand = 'b'",
    "[[profiles]]\na = 1\n\n[[profiles]]\na = 2\n\n\n",
    "[mcp_servers.other]\ncommand = \"y\"\n[mcp_servers.other.env]\nA = \"1\"\n[z]\n",
];

const TEXT: [&str; 8] = [
    "",
    "# Title\n",
    "# Title\r\n\r\nWords.\r\n",
    "no end",
    "---\nname: x\ntools: Read\n---\n\nDo it.\n",
    "---\nnever closed\n",
    "#!/bin/sh\nset -e\necho mine\n",
    "#!/usr/bin/env bash",
];

fn all() -> Vec<(Fragment, &'static [&'static str])> {
    vec![
        (server(), &JSON),
        (hook("Stop", None), &JSON),
        (hook("PreToolUse", Some("Bash")), &JSON),
        (table(), &TOML),
        (block(BlockPosition::End), &TEXT),
        (block(BlockPosition::AfterFrontMatter), &TEXT),
        (block(BlockPosition::AfterShebang), &TEXT),
    ]
}

#[test]
fn an_inserted_fragment_is_found_once_and_can_be_removed() {
    for (fragment, texts) in all() {
        for text in texts {
            assert_eq!(fragment.state(text), Ok(FragmentState::Missing), "{text}");
            let inserted = fragment.insert(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(fragment.state(&inserted), Ok(FragmentState::UpToDate), "{text}\n->\n{inserted}");
            assert_eq!(fragment.insert(&inserted).unwrap(), inserted, "inserting again changes nothing");
            assert_eq!(
                undo(&inserted, &splices(text, &inserted)).as_deref(),
                Some(*text),
                "the original bytes are restored"
            );
            let created = fragment.missing_containers(text).unwrap();
            let removed = fragment.remove(&inserted, &created).unwrap();
            assert_eq!(fragment.state(&removed), Ok(FragmentState::Missing), "{inserted}\n->\n{removed}");
            assert_eq!(meaning(&fragment, &removed), meaning(&fragment, text), "{text}\n->\n{inserted}\n->\n{removed}");
        }
    }
}

/// The content of a text, independent of its formatting.
fn meaning(fragment: &Fragment, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match fragment {
        Fragment::Json { .. } | Fragment::Hook { .. } => {
            let value = super::json::get(text, &[]).unwrap();
            value.filter(|value| *value != json!({})).unwrap_or_default()
        }
        Fragment::Toml { .. } => super::toml::get(text, &[]).unwrap().unwrap_or_default(),
        Fragment::Block(_) | Fragment::Whole(_) => {
            text.replace("\r\n", "\n").trim_end().trim_start_matches("#!/bin/sh").into()
        }
    }
}

/// Every line is still there, in order and with its line ending.
#[test]
fn the_users_lines_are_preserved() {
    for (fragment, texts) in all() {
        for text in texts {
            let inserted = fragment.insert(text).unwrap();
            let mut rest = inserted.lines();
            let words = |line: &str| line.chars().filter(|c| !" \t\r,{}[]".contains(*c)).collect::<String>();
            for line in text.lines().map(words).filter(|line| !line.is_empty() && line.starts_with(['/', '#'])) {
                assert!(rest.any(|other| words(other).contains(&line)), "{line} is not in\n{inserted}");
            }
            assert_eq!(text.contains("\r\n"), inserted.contains("\r\n"), "{text:?} -> {inserted:?}");
            assert!(
                !text.contains("\r\n") || inserted.matches('\n').count() == inserted.matches("\r\n").count(),
                "{inserted:?}"
            );
            assert_eq!(text.starts_with('\u{feff}'), inserted.starts_with('\u{feff}'));
        }
    }
}

fn joined(texts: &[Result<String, EditError>]) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| text.as_deref().unwrap()).collect();
    texts.join("\n--------\n")
}

#[test]
fn json_keeps_its_comments_and_indentation() {
    let edited = [
        server().insert(JSON[8]),
        server().insert(JSON[7]),
        server().insert(""),
        hook("PreToolUse", Some("Bash")).insert(JSON[12]),
    ];
    assert_snapshot!("json", joined(&edited));
    assert!(server().insert(JSON[9]).unwrap().contains("\r\n\t\t\"countersign\": {\r\n\t\t\t\"type\": \"stdio\",\r\n"));
}

#[test]
fn toml_keeps_its_comments_and_order() {
    let edited = [TOML[3], TOML[5], TOML[6], "", TOML[9]].map(|text| table().insert(text));
    assert_snapshot!("toml", joined(&edited));
}

#[test]
fn additions_of_the_user_survive_an_update() {
    let text =
        server().insert("{}").unwrap().replace("\"timeout\": 120000", "\"timeout\": 5, \"env\": { \"A\": \"1\" }");
    let Ok(FragmentState::Different(what)) = server().state(&text) else { panic!("{text}") };
    assert_eq!(what, "timeout is 5, expected 120000");
    let again = server().insert(&text).unwrap();
    assert_eq!(server().state(&again), Ok(FragmentState::UpToDate));
    assert!(again.contains("\"env\": { \"A\": \"1\" }"), "{again}");

    let text = table().insert("").unwrap().replace("timeout = 120", "# mine\nenv = { A = '1' }\nurl = 'http://x'");
    let again = table().insert(&text).unwrap();
    assert!(again.contains("# mine\nenv = { A = '1' }") && !again.contains("url"), "{again}");
    assert_eq!(table().state(&again), Ok(FragmentState::UpToDate));
}

#[test]
fn other_hooks_of_the_same_event_are_preserved() {
    let theirs = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#;
    let inserted = hook("Stop", None).insert(theirs).unwrap();
    let both: Value = serde_json::from_str(&inserted).unwrap();
    assert_eq!(both["hooks"]["Stop"][0]["hooks"][0]["command"], "a");
    assert_eq!(both["hooks"]["Stop"][1]["hooks"][0]["command"], "countersign hook stop");
    // The user has added a handler beside ours.
    let mixed = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/x/countersign hook stop"},{"command":"b"}]}]}}"#;
    let removed = hook("Stop", None).remove(mixed, &[]).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&removed).unwrap(),
        json!({"hooks":{"Stop":[{"hooks":[{"command":"b"}]}]}})
    );
}

#[test]
fn a_syntax_error_is_reported_with_its_position() {
    let unreadable = [
        (server(), "{\n  \"a\": 1\n  \"b\": 2\n}"),
        (server(), "{\n  \"a\": \n"),
        (server(), "{ 'a': 1 }"),
        (server(), "[]"),
        (server(), "{ \"mcpServers\": [] }"),
        (hook("Stop", None), "{ \"hooks\": { \"Stop\": {} } }"),
        (table(), "a = 1\nb = \n"),
        (table(), "mcp_servers = 1"),
        (block(BlockPosition::End), "a\n<!-- countersign: begin -->\nb\n"),
    ];
    let words: Vec<String> =
        unreadable.iter().map(|(fragment, text)| fragment.insert(text).unwrap_err().to_string()).collect();
    assert_snapshot!("unreadable", words.join("\n"));
    assert_eq!(EditError::at("a\nöx", 4, "x").to_string(), "line 2, column 2: x");
}

#[test]
fn an_existing_block_is_replaced_in_place() {
    let text = "a\n<!-- countersign: begin -->\nold\n<!-- countersign: end -->\nb\n";
    let fragment = block(BlockPosition::End);
    assert_eq!(
        fragment.insert(text).unwrap(),
        "a\n<!-- countersign: begin -->\none\ntwo\n<!-- countersign: end -->\nb\n"
    );
    assert_eq!(fragment.remove(text, &[]).unwrap(), "a\nb\n");
}

#[test]
fn a_diff_escapes_control_characters() {
    let shown = "@@ -1,2 +1,3 @@\n a\n-b\n+c\\u{202e}\n+\td\n\\ No newline at end of file\n";
    assert_eq!(unified("a\nb\n", "a\nc\u{202e}\n\td"), shown);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~ö\u{202e}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z/.]{1,5}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A settings file with other servers and hooks, in one of several styles.
fn config() -> impl Strategy<Value = String> {
    let servers = prop::collection::btree_map("[a-z]{1,6}", json_value(), 0..3);
    let rest = prop::collection::btree_map("[A-Z]{1,6}", json_value(), 0..4);
    (servers, rest, any::<bool>(), 0..4u8, any::<bool>()).prop_map(|(servers, rest, has, style, crlf)| {
        let mut all: serde_json::Map<String, Value> = rest.into_iter().collect();
        if has {
            all.insert("mcpServers".into(), Value::Object(servers.into_iter().collect()));
        }
        let text = match style {
            0 => Value::Object(all).to_string(),
            1 => format!("{:#}", Value::Object(all)),
            2 => format!("{:#}\n", Value::Object(all)).replace("  ", "\t"),
            _ => format!("// a word\n{:#}\n/* the end */", Value::Object(all)),
        };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #[test]
    fn any_settings_file_is_restored_byte_for_byte(text in config()) {
        for fragment in [server(), hook("Stop", None)] {
            let inserted = fragment.insert(&text).unwrap();
            prop_assert_eq!(fragment.state(&inserted).unwrap(), FragmentState::UpToDate);
            prop_assert_eq!(undo(&inserted, &splices(&text, &inserted)).unwrap(), text.clone());
            let removed = fragment.remove(&inserted, &fragment.missing_containers(&text).unwrap()).unwrap();
            prop_assert_eq!(meaning(&fragment, &removed), meaning(&fragment, &text));
        }
    }

    #[test]
    fn the_changes_between_any_two_texts_can_be_undone(old in "[ab\r\n]{0,12}", new in "[ab\r\n]{0,12}") {
        prop_assert_eq!(undo(&new, &splices(&old, &new)), Some(old));
    }
}
