-- What each webhook has been given. The log is the record of what happened; here stands only how far each receiver has
-- been told of it, and what could not be told.

CREATE TABLE webhooks (
    name   TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
    -- part of the id of every message, so that those of two brokers are never taken for one
    source TEXT    NOT NULL CHECK (source <> ''),
    -- whatever the log has up to here was delivered, is on the dead list, or is not for this one
    cursor INTEGER NOT NULL CHECK (cursor >= 0)
) STRICT;

CREATE TABLE dead_deliveries (
    hook       TEXT    NOT NULL REFERENCES webhooks (name),
    seq        INTEGER NOT NULL REFERENCES events (seq),
    attempts   INTEGER NOT NULL CHECK (attempts > 0),
    error      TEXT    NOT NULL,
    died_at_ms INTEGER NOT NULL,
    -- somebody has asked that it be tried again
    again      INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)),
    PRIMARY KEY (hook, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX dead_deliveries_to_try ON dead_deliveries (hook, seq) WHERE again = 1;
