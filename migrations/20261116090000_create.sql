-- One transaction writes a review in three forms: its events (the truth), its snapshot (the rows from which an actor is
-- rebuilt), and its texts, stored once under their hash. The constraints repeat the rules of the domain.
--
-- CHECKs spell out `a = 'x' OR a = 'y' …`: for an IN list of three or more SQLite builds a temporary table on every
-- write, which took half of the writer's time.

CREATE TABLE contents (
    hash        TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    -- The size of the diff. First, because SQLite reads a long row up to the last column that a query needs.
    file_count  INTEGER NOT NULL CHECK (file_count >= 0),
    added       INTEGER NOT NULL CHECK (added >= 0),
    removed     INTEGER NOT NULL CHECK (removed >= 0),
    intent      TEXT NOT NULL CHECK (intent <> ''),
    base_commit TEXT,
    diff_note   TEXT,
    files       TEXT NOT NULL CHECK (json_valid(files)),
    flags       TEXT NOT NULL CHECK (json_valid(flags)),
    description TEXT,
    diff        TEXT
) STRICT;

-- The body is the review as the domain knows it, without its seats and findings, which have rows of their own. Columns that
-- queries filter, sort or constrain are written beside it; those that few queries read are generated, but not stored.
-- SQLite does not check the body when it is written.
CREATE TABLE reviews (
    number               INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    body                 TEXT    NOT NULL,
    id                   TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    project              TEXT,
    category             TEXT CHECK (category = 'plan_review' OR category = 'code_change'
                                     OR category = 'verification' OR category = 'handoff'),
    priority             INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    proposer             TEXT    NOT NULL,
    created_at_ms        INTEGER NOT NULL,
    version              INTEGER NOT NULL CHECK (version > 0),
    status               TEXT    NOT NULL
                         CHECK (status = 'pending' OR status = 'claimed' OR status = 'in_review'
                                OR status = 'changes_requested' OR status = 'approved' OR status = 'rejected'
                                OR status = 'cancelled' OR status = 'closed'),
    round                INTEGER NOT NULL CHECK (round > 0),
    content_hash         TEXT    NOT NULL REFERENCES contents (hash),
    approved_hash        TEXT,
    escalated_for        TEXT,
    updated_at_ms        INTEGER NOT NULL,
    phase                TEXT    GENERATED ALWAYS AS (body ->> '$.proposer.phase') VIRTUAL,
    plan                 TEXT    GENERATED ALWAYS AS (body ->> '$.proposer.plan') VIRTUAL,
    intent               TEXT    GENERATED ALWAYS AS (body ->> '$.round.intent') VIRTUAL,
    -- null: no diff
    diff_check           TEXT    GENERATED ALWAYS AS (body ->> '$.round.diff.check.result') VIRTUAL,
    base_commit          TEXT    GENERATED ALWAYS AS (body ->> '$.round.diff.base_commit') VIRTUAL,
    patch_id             TEXT    GENERATED ALWAYS AS (body ->> '$.round.diff.patch_id') VIRTUAL,
    tree_id              TEXT    GENERATED ALWAYS AS (body ->> '$.round.diff.check.tree_id') VIRTUAL,
    decided_at_ms        INTEGER GENERATED ALWAYS AS (body ->> '$.times.decided_at') VIRTUAL,
    -- seats that a reviewer can claim
    free_seats           INTEGER NOT NULL
                         CONSTRAINT seats_are_free_while_it_is_open CHECK (free_seats >= 0 AND (free_seats = 0
                                                                           OR status = 'pending' OR status = 'claimed'
                                                                           OR status = 'in_review')),
    -- the event that last made a seat claimable
    queued_seq           INTEGER NOT NULL,
    CONSTRAINT approval_is_for_the_active_content CHECK (status <> 'approved' OR approved_hash = content_hash)
) STRICT;

