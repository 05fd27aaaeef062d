-- The seat that a reviewer was started for, where it was for one: a one-shot reviewer is shown with it, and what its
-- runs have cost is added up.

ALTER TABLE reviewers ADD COLUMN review INTEGER REFERENCES reviews (number);
ALTER TABLE reviewers ADD COLUMN persona TEXT
    CONSTRAINT a_seat_is_of_a_review CHECK ((review IS NULL) = (persona IS NULL));

CREATE INDEX reviewers_by_seat ON reviewers (review, persona) WHERE review IS NOT NULL;
