-- A review is written in three ways in one transaction: its event (the truth), its snapshot (the
-- rows below, what an actor is rebuilt from), and the texts, kept once under their hash.
--
-- CHECKs spell out `a = 'x' OR a = 'y' …`: for an IN list of three or more SQLite builds a temporary table on
-- every write, which took half of the writer's time.

CREATE TABLE contents (
    hash        TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    intent      TEXT NOT NULL CHECK (intent <> ''),
    description TEXT,
    diff        TEXT,
    base_commit TEXT,
    files       TEXT NOT NULL CHECK (json_valid(files)),
    flags       TEXT NOT NULL CHECK (json_valid(flags)),
    diff_note   TEXT
) STRICT;

CREATE TABLE reviews (
    number           INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    id               TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    version          INTEGER NOT NULL CHECK (version > 0),
    status           TEXT    NOT NULL CHECK (status = 'pending' OR status = 'claimed' OR status = 'in_review'
                                             OR status = 'changes_requested' OR status = 'approved'
                                             OR status = 'rejected' OR status = 'cancelled'
                                             OR status = 'closed'),
    priority         INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    category         TEXT CHECK (category = 'plan_review' OR category = 'code_change'
                                 OR category = 'verification' OR category = 'handoff'),
    agent_type       TEXT    NOT NULL,
    agent_role       TEXT    NOT NULL,
    phase            TEXT    NOT NULL,
    plan             TEXT,
    task             TEXT,
    project          TEXT,
    proposer_id      TEXT,
    round            INTEGER NOT NULL CHECK (round > 0),
    intent           TEXT    NOT NULL,
    content_hash     TEXT    NOT NULL REFERENCES contents (hash),
    base_commit      TEXT,
    patch_id         TEXT,
    tree_id          TEXT,
    -- null: no diff
    diff_check       TEXT CHECK (diff_check = 'skipped' OR diff_check = 'applies' OR diff_check = 'fails'
                                 OR diff_check = 'unknown'),
    applies_to       TEXT CHECK (applies_to IN ('base', 'worktree')),
    check_words      TEXT,
    request_key      TEXT,
    returned         INTEGER NOT NULL CHECK (returned IN (0, 1)),
    policy           TEXT    NOT NULL CHECK (json_valid(policy)),
    claim_generation INTEGER NOT NULL CHECK (claim_generation >= 0),
    verdict          TEXT CHECK (verdict = 'approved' OR verdict = 'changes_requested' OR verdict = 'comment'
                                 OR verdict = 'rejected'),
    verdict_reason   TEXT,
    verdict_by       TEXT,
    approved_hash    TEXT,
    escalated        INTEGER NOT NULL CHECK (escalated IN (0, 1)),
    cancel_reason    TEXT,
    -- the event that last made it claimable for somebody
    queued_seq       INTEGER NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    updated_at_ms    INTEGER NOT NULL,
    CONSTRAINT approval_is_for_the_active_content CHECK (status <> 'approved' OR approved_hash = content_hash),
    CONSTRAINT verdict_has_an_author CHECK ((verdict IS NULL) = (verdict_by IS NULL)),
    CONSTRAINT applies_to_something CHECK ((diff_check = 'applies') = (applies_to IS NOT NULL))
) STRICT;

-- The queue, by itself and within a project or category: entered and left once per claim.
CREATE INDEX reviews_queue ON reviews (priority, number) WHERE status = 'pending';
CREATE INDEX reviews_queue_by_project ON reviews (project, priority, number) WHERE status = 'pending';
CREATE INDEX reviews_queue_by_category ON reviews (category, priority, number)
    WHERE status = 'pending' AND category IS NOT NULL;
CREATE INDEX reviews_queue_news ON reviews (queued_seq) WHERE status = 'pending';
-- Everything else, newest first. Status is the only indexed column that changes, so it stands in one of
-- them only.
CREATE INDEX reviews_by_status ON reviews (status, number);
CREATE INDEX reviews_by_project ON reviews (project, number);
CREATE INDEX reviews_by_category ON reviews (category, number) WHERE category IS NOT NULL;