-- The queue: all reviews with a free seat, pending or started by other reviewers.
CREATE INDEX reviews_queue ON reviews (status, priority, number) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_project ON reviews (project, status, priority, number, free_seats) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_category ON reviews (category, status, priority, number)
    WHERE free_seats > 0 AND category IS NOT NULL;
CREATE INDEX reviews_queue_news ON reviews (queued_seq) WHERE free_seats > 0;
-- All other lists, newest first. Status is the only indexed column that changes, so only one index contains it. Counts
-- read only this index, so it also contains the columns that they filter by.
CREATE INDEX reviews_by_status ON reviews (status, number, project, category, proposer);
CREATE INDEX reviews_by_proposer ON reviews (proposer, number);
CREATE INDEX reviews_by_project ON reviews (project, number);
CREATE INDEX reviews_by_category ON reviews (category, number) WHERE category IS NOT NULL;
-- Reviews that have waited for an operator.
CREATE INDEX reviews_escalated ON reviews (number) WHERE escalated_for IS NOT NULL;
-- How a gate finds approvals. Only approved reviews are in these indexes, so the writer updates them only when a review
-- is approved or closed.
CREATE INDEX reviews_approved_by_patch ON reviews (patch_id) WHERE approved_hash IS NOT NULL;
CREATE INDEX reviews_approved_by_tree ON reviews (tree_id) WHERE approved_hash IS NOT NULL;

-- What people search reviews by, in a table that is small enough to read as a whole. A proposal and a revision write it.
CREATE TABLE review_search (
    review INTEGER NOT NULL PRIMARY KEY REFERENCES reviews (number),
    -- in lower case
    intent TEXT    NOT NULL,
    branch TEXT
) STRICT;

CREATE INDEX review_search_by_branch ON review_search (branch, review) WHERE branch IS NOT NULL;

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

