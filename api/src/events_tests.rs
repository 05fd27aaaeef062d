use super::{Event, EventData, MAX_ITEMS, TEXT_CHARS, shorten, shorten_all};
use domain::{event_kind::Topic, ids::ReviewNumber, review::Status, reviewer_pool::PoolEvent};
use serde_json::json;

fn event(data: EventData) -> Event {
    Event {
        seq: 7,
        at: jiff::Timestamp::UNIX_EPOCH,
        topic: Topic::ReviewUpdated,
        also: None,
        review_id: None,
        number: Some(ReviewNumber(1)),
        project: None,
        actor: Some("ada".into()),
        status: Some(Status::Pending),
        round: Some(2),
        version: Some(3),
        waiting_on: Vec::new(),
        data,
    }
}

#[test]
fn long_texts_are_cut_between_characters() {
    let long = "ä".repeat(TEXT_CHARS + 2);
    let cut = shorten(&long);
    assert_eq!(cut.chars().count(), TEXT_CHARS + 1);
    assert!(cut.ends_with("ä…"));
    assert_eq!(shorten(&"ä".repeat(TEXT_CHARS)), "ä".repeat(TEXT_CHARS));
    assert_eq!(shorten_all(&vec!["x".to_owned(); MAX_ITEMS + 5]).len(), MAX_ITEMS);
}

#[test]
fn an_event_is_read_back_as_it_was_written() {
    let cleared = EventData::from(&PoolEvent::CrashLoopCleared { project: None, by: None });
    for data in [EventData::Revised { intent: "better".into(), change_note: None }, cleared] {
        let event = event(data);
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["kind"], event.kind());
        assert_eq!(json["type"], "review_updated");
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
    }
    let json = serde_json::to_value(event(EventData::CrashLoopCleared { by: None })).unwrap();
    assert_eq!((&json["data"], &json["review_id"]), (&json!({ "by": null }), &json!(null)));
}

#[test]
fn a_summary_and_a_preview_stay_on_one_line() {
    let event = event(EventData::Revised { intent: format!("two\nlines {}", "x".repeat(300)), change_note: None });
    assert_eq!(event.summary(), "ada revised R-1: round 2");
    let preview = event.preview().unwrap();
    assert!(
        preview.starts_with("two\\nlines") && preview.ends_with('…') && preview.chars().count() == 201,
        "{preview}"
    );
}