CREATE TABLE rounds (
    review          INTEGER NOT NULL REFERENCES reviews (number),
    round           INTEGER NOT NULL CHECK (round > 0),
    content_hash    TEXT    NOT NULL REFERENCES contents (hash),
    submitted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (review, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE seats (
    review                  INTEGER NOT NULL REFERENCES reviews (number),
    position                INTEGER NOT NULL CHECK (position >= 0),
    persona                 TEXT    NOT NULL CHECK (persona <> ''),
    claimed_by              TEXT,
    claim_generation        INTEGER,
    claimed_at_ms           INTEGER,
    lease_ends_tick         INTEGER,
    vote                    TEXT CHECK (vote = 'approved' OR vote = 'changes_requested' OR vote = 'rejected'),
    reserved_for            TEXT,
    reserved_until_tick     INTEGER,
    patch_id                INTEGER,
    patch_by                TEXT,
    last_message_id         INTEGER,
    last_message_role       TEXT CHECK (last_message_role IN ('proposer', 'reviewer')),
    last_message_digest     TEXT,
    last_verdict            TEXT CHECK (last_verdict = 'approved' OR last_verdict = 'changes_requested'
                                        OR last_verdict = 'comment' OR last_verdict = 'rejected'),
    last_verdict_generation INTEGER,
    last_verdict_digest     TEXT,
    PRIMARY KEY (review, position),
    CONSTRAINT a_claim_is_whole CHECK ((claimed_by IS NULL) = (claim_generation IS NULL)
                                   AND (claimed_by IS NULL) = (claimed_at_ms IS NULL)
                                   AND (claimed_by IS NOT NULL OR lease_ends_tick IS NULL)),
    CONSTRAINT a_reservation_is_whole CHECK ((reserved_for IS NULL) = (reserved_until_tick IS NULL)),
    CONSTRAINT a_patch_is_whole CHECK ((patch_id IS NULL) = (patch_by IS NULL))
) STRICT, WITHOUT ROWID;

-- What runs out next, for the first look after a start.
CREATE INDEX seats_by_lease ON seats (lease_ends_tick) WHERE lease_ends_tick IS NOT NULL;
CREATE INDEX seats_by_reservation ON seats (reserved_until_tick) WHERE reserved_until_tick IS NOT NULL;

CREATE TABLE verdicts (
    review       INTEGER NOT NULL REFERENCES reviews (number),
    id           INTEGER NOT NULL,
    round        INTEGER NOT NULL,
    persona      TEXT    NOT NULL,
    reviewer     TEXT    NOT NULL,
    generation   INTEGER NOT NULL,
    verdict      TEXT    NOT NULL CHECK (verdict = 'approved' OR verdict = 'changes_requested'
                                         OR verdict = 'comment' OR verdict = 'rejected'),
    reason       TEXT,
    summary      TEXT,
    metrics      TEXT CHECK (metrics IS NULL OR json_valid(metrics)),
    content_hash TEXT    NOT NULL,
    at_ms        INTEGER NOT NULL,
    PRIMARY KEY (review, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    review   INTEGER NOT NULL REFERENCES reviews (number),
    id       INTEGER NOT NULL,
    round    INTEGER NOT NULL,
    persona  TEXT    NOT NULL,
    role     TEXT    NOT NULL CHECK (role IN ('proposer', 'reviewer')),
    sender   TEXT,
    body     TEXT    NOT NULL,
    metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (review, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter_patches (
    review   INTEGER NOT NULL REFERENCES reviews (number),
    id       INTEGER NOT NULL,
    round    INTEGER NOT NULL,
    persona  TEXT    NOT NULL,
    reviewer TEXT    NOT NULL,
    diff     TEXT    NOT NULL,
    -- dropped: a revision or the end of the review made it pointless
    status   TEXT    NOT NULL CHECK (status = 'pending' OR status = 'accepted' OR status = 'rejected'
                                     OR status = 'dropped'),
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (review, id)
) STRICT;

CREATE INDEX counter_patches_pending ON counter_patches (review) WHERE status = 'pending';

CREATE TABLE events (
    seq        INTEGER NOT NULL PRIMARY KEY,
    review     INTEGER NOT NULL REFERENCES reviews (number),
    version    INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    actor      TEXT,
    -- the review after the command that caused this
    status     TEXT    NOT NULL,
    round      INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    tick       INTEGER NOT NULL,
    payload    TEXT    NOT NULL CHECK (json_valid(payload)),
    UNIQUE (review, version)
) STRICT;

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- Where the broker's own timeline stands in relation to each boot of the machine.
CREATE TABLE boots (
    boot_id        TEXT    NOT NULL PRIMARY KEY,
    offset_ms      INTEGER NOT NULL,
    first_seen_ms  INTEGER NOT NULL
) STRICT;
