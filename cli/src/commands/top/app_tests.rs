use super::{Action, App, Mode, Pane, Purpose, ShownContent};
use crate::commands::top::{
    BrokerState,
    fixtures::{claimed, pool, review},
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

fn app() -> App {
    let reviews = vec![review("R-2", "pending", "one", None), review("R-1", "pending", "two", None)];
    let pool = Some(pool(json!({ "reviewer_id": "codex-r1-a7f3", "name": "codex-r1", "state": "idle" })));
    App::new(BrokerState { reviews, pool, actors: vec!["broker".into(), "└─ store".into()] })
}

fn press(app: &mut App, keys: &str) -> Option<Action> {
    let code = |key: char| match key {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\u{1b}' => KeyCode::Esc,
        other => KeyCode::Char(other),
    };
    let mut last = None;
    for key in keys.chars() {
        last = app.on_key(KeyEvent::new(code(key), KeyModifiers::NONE));
    }
    last
}

fn shown() -> ShownContent {
    ShownContent { review: "R-1".into(), content_hash: "abc".into() }
}

#[test]
fn a_verdict_is_given_beside_the_diff() {
    let mut app = app();
    assert_eq!(press(&mut app, "ja"), Some(Action::Open("R-1".into())));
    assert_eq!(press(&mut app, "x"), Some(Action::Open("R-1".into())));
    app.open(shown(), "+ zwei");
    assert_eq!(press(&mut app, "a"), None);
    assert!(matches!(&app.mode, Mode::Confirm { question, .. } if question == "Approve R-1? y/n"));
    assert_eq!(press(&mut app, "y"), Some(Action::Approve(shown())));
    app.open(shown(), "+ zwei");
    assert_eq!(press(&mut app, "a\u{1b}"), None);
    assert_eq!((&app.mode, app.message.as_str()), (&Mode::Browse, "not confirmed"));
    app.open(shown(), "+ zwei");
    assert_eq!(press(&mut app, "x"), Some(Action::Compose(Purpose::RequestChanges(shown()))));
}

#[test]
fn a_text_is_sent_or_kept() {
    let mut app = app();
    let comment = || Purpose::Comment("R-2".into());
    assert_eq!(press(&mut app, "c"), Some(Action::Compose(comment())));
    let compose = |text: &str| Mode::Compose { purpose: comment(), text: text.into() };
    app.mode = compose("so ");
    assert_eq!(press(&mut app, "why q?\n"), Some(Action::Send(comment(), "so why q?".into())));
    app.mode = compose("");
    assert_eq!(press(&mut app, "  \n"), None, "an empty one is not sent");
    app.mode = compose("");
    assert_eq!(press(&mut app, "hm\u{1b}"), Some(Action::Keep("hm".into())));
}

#[test]
fn keys_act_on_the_selected_pane() {
    let mut app = app();
    assert_eq!(press(&mut app, "K"), None, "no reviewer is selected");
    assert!(app.message.contains("Tab"), "{}", app.message);
    assert_eq!(press(&mut app, "\tKy"), Some(Action::Kill("codex-r1-a7f3".into())));
    assert_eq!(press(&mut app, "a"), None, "no review is selected");
    app.add_events([claimed("R-9", 4)]);
    assert_eq!(press(&mut app, "\t\n"), Some(Action::Open("R-9".into())), "an event leads to its review");
    assert_eq!((app.pane, press(&mut app, "\t\t")), (Pane::Events, None));
    assert_eq!(app.pane, Pane::Reviews);
    assert_eq!(press(&mut app, "q"), Some(Action::Quit));
}

#[test]
fn the_selection_stays_within_the_list() {
    let mut app = app();
    press(&mut app, "jjjjj");
    assert_eq!(app.selected(Pane::Reviews), 1);
    app.update(BrokerState::default());
    assert_eq!(app.selected(Pane::Reviews), 0);
    assert_eq!(press(&mut app, "\n"), None);
    app.open(shown(), "one\ntwo\u{1b}[2J\n");
    assert!(matches!(&app.mode, Mode::Detail { lines, .. } if lines.len() == 2 && !lines[1].contains('\u{1b}')));
    for close in ["jjjjq", "\u{1b}"] {
        app.open(shown(), "one\ntwo\n");
        assert_eq!((press(&mut app, close), &app.mode), (None, &Mode::Browse), "{close:?}");
    }
}
