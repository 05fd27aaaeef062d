use super::{BlockPosition, EditError, Fragment, FragmentState, MarkedBlock, Markers, splices, undo, unified};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

const KEYS: &[&str] = &["type", "command", "args", "url", "timeout"];

fn server() -> Fragment {
    let value = json!({ "type": "stdio", "command": "countersign", "args": ["mcp"], "timeout": 120_000 });
    Fragment::Json { path: vec!["mcpServers".into(), "countersign".into()], value, keys: KEYS }
}

fn table() -> Fragment {
    let value = json!({ "command": "countersign", "args": ["mcp"], "timeout": 120 });
    Fragment::Toml { path: vec!["mcp_servers".into(), "countersign".into()], value, keys: KEYS }
}

fn hook(event: &'static str, matcher: Option<&'static str>) -> Fragment {
    let handler = json!({ "type": "command", "command": "countersign hook stop", "timeout": 30 });
    Fragment::Hook { event, matcher, handler, ending: "hook stop" }
}

fn block(markers: Markers, spot: BlockPosition) -> Fragment {
    Fragment::Block(MarkedBlock { markers, spot, body: "one\ntwo\n".into() })
}

/// Configs as people keep them.
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
        (block(Markers::MARKDOWN, BlockPosition::End), &TEXT),
        (block(Markers::MARKDOWN, BlockPosition::AfterFrontMatter), &TEXT),
        (block(Markers::SHELL, BlockPosition::AfterShebang), &TEXT),
    ]
}

#[test]
fn what_is_put_in_stands_there_once_and_can_be_taken_back() {
    for (piece, texts) in all() {
        for text in texts {
            assert_eq!(piece.stands(text), Ok(FragmentState::Missing), "{text}");
            let put = piece.put(text).unwrap_or_else(|trouble| panic!("{trouble}: {text}"));
            assert_eq!(piece.stands(&put), Ok(FragmentState::UpToDate), "{text}\n->\n{put}");
            assert_eq!(piece.put(&put).unwrap(), put, "a second time changes nothing");
            assert_eq!(undo(&put, &splices(text, &put)).as_deref(), Some(*text), "the bytes come back");
            let made = piece.containers(text).unwrap();
            let cut = piece.cut(&put, &made).unwrap();
            assert_eq!(piece.stands(&cut), Ok(FragmentState::Missing), "{put}\n->\n{cut}");
            assert_eq!(meaning(&piece, &cut), meaning(&piece, text), "{text}\n->\n{put}\n->\n{cut}");
        }
    }
}

/// What a text says, whatever it looks like.
fn meaning(piece: &Fragment, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match piece {
        Fragment::Json { .. } | Fragment::Hook { .. } => {
            let value = super::json::read(text, &[]).unwrap();
            value.filter(|value| *value != json!({})).unwrap_or_default()
        }
        Fragment::Toml { .. } => super::toml::read(text, &[]).unwrap().unwrap_or_default(),
        Fragment::Block(_) | Fragment::Whole(_) => {
            text.replace("\r\n", "\n").trim_end().trim_start_matches("#!/bin/sh").into()
        }
    }
}

