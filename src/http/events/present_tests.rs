use super::{ITEMS, TEXT_CHARS, clipped, frame, names};

#[test]
fn long_texts_are_cut_between_characters() {
    let long = "ä".repeat(TEXT_CHARS + 1);
    let cut = clipped(&long);
    assert_eq!(cut.chars().count(), TEXT_CHARS + 1);
    assert!(cut.ends_with("ä…"));
    assert_eq!(clipped(&"ä".repeat(TEXT_CHARS)), "ä".repeat(TEXT_CHARS));
    assert_eq!(names(&vec!["x".to_owned(); ITEMS + 5]).len(), ITEMS);
}

#[test]
fn a_server_sent_event_is_one_frame() {
    assert_eq!(frame(Some(7), "activity", "{}"), "id: 7\nevent: activity\ndata: {}\n\n");
    assert_eq!(frame(None, "dropped", "{}"), "event: dropped\ndata: {}\n\n");
}