-- The body is the seat as the domain knows it.
CREATE TABLE seats (
    review              INTEGER NOT NULL REFERENCES reviews (number),
    position            INTEGER NOT NULL CHECK (position >= 0),
    body                TEXT    NOT NULL,
    persona             TEXT    NOT NULL CHECK (persona <> ''),
    claimed_by          TEXT,
    lease_ends_tick     INTEGER,
    vote                TEXT    CHECK (vote = 'approved' OR vote = 'changes_requested' OR vote = 'rejected'),
    -- the only reviewer that can claim it
    reserved_for        TEXT,
    reserved_until_tick INTEGER,
    patch_id            INTEGER GENERATED ALWAYS AS (body ->> '$.patch.id') VIRTUAL,
    -- why a one-shot reviewer gave the seat up
    gave_up             TEXT    GENERATED ALWAYS AS (body ->> '$.gave_up') VIRTUAL,
    PRIMARY KEY (review, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX seats_by_persona ON seats (persona, review);
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
    review    INTEGER NOT NULL REFERENCES reviews (number),
    id        INTEGER NOT NULL,
    round     INTEGER NOT NULL,
    -- null: a message to `recipient` and not in the discussion of one seat
    persona   TEXT,
    recipient TEXT,
    role      TEXT    NOT NULL CHECK (role = 'proposer' OR role = 'reviewer' OR role = 'operator'),
    sender    TEXT,
    body      TEXT    NOT NULL,
    anchor    TEXT CHECK (anchor IS NULL OR json_valid(anchor)),
    metadata  TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    at_ms     INTEGER NOT NULL,
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

-- Running figures, so that statistics do not read every review. The writer adds what some hundred changes have changed at
-- once, and before statistics are read. After a crash the start counts the days of the later changes again. Each row is about the reviews submitted on a day (in days since 1970; -1: all days), of a project ('': none) and of a
-- category ('none'). The names are those of `ReviewSum` and `WorkSum` in the domain.
CREATE TABLE review_figures (
    day                     INTEGER NOT NULL,
    project                 TEXT    NOT NULL,
    category                TEXT    NOT NULL,
    reviews                 INTEGER NOT NULL,
    escalated               INTEGER NOT NULL,
    approved                INTEGER NOT NULL,
    rejected                INTEGER NOT NULL,
    cancelled               INTEGER NOT NULL,
    approved_in_first_round INTEGER NOT NULL,
    auto_rejections         INTEGER NOT NULL,
    pending_now             INTEGER NOT NULL,
    claimed_now             INTEGER NOT NULL,
    in_review_now           INTEGER NOT NULL,
    changes_requested_now   INTEGER NOT NULL,
    approved_now            INTEGER NOT NULL,
    rejected_now            INTEGER NOT NULL,
    cancelled_now           INTEGER NOT NULL,
    closed_now              INTEGER NOT NULL,
    pending_entered         INTEGER NOT NULL,
    claimed_entered         INTEGER NOT NULL,
    in_review_entered       INTEGER NOT NULL,
    changes_requested_entered INTEGER NOT NULL,
    approved_entered        INTEGER NOT NULL,
    rejected_entered        INTEGER NOT NULL,
    cancelled_entered       INTEGER NOT NULL,
    pending_spent_ms        INTEGER NOT NULL,
    claimed_spent_ms        INTEGER NOT NULL,
    in_review_spent_ms      INTEGER NOT NULL,
    changes_requested_spent_ms INTEGER NOT NULL,
    approved_spent_ms       INTEGER NOT NULL,
    rejected_spent_ms       INTEGER NOT NULL,
    cancelled_spent_ms      INTEGER NOT NULL,
    pending_since_ms        INTEGER NOT NULL,
    claimed_since_ms        INTEGER NOT NULL,
    in_review_since_ms      INTEGER NOT NULL,
    changes_requested_since_ms INTEGER NOT NULL,
    approved_since_ms       INTEGER NOT NULL,
    rejected_since_ms       INTEGER NOT NULL,
    cancelled_since_ms      INTEGER NOT NULL,
    PRIMARY KEY (day, project, category)
) STRICT, WITHOUT ROWID;

-- The last event that the figures contain.
CREATE TABLE figures_cursor (
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO figures_cursor (seq) VALUES (0);

-- How many reviews have a value, and the sum of these values before they were rounded.
CREATE TABLE review_distributions (
    day      INTEGER NOT NULL,
    project  TEXT    NOT NULL,
    category TEXT    NOT NULL,
    measure  TEXT    NOT NULL,
    value    INTEGER NOT NULL,
    reviews  INTEGER NOT NULL,
    total    INTEGER NOT NULL,
    PRIMARY KEY (day, project, category, measure, value)
) STRICT, WITHOUT ROWID;

-- Verdicts and findings of a reviewer for a persona.
CREATE TABLE work_figures (
    day                     INTEGER NOT NULL,
    project                 TEXT    NOT NULL,
    category                TEXT    NOT NULL,
    persona                 TEXT    NOT NULL,
    reviewer                TEXT    NOT NULL,
    reviews                 INTEGER NOT NULL,
    reviews_of_persona      INTEGER NOT NULL,
    reviews_of_reviewer     INTEGER NOT NULL,
    timed_votes             INTEGER NOT NULL,
    vote_ms                 INTEGER NOT NULL,
    input_tokens            INTEGER NOT NULL,
    output_tokens           INTEGER NOT NULL,
    cost_micro_usd          INTEGER NOT NULL,
    with_cost               INTEGER NOT NULL,
    suggestions             INTEGER NOT NULL,
    approved_given          INTEGER NOT NULL,
    changes_requested_given INTEGER NOT NULL,
    comment_given           INTEGER NOT NULL,
    rejected_given          INTEGER NOT NULL,
    low_issues              INTEGER NOT NULL,
    medium_issues           INTEGER NOT NULL,
    high_issues             INTEGER NOT NULL,
    critical_issues         INTEGER NOT NULL,
    open_issues             INTEGER NOT NULL,
    fixed_issues            INTEGER NOT NULL,
    wont_fix_issues         INTEGER NOT NULL,
    duplicate_issues        INTEGER NOT NULL,
    PRIMARY KEY (day, project, category, persona, reviewer)
) STRICT, WITHOUT ROWID;

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
    -- JSON
    payload    TEXT    NOT NULL,
    -- who must act after the command that caused this, as JSON
    waiting_on TEXT,
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

-- Reviewer processes of the pool, running and ended. The body is a `ReviewerRow` of the store.
CREATE TABLE reviewers (
    -- codex-r1-a7f3b2e1
    id            TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    body          TEXT    NOT NULL CHECK (json_valid(body)),
    project       TEXT    GENERATED ALWAYS AS (body ->> '$.project') STORED,
    -- the seat that a one-shot or dedicated reviewer was started for
    review        INTEGER GENERATED ALWAYS AS (CAST(ltrim(body ->> '$.seat.review', 'R-') AS INTEGER)) STORED REFERENCES reviews (number),
    persona       TEXT    GENERATED ALWAYS AS (body ->> '$.seat.persona') STORED,
    spawned_at_ms INTEGER NOT NULL GENERATED ALWAYS AS (body ->> '$.spawned_at') STORED,
    -- of a dedicated reviewer, which keeps its row from turn to turn
    session       TEXT    GENERATED ALWAYS AS (body ->> '$.session.state') STORED
                  CHECK (session = 'open' OR session = 'finished' OR session = 'stopped'),
    -- null: its process may run
    ended_at_ms   INTEGER GENERATED ALWAYS AS (body ->> '$.end.at') STORED,
    input_tokens  INTEGER GENERATED ALWAYS AS (body ->> '$.work.input_tokens') STORED,
    output_tokens INTEGER GENERATED ALWAYS AS (body ->> '$.work.output_tokens') STORED,
    cost_usd      REAL    GENERATED ALWAYS AS (body ->> '$.work.cost_usd') STORED
) STRICT;

CREATE INDEX reviewers_running ON reviewers (id) WHERE ended_at_ms IS NULL;
CREATE INDEX reviewers_by_end ON reviewers (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX reviewers_by_seat ON reviewers (review, persona) WHERE review IS NOT NULL;
CREATE INDEX reviewers_with_session ON reviewers (id) WHERE session = 'open';

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

-- Names of proposers and reviewers that are not written like the key of their identity: `Ada` and `ADA` are `ada`. Queries
-- look for all of them. A name that is its own key has no row.
CREATE TABLE spellings (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    key  TEXT NOT NULL CONSTRAINT key_differs_from_name CHECK (key <> name)
) STRICT, WITHOUT ROWID;

CREATE INDEX spellings_by_key ON spellings (key);

-- Browsers that are signed in. Only the SHA-256 of a cookie is stored. A session ends with its token.
CREATE TABLE sessions (
    hash          TEXT    NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    -- null: the local operator, whose token is a new one after every start of the broker
    token         TEXT REFERENCES tokens (hash),
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Signed receipts, as they were written into repositories: the last one of each commit.
CREATE TABLE receipts (
    commit_id    TEXT    NOT NULL PRIMARY KEY CHECK (length(commit_id) >= 40),
    review       INTEGER NOT NULL REFERENCES reviews (number),
    -- the public key that it is signed with
    key_id       TEXT    NOT NULL CHECK (length(key_id) = 16),
    signed_at_ms INTEGER NOT NULL,
    -- one line of JSON
    envelope     TEXT    NOT NULL CHECK (json_valid(envelope))
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_by_review ON receipts (review);

-- The random id of this database, made here once. A client that sees another one talks to another broker.
CREATE TABLE database_identity (
    id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 32)
) STRICT, WITHOUT ROWID;

INSERT INTO database_identity (id) VALUES (lower(hex(randomblob(16))));

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