/// Every line that was there is there still, in its order and with its line end.
#[test]
fn nothing_of_the_users_is_lost() {
    for (piece, texts) in all() {
        for text in texts {
            let put = piece.put(text).unwrap();
            let mut rest = put.lines();
            let words = |line: &str| line.chars().filter(|c| !" \t\r,{}[]".contains(*c)).collect::<String>();
            for line in text.lines().map(words).filter(|line| !line.is_empty() && line.starts_with(['/', '#'])) {
                assert!(rest.any(|other| words(other).contains(&line)), "{line} is not in\n{put}");
            }
            assert_eq!(text.contains("\r\n"), put.contains("\r\n"), "{text:?} -> {put:?}");
            assert!(!text.contains("\r\n") || put.matches('\n').count() == put.matches("\r\n").count(), "{put:?}");
            assert_eq!(text.starts_with('\u{feff}'), put.starts_with('\u{feff}'));
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
        server().put(JSON[8]),
        server().put(JSON[7]),
        server().put(""),
        hook("PreToolUse", Some("Bash")).put(JSON[12]),
    ];
    assert_snapshot!("json", joined(&edited));
    assert!(server().put(JSON[9]).unwrap().contains("\r\n\t\t\"countersign\": {\r\n\t\t\t\"type\": \"stdio\",\r\n"));
}

#[test]
fn toml_keeps_its_comments_and_order() {
    let edited = [TOML[3], TOML[5], TOML[6], "", TOML[9]].map(|text| table().put(text));
    assert_snapshot!("toml", joined(&edited));
}

#[test]
fn what_the_user_has_added_stays_when_ours_changes() {
    let text = server().put("{}").unwrap().replace("\"timeout\": 120000", "\"timeout\": 5, \"env\": { \"A\": \"1\" }");
    let Ok(FragmentState::Different(what)) = server().stands(&text) else { panic!("{text}") };
    assert_eq!(what, "timeout is 5, not 120000");
    let again = server().put(&text).unwrap();
    assert_eq!(server().stands(&again), Ok(FragmentState::UpToDate));
    assert!(again.contains("\"env\": { \"A\": \"1\" }"), "{again}");

    let text = table().put("").unwrap().replace("timeout = 120", "# mine\nenv = { A = '1' }\nurl = 'http://x'");
    let again = table().put(&text).unwrap();
    assert!(again.contains("# mine\nenv = { A = '1' }") && !again.contains("url"), "{again}");
    assert_eq!(table().stands(&again), Ok(FragmentState::UpToDate));
}

#[test]
fn other_hooks_of_the_same_event_stay_in_their_place() {
    let theirs = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#;
    let put = hook("Stop", None).put(theirs).unwrap();
    let both: Value = serde_json::from_str(&put).unwrap();
    assert_eq!(both["hooks"]["Stop"][0]["hooks"][0]["command"], "a");
    assert_eq!(both["hooks"]["Stop"][1]["hooks"][0]["command"], "countersign hook stop");
    // Somebody has put theirs beside ours.
    let mixed = r#"{"hooks":{"Stop":[{"hooks":[{"command":"/x/countersign hook stop"},{"command":"b"}]}]}}"#;
    let cut = hook("Stop", None).cut(mixed, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&cut).unwrap(), json!({"hooks":{"Stop":[{"hooks":[{"command":"b"}]}]}}));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let unreadable = [
        (server(), "{\n  \"a\": 1\n  \"b\": 2\n}"),
        (server(), "{\n  \"a\": \n"),
        (server(), "{ 'a': 1 }"),
        (server(), "[]"),
        (server(), "{ \"mcpServers\": [] }"),
        (hook("Stop", None), "{ \"hooks\": { \"Stop\": {} } }"),
        (table(), "a = 1\nb = \n"),
        (table(), "mcp_servers = 1"),
        (block(Markers::MARKDOWN, BlockPosition::End), "a\n<!-- countersign: begin -->\nb\n"),
    ];
    let words: Vec<String> = unreadable.iter().map(|(piece, text)| piece.put(text).unwrap_err().to_string()).collect();
    assert_snapshot!("unreadable", words.join("\n"));
    assert_eq!(EditError::at("a\nöx", 4, "x").to_string(), "line 2, column 2: x");
}

#[test]
fn a_block_that_is_there_is_replaced_where_it_stands() {
    let text = "a\n<!-- countersign: begin -->\nold\n<!-- countersign: end -->\nb\n";
    let piece = block(Markers::MARKDOWN, BlockPosition::End);
    assert_eq!(piece.put(text).unwrap(), "a\n<!-- countersign: begin -->\none\ntwo\n<!-- countersign: end -->\nb\n");
    assert_eq!(piece.cut(text, &[]).unwrap(), "a\nb\n");
}

#[test]
fn a_diff_hides_nothing() {
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

/// A config with other servers and hooks, written in one of several ways.
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
    fn whatever_the_config_only_ours_is_added_and_the_bytes_come_back(text in config()) {
        for piece in [server(), hook("Stop", None)] {
            let put = piece.put(&text).unwrap();
            prop_assert_eq!(piece.stands(&put).unwrap(), FragmentState::UpToDate);
            prop_assert_eq!(undo(&put, &splices(&text, &put)).unwrap(), text.clone());
            let cut = piece.cut(&put, &piece.containers(&text).unwrap()).unwrap();
            prop_assert_eq!(meaning(&piece, &cut), meaning(&piece, &text));
        }
    }

    #[test]
    fn any_two_texts_lead_back_to_each_other(old in "[ab\r\n]{0,12}", new in "[ab\r\n]{0,12}") {
        prop_assert_eq!(undo(&new, &splices(&old, &new)), Some(old));
    }
}
