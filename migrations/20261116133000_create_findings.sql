-- What reviewers find, one row for each. The body is the finding as the rules know it; what rows are looked for by is
-- read from it, so that the two cannot disagree.

CREATE TABLE findings (
    number        INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    review        INTEGER NOT NULL REFERENCES reviews (number),
    -- the verdict that raised it
    verdict       INTEGER NOT NULL,
    body          TEXT    NOT NULL CHECK (json_valid(body)),
    status        TEXT    NOT NULL GENERATED ALWAYS AS (body ->> '$.status') VIRTUAL
                  CHECK (status = 'open' OR status = 'fixed' OR status = 'wont_fix' OR status = 'duplicate'),
    severity      TEXT    NOT NULL GENERATED ALWAYS AS (body ->> '$.found.severity') VIRTUAL
                  CHECK (severity = 'critical' OR severity = 'high' OR severity = 'medium' OR severity = 'low'),
    is_issue      INTEGER NOT NULL GENERATED ALWAYS AS (body ->> '$.found.is_issue') VIRTUAL CHECK (is_issue IN (0, 1)),
    round         INTEGER NOT NULL GENERATED ALWAYS AS (body ->> '$.round') VIRTUAL CHECK (round > 0),
    persona       TEXT    NOT NULL GENERATED ALWAYS AS (body ->> '$.persona') VIRTUAL,
    -- as it was raised
    file          TEXT    GENERATED ALWAYS AS (body ->> '$.found.place.file') VIRTUAL,
    updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX findings_by_review ON findings (review, number);
CREATE INDEX findings_by_status ON findings (status, severity, number);
CREATE INDEX findings_by_file ON findings (file, number) WHERE file IS NOT NULL;

-- What a seat last voted on, and that a reviewer has given it up.
ALTER TABLE seats ADD COLUMN reviewed_round INTEGER;
ALTER TABLE seats ADD COLUMN reviewed_hash TEXT;
ALTER TABLE seats ADD COLUMN gave_up TEXT;

UPDATE seats SET (reviewed_round, reviewed_hash) =
    (SELECT v.round, v.content_hash FROM verdicts v
     WHERE v.review = seats.review AND v.persona = seats.persona AND v.verdict <> 'comment'
     ORDER BY v.id DESC LIMIT 1);

-- Why a person is asked; there was one reason until now.
ALTER TABLE reviews ADD COLUMN escalated_for TEXT
    CHECK (escalated_for = 'max_rounds' OR escalated_for = 'max_minutes' OR escalated_for = 'max_cost_usd'
           OR escalated_for = 'oscillating_findings');
UPDATE reviews SET escalated_for = 'max_rounds' WHERE escalated = 1;
ALTER TABLE reviews DROP COLUMN escalated;

-- In millionths of a dollar.
ALTER TABLE reviews ADD COLUMN cost INTEGER NOT NULL DEFAULT 0 CHECK (cost >= 0);
UPDATE reviews SET cost = coalesce(
    (SELECT sum(CAST(round(min(max(coalesce(v.metrics ->> '$.cost_usd', 0), 0), 1e6) * 1e6) AS INTEGER)) FROM verdicts v
     WHERE v.review = reviews.number), 0);
