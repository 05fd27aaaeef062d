-- When a review was first claimed, first voted on, decided and closed, and how long it was in each status, so that
-- statistics are read from one row a review and not from its log. `*_ms` is what is over: the time since `updated_at_ms`
-- counts for the status it is in now. Rejected and cancelled are left only by closing. Old rows get all of it from the log.

ALTER TABLE reviews ADD COLUMN first_claimed_at_ms INTEGER;
ALTER TABLE reviews ADD COLUMN first_verdict_at_ms INTEGER;
ALTER TABLE reviews ADD COLUMN decided_at_ms INTEGER;
ALTER TABLE reviews ADD COLUMN closed_at_ms INTEGER;
ALTER TABLE reviews ADD COLUMN pending_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN claimed_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN in_review_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN changes_requested_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reviews ADD COLUMN approved_ms INTEGER NOT NULL DEFAULT 0;

WITH steps AS (
    SELECT review, kind, status, at_ms, payload, lag(status) OVER log AS before,
           max(0, lead(at_ms, 1, at_ms) OVER log - at_ms) AS stayed
    FROM events WHERE review IS NOT NULL WINDOW log AS (PARTITION BY review ORDER BY version)
), facts AS (
    SELECT review, min(at_ms) FILTER (WHERE kind = 'claimed') AS claimed_at,
           min(at_ms) FILTER (WHERE kind = 'verdict_given' AND payload ->> '$.verdict' <> 'comment') AS voted_at,
           max(at_ms) FILTER (WHERE status IN ('approved', 'rejected', 'cancelled') AND status <> before) AS decided_at,
           min(at_ms) FILTER (WHERE status = 'closed') AS closed_at,
           coalesce(sum(stayed) FILTER (WHERE status = 'pending'), 0) AS pending,
           coalesce(sum(stayed) FILTER (WHERE status = 'claimed'), 0) AS claimed,
           coalesce(sum(stayed) FILTER (WHERE status = 'in_review'), 0) AS in_review,
           coalesce(sum(stayed) FILTER (WHERE status = 'changes_requested'), 0) AS changes_requested,
           coalesce(sum(stayed) FILTER (WHERE status = 'approved'), 0) AS approved
    FROM steps GROUP BY review
)
UPDATE reviews SET first_claimed_at_ms = facts.claimed_at, first_verdict_at_ms = facts.voted_at,
    decided_at_ms = CASE WHEN status IN ('approved', 'rejected', 'cancelled', 'closed') THEN facts.decided_at END,
    closed_at_ms = facts.closed_at, pending_ms = facts.pending, claimed_ms = facts.claimed,
    in_review_ms = facts.in_review, changes_requested_ms = facts.changes_requested, approved_ms = facts.approved
FROM facts WHERE facts.review = reviews.number;

-- When the seat of a verdict was claimed.
ALTER TABLE verdicts ADD COLUMN claimed_at_ms INTEGER;
UPDATE verdicts SET claimed_at_ms =
    (SELECT max(e.at_ms) FROM events e WHERE e.review = verdicts.review AND e.kind = 'claimed'
     AND e.payload ->> '$.generation' = verdicts.generation);

-- Of the pool alone, whose events are few among those of reviews. Everything else in the log is walked along its
-- sequence, a bounded way at a time: an index that every event is put into would cost the writer more than the event.
CREATE INDEX events_of_the_pool ON events (kind) WHERE review IS NULL;
