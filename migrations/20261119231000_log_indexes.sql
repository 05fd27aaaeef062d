-- Indexes that follow the event log: findings in the order in which people work on them, their counts, and the words of
-- texts. The writer adds what some hundred events have changed at once, when commands pause and before a list or a search
-- is answered. So they cost commands nothing. A database without them is indexed in the background.

-- The last event that the indexes contain.
CREATE TABLE log_index_cursor (
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO log_index_cursor (seq) VALUES (0);

-- What lists of findings filter and sort by, also of the review.
CREATE TABLE finding_index (
    number      INTEGER NOT NULL PRIMARY KEY REFERENCES findings (number),
    review      INTEGER NOT NULL REFERENCES reviews (number),
    -- '': none
    project     TEXT    NOT NULL,
    -- open in an open review first, then open, then blocking, then by severity
    rank        INTEGER NOT NULL CHECK (rank >= 0),
    is_issue    INTEGER NOT NULL CHECK (is_issue = 0 OR is_issue = 1),
    status      TEXT    NOT NULL,
    severity    TEXT    NOT NULL,
    blocks      INTEGER NOT NULL CHECK (blocks = 0 OR blocks = 1),
    review_open INTEGER NOT NULL CHECK (review_open = 0 OR review_open = 1),
    kind        TEXT    NOT NULL,
    persona     TEXT    NOT NULL,
    reviewer    TEXT    NOT NULL,
    -- the file it was raised in
    file        TEXT
) STRICT;

-- A page reads only this index, so it contains what it filters by.
CREATE INDEX finding_index_by_rank ON finding_index (rank, number, is_issue, status, severity, blocks, review_open, project,
                                                     kind, persona, reviewer, file, review);
CREATE INDEX finding_index_by_review ON finding_index (review, rank, number);
CREATE INDEX finding_index_by_project ON finding_index (project, rank, number);
CREATE INDEX finding_index_by_project_and_number ON finding_index (project, number);
CREATE INDEX finding_index_by_file ON finding_index (file, rank, number) WHERE file IS NOT NULL;

-- How many findings have these values.
CREATE TABLE finding_counts (
    is_issue    INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    review_open INTEGER NOT NULL,
    severity    TEXT    NOT NULL,
    blocks      INTEGER NOT NULL,
    project     TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    persona     TEXT    NOT NULL,
    reviewer    TEXT    NOT NULL,
    findings    INTEGER NOT NULL,
    PRIMARY KEY (is_issue, status, review_open, severity, blocks, project, kind, persona, reviewer)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER finding_is_counted AFTER INSERT ON finding_index
BEGIN
    INSERT INTO finding_counts VALUES (new.is_issue, new.status, new.review_open, new.severity, new.blocks, new.project,
                                       new.kind, new.persona, new.reviewer, 1)
    ON CONFLICT DO UPDATE SET findings = findings + 1;
END;

CREATE TRIGGER finding_is_counted_again AFTER UPDATE ON finding_index
BEGIN
    UPDATE finding_counts SET findings = findings - 1
    WHERE is_issue = old.is_issue AND status = old.status AND review_open = old.review_open AND severity = old.severity
      AND blocks = old.blocks AND project = old.project AND kind = old.kind AND persona = old.persona
      AND reviewer = old.reviewer;
    INSERT INTO finding_counts VALUES (new.is_issue, new.status, new.review_open, new.severity, new.blocks, new.project,
                                       new.kind, new.persona, new.reviewer, 1)
    ON CONFLICT DO UPDATE SET findings = findings + 1;
END;

-- The texts that can be searched. A text that changes gets a new id, so ids are in the order of time.
CREATE TABLE search_texts (
    id        INTEGER NOT NULL PRIMARY KEY,
    kind      TEXT    NOT NULL CHECK (kind = 'review' OR kind = 'message' OR kind = 'verdict' OR kind = 'finding'),
    review    INTEGER NOT NULL REFERENCES reviews (number),
    -- the message, the verdict or the finding; 0 for a review
    reference INTEGER NOT NULL,
    UNIQUE (kind, review, reference)
) STRICT;

-- Their words. The texts themselves stand where they always stood. `scope` has a word for the kind, the project and the
-- review, so that a filter is a part of the query.
CREATE VIRTUAL TABLE search_words USING fts5 (
    title, body, scope, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0',
    -- The last word of a search may be the beginning of one.
    prefix = '1 2 3'
);
