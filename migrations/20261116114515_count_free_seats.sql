-- How many seats of a review can be taken, so that one that others have begun is found by who may join them. The
-- queue is now every review with such a seat, not only those that are pending; the indexes keep the two apart, so that
-- neither has to be walked through for the other. Old rows are counted.

ALTER TABLE reviews ADD COLUMN free_seats INTEGER NOT NULL DEFAULT 0
    CONSTRAINT seats_are_free_while_it_is_open CHECK (free_seats >= 0 AND (free_seats = 0 OR status = 'pending'
                                                      OR status = 'claimed' OR status = 'in_review'));

UPDATE reviews SET free_seats =
    (SELECT count(*) FROM seats s WHERE s.review = reviews.number AND s.claimed_by IS NULL AND s.vote IS NULL)
WHERE status = 'pending' OR status = 'in_review';

DROP INDEX reviews_queue;
DROP INDEX reviews_queue_by_project;
DROP INDEX reviews_queue_by_category;
DROP INDEX reviews_queue_news;

CREATE INDEX reviews_queue ON reviews (status, priority, number) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_project ON reviews (project, status, priority, number, free_seats) WHERE free_seats > 0;
CREATE INDEX reviews_queue_by_category ON reviews (category, status, priority, number)
    WHERE free_seats > 0 AND category IS NOT NULL;
CREATE INDEX reviews_queue_news ON reviews (queued_seq) WHERE free_seats > 0;
