-- One transaction writes a review in three forms: its events (the truth), its snapshot (the rows from which an actor is
-- rebuilt), and its texts, stored once under their hash. The constraints repeat the rules of the domain.
--
-- CHECKs spell out `a = 'x' OR a = 'y' …`: for an IN list of three or more SQLite builds a temporary table on every
-- write, which took half of the writer's time.

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
    number               INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    id                   TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    version              INTEGER NOT NULL CHECK (version > 0),
    status               TEXT    NOT NULL CHECK (status = 'pending' OR status = 'claimed' OR status = 'in_review'
                                                 OR status = 'changes_requested' OR status = 'approved'
                                                 OR status = 'rejected' OR status = 'cancelled'
                                                 OR status = 'closed'),
    priority             INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    category             TEXT CHECK (category = 'plan_review' OR category = 'code_change'
                                     OR category = 'verification' OR category = 'handoff'),
    agent_type           TEXT    NOT NULL,
    agent_role           TEXT    NOT NULL,
    phase                TEXT    NOT NULL,
    plan                 TEXT,
    task                 TEXT,
    project              TEXT,
    proposer_id          TEXT,
    round                INTEGER NOT NULL CHECK (round > 0),
    intent               TEXT    NOT NULL,
    content_hash         TEXT    NOT NULL REFERENCES contents (hash),
    base_commit          TEXT,
    patch_id             TEXT,
    tree_id              TEXT,
    -- the branch, commit or range that the active diff was taken from, with its commits; null: a diff was given
    target               TEXT CONSTRAINT target_is_json CHECK (target IS NULL OR json_valid(target)),
    -- null: no diff
    diff_check           TEXT CHECK (diff_check = 'skipped' OR diff_check = 'applies' OR diff_check = 'fails'
                                     OR diff_check = 'unknown'),
    applies_to           TEXT CHECK (applies_to IN ('base', 'worktree')),
    check_message        TEXT,
    request_key          TEXT,
    returned             INTEGER NOT NULL CHECK (returned IN (0, 1)),
    policy               TEXT    NOT NULL CHECK (json_valid(policy)),
    claim_generation     INTEGER NOT NULL CHECK (claim_generation >= 0),
    -- seats that a reviewer can claim
    free_seats           INTEGER NOT NULL DEFAULT 0
                         CONSTRAINT seats_are_free_while_it_is_open CHECK (free_seats >= 0 AND (free_seats = 0
                                                                           OR status = 'pending' OR status = 'claimed'
                                                                           OR status = 'in_review')),
    verdict              TEXT CHECK (verdict = 'approved' OR verdict = 'changes_requested' OR verdict = 'comment'
                                     OR verdict = 'rejected'),
    verdict_reason       TEXT,
    verdict_by           TEXT,
    approved_hash        TEXT,
    escalated_for        TEXT CHECK (escalated_for = 'max_rounds' OR escalated_for = 'max_minutes'
                                     OR escalated_for = 'max_cost_usd' OR escalated_for = 'oscillating_findings'),
    -- in millionths of a dollar
    cost                 INTEGER NOT NULL DEFAULT 0 CHECK (cost >= 0),
    cancel_reason        TEXT,
    -- the event that last made a seat claimable
    queued_seq           INTEGER NOT NULL,
    created_at_ms        INTEGER NOT NULL,
    updated_at_ms        INTEGER NOT NULL,
    -- For statistics, so that they read one row per review and not its log. The columns `<status>_ms` hold the time spent
    -- in past stays; the current stay began at `updated_at_ms`. Only closing ends `rejected` and `cancelled`.
    first_claimed_at_ms  INTEGER,
    first_verdict_at_ms  INTEGER,
    decided_at_ms        INTEGER,
    closed_at_ms         INTEGER,
    pending_ms           INTEGER NOT NULL DEFAULT 0,
    claimed_ms           INTEGER NOT NULL DEFAULT 0,
    in_review_ms         INTEGER NOT NULL DEFAULT 0,
    changes_requested_ms INTEGER NOT NULL DEFAULT 0,
    approved_ms          INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT approval_is_for_the_active_content CHECK (status <> 'approved' OR approved_hash = content_hash),
    CONSTRAINT verdict_has_an_author CHECK ((verdict IS NULL) = (verdict_by IS NULL)),
    CONSTRAINT applies_to_something CHECK ((diff_check = 'applies') = (applies_to IS NOT NULL))
) STRICT;

