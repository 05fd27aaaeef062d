//! Encodes events as JSON for subscribers and webhooks, each event once.

use api::events::{Event, EventData};
use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use domain::{
    event_kind::{EventKind, Topic},
    ids::ReviewNumber,
    text::ellipsize,
};
use store::{EventRecord, LogEntry};

/// Most characters of an actor's name.
const MAX_ACTOR_CHARS: usize = 501;

/// The fields of an event that filters test.
#[derive(Debug)]
pub(crate) struct EventTags {
    pub(super) topic: Topic,
    pub(super) also: Option<Topic>,
    pub(super) kind: EventKind,
    pub(super) review: Option<ReviewNumber>,
    /// `None`: the project is unknown.
    pub(super) project: Option<Option<String>>,
}

impl EventTags {
    pub(super) fn new(record: &EventRecord) -> Self {
        let review = record.review().map(|(_, number, _)| number);
        Self {
            topic: record.topic(),
            also: record.also(),
            kind: record.kind(),
            review,
            project: record.project.clone(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) seq: u64,
    pub(crate) tags: EventTags,
    pub(crate) json: Utf8Bytes,
    /// The JSON as a server-sent event.
    pub(crate) sse: Bytes,
}

impl EncodedEvent {
    pub(crate) fn new(record: &EventRecord) -> Self {
        let (seq, tags) = (record.seq, EventTags::new(record));
        let json = serde_json::to_string(&to_event(record)).unwrap_or_default();
        let sse = encode_frame(Some(seq), tags.topic.as_str(), &json);
        Self { seq, tags, json: json.into(), sse }
    }
}

/// The wire form of a record of the log.
pub(crate) fn to_event(record: &EventRecord) -> Event {
    let review = record.review();
    Event {
        seq: record.seq,
        at: record.at.into(),
        topic: record.topic(),
        also: record.also(),
        review_id: review.map(|(id, ..)| id),
        number: review.map(|(_, number, _)| number),
        project: record.project.clone().flatten(),
        actor: record.actor.as_deref().map(|actor| ellipsize(actor, MAX_ACTOR_CHARS).into_owned()),
        status: record.status,
        round: record.round,
        waiting_on: record.waiting_on.clone(),
        version: review.map(|(.., version)| version),
        data: match &record.entry {
            LogEntry::Review { recorded, .. } => EventData::from(&recorded.event),
            LogEntry::Pool(event) => EventData::from(event),
        },
    }
}

/// A frame of a server-sent event. JSON contains no bare line breaks, so it is one line of data.
pub(crate) fn encode_frame(seq: Option<u64>, name: &str, json: &str) -> Bytes {
    let id = seq.map(|seq| format!("id: {seq}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {json}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::encode_frame;

    #[test]
    fn a_server_sent_event_is_one_frame() {
        assert_eq!(encode_frame(Some(7), "activity", "{}"), "id: 7\nevent: activity\ndata: {}\n\n");
        assert_eq!(encode_frame(None, "dropped", "{}"), "event: dropped\ndata: {}\n\n");
    }
}
