use super::{Action, App, Mode, Pane};
use crate::cli::top::data::BrokerState;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

fn app() -> App {
    let reviews = vec![json!({ "number": "R-2" }), json!({ "number": "R-1" })];
    let pool = json!({ "reviewers": [{ "reviewer_id": "codex-r1-a7f3" }] });
    App::new(BrokerState { reviews, pool, actors: "broker\n└─ store\n".into() })
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

#[test]
fn an_approval_takes_two_keys() {
    let mut app = app();
    assert_eq!(press(&mut app, "ja"), None);
    assert!(matches!(&app.mode, Mode::Confirm { question, .. } if question == "Sign R-1 as it stands? y/n"));
    assert_eq!(press(&mut app, "y"), Some(Action::Approve("R-1".into())));
    assert_eq!(press(&mut app, "an"), None);
    assert_eq!((&app.mode, app.words.as_str()), (&Mode::Browse, "left as it was"));
}

#[test]
fn a_comment_is_written_and_sent_or_dropped() {
    let mut app = app();
    assert_eq!(press(&mut app, "cwhy q?\n"), Some(Action::Comment("R-2".into(), "why q?".into())));
    assert_eq!(press(&mut app, "c  \n"), None, "an empty one is not sent");
    assert_eq!(press(&mut app, "chm\u{1b}"), None);
    assert_eq!(app.words, "nothing was sent");
}

#[test]
fn keys_act_on_what_the_chosen_pane_holds() {
    let mut app = app();
    assert_eq!(press(&mut app, "K"), None, "no reviewer is chosen");
    assert!(app.words.contains("Tab"), "{}", app.words);
    assert_eq!(press(&mut app, "\tKy"), Some(Action::Kill("codex-r1-a7f3".into())));
    assert_eq!(press(&mut app, "a"), None, "no review is chosen");
    app.hear([json!({ "number": "R-9", "seq": 4 })].into_iter());
    assert_eq!(press(&mut app, "\t\n"), Some(Action::Open("R-9".into())), "an event leads to its review");
    assert_eq!((app.pane, press(&mut app, "\t\t")), (Pane::Events, None));
    assert_eq!(app.pane, Pane::Reviews);
    assert_eq!(press(&mut app, "q"), Some(Action::Quit));
}

#[test]
fn what_is_chosen_stays_within_what_is_there() {
    let mut app = app();
    press(&mut app, "jjjjj");
    assert_eq!(app.chosen(Pane::Reviews), 1);
    app.take(BrokerState::default());
    assert_eq!(app.chosen(Pane::Reviews), 0);
    assert_eq!(press(&mut app, "\n"), None);
    app.open("R-1", "one\ntwo\u{1b}[2J\n");
    assert!(matches!(&app.mode, Mode::Detail { lines, .. } if lines.len() == 2 && !lines[1].contains('\u{1b}')));
    assert_eq!(press(&mut app, "jjjjq"), None);
    assert_eq!(app.mode, Mode::Browse);
}