-- The queue: all reviews with a free seat, pending or started by other reviewers.
CREATE INDEX reviews_queue ON reviews (status, priority, number) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_project ON reviews (project, status, priority, number, free_seats) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_category ON reviews (category, status, priority, number)
    WHERE free_seats > 0 AND category IS NOT NULL;
CREATE INDEX reviews_queue_news ON reviews (queued_seq) WHERE free_seats > 0;
-- All other lists, newest first. Status is the only indexed column that changes, so only one index contains it.
CREATE INDEX reviews_by_status ON reviews (status, number);
CREATE INDEX reviews_by_project ON reviews (project, number);
CREATE INDEX reviews_by_category ON reviews (category, number) WHERE category IS NOT NULL;
-- How a gate finds approvals. Only approved reviews are in these indexes, so the writer updates them only when a review
-- is approved or closed.
CREATE INDEX reviews_approved_by_patch ON reviews (patch_id) WHERE approved_hash IS NOT NULL;
CREATE INDEX reviews_approved_by_tree ON reviews (tree_id) WHERE approved_hash IS NOT NULL;

CREATE TABLE rounds (
    review          INTEGER NOT NULL REFERENCES reviews (number),
    round           INTEGER NOT NULL CHECK (round > 0),
    content_hash    TEXT    NOT NULL REFERENCES contents (hash),
    -- the submitted content, if an accepted counter-patch has replaced it
    submitted_hash  TEXT REFERENCES contents (hash),
    submitted_at_ms INTEGER NOT NULL,
    -- the branch, commit or range that the submitted diff was taken from
    target          TEXT CONSTRAINT target_is_json CHECK (target IS NULL OR json_valid(target)),
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
    -- the last message of either side, so that a repeat is recognised after the other side has answered
    last_message_id         INTEGER,
    last_message_role       TEXT CHECK (last_message_role IN ('proposer', 'reviewer')),
    last_message_round      INTEGER,
    last_message_digest     TEXT,
    answered_message_id     INTEGER,
    answered_message_digest TEXT
                            CONSTRAINT an_answered_message_is_whole CHECK ((answered_message_id IS NULL)
                                                                         = (answered_message_digest IS NULL)),
    last_verdict            TEXT CHECK (last_verdict = 'approved' OR last_verdict = 'changes_requested'
                                        OR last_verdict = 'comment' OR last_verdict = 'rejected'),
    last_verdict_generation INTEGER,
    last_verdict_digest     TEXT,
    -- what the seat last voted on
    reviewed_round          INTEGER,
    reviewed_hash           TEXT,
    -- why a one-shot reviewer gave the seat up
    gave_up                 TEXT,
    PRIMARY KEY (review, position),
    CONSTRAINT a_claim_is_whole CHECK ((claimed_by IS NULL) = (claim_generation IS NULL)
                                   AND (claimed_by IS NULL) = (claimed_at_ms IS NULL)
                                   AND (claimed_by IS NOT NULL OR lease_ends_tick IS NULL)),
    CONSTRAINT a_reservation_is_whole CHECK ((reserved_for IS NULL) = (reserved_until_tick IS NULL)),
    CONSTRAINT a_patch_is_whole CHECK ((patch_id IS NULL) = (patch_by IS NULL))
) STRICT, WITHOUT ROWID;

-- The next deadlines, for the first look after a start.
CREATE INDEX seats_by_lease ON seats (lease_ends_tick) WHERE lease_ends_tick IS NOT NULL;
CREATE INDEX seats_by_reservation ON seats (reserved_until_tick) WHERE reserved_until_tick IS NOT NULL;

CREATE TABLE verdicts (
    review        INTEGER NOT NULL REFERENCES reviews (number),
    id            INTEGER NOT NULL,
    round         INTEGER NOT NULL,
    persona       TEXT    NOT NULL,
    reviewer      TEXT    NOT NULL,
    generation    INTEGER NOT NULL,
    verdict       TEXT    NOT NULL CHECK (verdict = 'approved' OR verdict = 'changes_requested'
                                          OR verdict = 'comment' OR verdict = 'rejected'),
    reason        TEXT,
    summary       TEXT,
    metrics       TEXT CHECK (metrics IS NULL OR json_valid(metrics)),
    content_hash  TEXT    NOT NULL,
    -- when the seat was claimed
    claimed_at_ms INTEGER,
    at_ms         INTEGER NOT NULL,
    PRIMARY KEY (review, id)
) STRICT, WITHOUT ROWID;

-- One row per finding. The body is the finding as the domain knows it. The columns that queries filter by are generated
-- from it, so that the two cannot disagree.
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
    -- the file it was raised in
    file          TEXT    GENERATED ALWAYS AS (body ->> '$.found.location.file') VIRTUAL,
    updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX findings_by_review ON findings (review, number);
