-- A seat remembers the last message of either side, and in which round it was said, so that a repeat is known
-- after the other side has answered. Old rows get what replaying their log gives.

ALTER TABLE seats ADD COLUMN last_message_round INTEGER;
ALTER TABLE seats ADD COLUMN answered_message_id INTEGER;
ALTER TABLE seats ADD COLUMN answered_message_digest TEXT
    CONSTRAINT an_answered_message_is_whole CHECK ((answered_message_id IS NULL) = (answered_message_digest IS NULL));

UPDATE seats SET last_message_round =
    (SELECT m.round FROM messages m WHERE m.review = seats.review AND m.id = seats.last_message_id)
WHERE last_message_id IS NOT NULL;

-- A message's id is the version of its event.
UPDATE seats SET (answered_message_id, answered_message_digest) =
    (SELECT m.id, json_extract(e.payload, '$.digest')
     FROM messages m JOIN events e ON e.review = m.review AND e.version = m.id
     WHERE m.review = seats.review AND m.persona = seats.persona AND m.round = seats.last_message_round
       AND m.role <> seats.last_message_role
     ORDER BY m.id DESC LIMIT 1)
WHERE last_message_id IS NOT NULL;
