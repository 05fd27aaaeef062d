-- What a proposal named instead of carrying a diff (a branch, a commit, a range), with the commits that were meant. On
-- a review it is that of the active diff; on a round that of the diff it was submitted with. Null: the diff was given.

ALTER TABLE reviews ADD COLUMN target TEXT CONSTRAINT target_is_json CHECK (target IS NULL OR json_valid(target));
ALTER TABLE rounds ADD COLUMN target TEXT CONSTRAINT target_is_json CHECK (target IS NULL OR json_valid(target));