CREATE INDEX findings_by_status ON findings (status, severity, number);
CREATE INDEX findings_by_file ON findings (file, number) WHERE file IS NOT NULL;

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

-- The log of reviews and of the reviewer pool. Both share one sequence, so that a follower needs one cursor.
CREATE TABLE events (
    seq        INTEGER NOT NULL PRIMARY KEY,
    -- null: an event of the reviewer pool
    review     INTEGER REFERENCES reviews (number),
    version    INTEGER,
    kind       TEXT    NOT NULL,
    actor      TEXT,
    -- of the review after the command that caused this
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

-- Events of the pool are few, so they can have an index by kind. For the others it would cost the writer more than the
-- event; their queries walk a bounded part of the log.
CREATE INDEX events_of_the_pool ON events (kind) WHERE review IS NULL;

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- Reviewer processes of the pool.
CREATE TABLE reviewers (
    -- codex-r1-a7f3b2e1
    id                TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    -- codex-r1
    name              TEXT    NOT NULL,
    runtime           TEXT    NOT NULL,
    project           TEXT,
    why               TEXT    NOT NULL,
    -- the seat that a one-shot reviewer was started for
    review            INTEGER REFERENCES reviews (number),
    persona           TEXT CONSTRAINT a_seat_is_of_a_review CHECK ((review IS NULL) = (persona IS NULL)),
    -- process and boot of the machine; a pid alone may belong to another process by now
    pid               INTEGER NOT NULL,
    pid_started       INTEGER NOT NULL,
    boot_id           TEXT    NOT NULL,
    spawned_at_ms     INTEGER NOT NULL,
    -- null: its end is not known
    ended_at_ms       INTEGER,
    exit              TEXT,
    last_words        TEXT CHECK (last_words IS NULL OR json_valid(last_words)),
    approvals         INTEGER NOT NULL DEFAULT 0,
    rejections        INTEGER NOT NULL DEFAULT 0,
    changes_requested INTEGER NOT NULL DEFAULT 0,
    comments          INTEGER NOT NULL DEFAULT 0,
    -- total time from claim to vote
    reviewing_ms      INTEGER NOT NULL DEFAULT 0,
    input_tokens      INTEGER,
    output_tokens     INTEGER,
    cost_usd          REAL,
    CONSTRAINT an_end_is_whole CHECK ((ended_at_ms IS NULL) = (exit IS NULL))
) STRICT;

CREATE INDEX reviewers_running ON reviewers (id) WHERE ended_at_ms IS NULL;
CREATE INDEX reviewers_by_end ON reviewers (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX reviewers_by_seat ON reviewers (review, persona) WHERE review IS NOT NULL;

-- Bearer tokens made by an operator. Only the SHA-256 of a secret is stored. A revoked token stays, so that its name can
-- still be looked up. Credentials of pool reviewers are never stored.
CREATE TABLE tokens (
    id            INTEGER NOT NULL PRIMARY KEY,
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    role          TEXT    NOT NULL CHECK (role = 'proposer' OR role = 'reviewer' OR role = 'operator'),
    identity      TEXT    NOT NULL CHECK (identity <> ''),
    -- null: every project
    project       TEXT,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT;

CREATE INDEX tokens_by_identity ON tokens (identity);

-- How far each webhook has come in the log, and what could not be delivered.
CREATE TABLE webhooks (
    name   TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
    -- part of every message id, so that the messages of two brokers differ
    source TEXT    NOT NULL CHECK (source <> ''),
    -- every event up to here was delivered, is dead, or does not match the webhook's filter
    cursor INTEGER NOT NULL CHECK (cursor >= 0)
) STRICT;

CREATE TABLE dead_deliveries (
    hook       TEXT    NOT NULL REFERENCES webhooks (name),
    seq        INTEGER NOT NULL REFERENCES events (seq),
    attempts   INTEGER NOT NULL CHECK (attempts > 0),
    error      TEXT    NOT NULL,
    died_at_ms INTEGER NOT NULL,
    -- another attempt was requested
    again      INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)),
    PRIMARY KEY (hook, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX dead_deliveries_to_try ON dead_deliveries (hook, seq) WHERE again = 1;

-- The offset between the broker's own timeline and each boot of the machine.
CREATE TABLE boots (
    boot_id        TEXT    NOT NULL PRIMARY KEY,
    offset_ms      INTEGER NOT NULL,
    first_seen_ms  INTEGER NOT NULL
) STRICT;
