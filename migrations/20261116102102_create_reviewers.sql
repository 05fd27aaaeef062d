-- Reviewer processes, and their events in the one log: a follower of the log needs one sequence, not two. So an
-- event may be about no review; SQLite cannot drop a NOT NULL, and the table is made anew.

CREATE TABLE events_new (
    seq        INTEGER NOT NULL PRIMARY KEY,
    -- null: about the pool of reviewers
    review     INTEGER REFERENCES reviews (number),
    version    INTEGER,
    kind       TEXT    NOT NULL,
    actor      TEXT,
    -- the review after the command that caused this
    status     TEXT,
    round      INTEGER,
    generation INTEGER,
    at_ms      INTEGER NOT NULL,
    tick       INTEGER NOT NULL,
    payload    TEXT    NOT NULL CHECK (json_valid(payload)),
    UNIQUE (review, version),
    CONSTRAINT an_event_of_a_review_is_whole CHECK ((review IS NULL) = (version IS NULL)
                                                AND (review IS NULL) = (status IS NULL)
                                                AND (review IS NULL) = (round IS NULL)
                                                AND (review IS NULL) = (generation IS NULL))
) STRICT;

INSERT INTO events_new SELECT * FROM events;
DROP TABLE events;
ALTER TABLE events_new RENAME TO events;

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE reviewers (
    -- codex-r1-a7f3b2e1
    id                TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    -- codex-r1
    name              TEXT    NOT NULL,
    runtime           TEXT    NOT NULL,
    project           TEXT,
    why               TEXT    NOT NULL,
    -- which process of which boot; a pid alone may be somebody else's by now
    pid               INTEGER NOT NULL,
    pid_started       INTEGER NOT NULL,
    boot_id           TEXT    NOT NULL,
    spawned_at_ms     INTEGER NOT NULL,
    -- null while its end is not known
    ended_at_ms       INTEGER,
    exit              TEXT,
    last_words        TEXT CHECK (last_words IS NULL OR json_valid(last_words)),
    approvals         INTEGER NOT NULL DEFAULT 0,
    rejections        INTEGER NOT NULL DEFAULT 0,
    changes_requested INTEGER NOT NULL DEFAULT 0,
    comments          INTEGER NOT NULL DEFAULT 0,
    -- from claim to vote, all of them
    reviewing_ms      INTEGER NOT NULL DEFAULT 0,
    input_tokens      INTEGER,
    output_tokens     INTEGER,
    cost_usd          REAL,
    CONSTRAINT an_end_is_whole CHECK ((ended_at_ms IS NULL) = (exit IS NULL))
) STRICT;

CREATE INDEX reviewers_running ON reviewers (id) WHERE ended_at_ms IS NULL;
CREATE INDEX reviewers_by_end ON reviewers (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
