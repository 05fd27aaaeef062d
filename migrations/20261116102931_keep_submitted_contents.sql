-- What a round was submitted with, where an accepted counter-patch has replaced it; null: nothing has. Old rows
-- get it from the log.

ALTER TABLE rounds ADD COLUMN submitted_hash TEXT REFERENCES contents (hash);

UPDATE rounds SET submitted_hash =
    (SELECT json_extract(e.payload, '$.round.content_hash') FROM events e
     WHERE e.review = rounds.review AND (e.kind = 'proposed' OR e.kind = 'revised')
       AND json_extract(e.payload, '$.round.number') = rounds.round)
WHERE EXISTS (SELECT 1 FROM counter_patches p
              WHERE p.review = rounds.review AND p.round = rounds.round AND p.status = 'accepted');
