use super::draw;
use crate::commands::top::{
    BrokerState,
    app::App,
    fixtures::{claimed, pool, review},
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};
use serde_json::json;

fn app() -> App {
    let reviews = vec![
        review("R-3", "changes_requested", "Sandbox reads", None),
        review("R-12", "claimed", "say it in German\u{1b}[2J", Some("second-mind")),
    ];
    let reviewer = json!({ "reviewer_id": "codex-r1-a7f3", "name": "codex-r1", "state": "busy", "reviews": ["R-12"],
                           "completed": 4, "cost_usd": 0.5 });
    let actors = vec!["broker".to_owned(), "└─ store".to_owned()];
    let mut app = App::new(BrokerState { reviews, pool: Some(pool(reviewer)), actors });
    app.add_events([claimed("R-12", 41)]);
    app
}

fn drawn(app: &App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, frame)).unwrap();
    let text = terminal.backend().to_string();
    assert!(!text.contains('\u{1b}'));
    text
}

#[test]
fn a_wide_screen_shows_all_panes() {
    insta::assert_snapshot!(drawn(&app(), 110, 18));
}

#[test]
fn a_narrow_screen_shows_the_selected_pane() {
    let mut app = app();
    insta::assert_snapshot!("narrow_reviews", drawn(&app, 60, 14));
    app.on_key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
    insta::assert_snapshot!("narrow_reviewers", drawn(&app, 60, 14));
    app.on_key(KeyEvent::new(KeyCode::Char('?'), KeyModifiers::NONE));
    insta::assert_snapshot!("narrow_help", drawn(&app, 60, 20));
}
