-- Bearer tokens that an operator has made. Only the SHA-256 of a secret is kept, and a revoked token stays,
-- so that its name can still be looked up. The passes of pool reviewers are never stored.

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
