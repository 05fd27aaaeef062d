-- A person's SSH signature on a vote: round, at, ssh
ALTER TABLE verdicts ADD COLUMN signature TEXT CHECK (signature IS NULL OR json_valid(signature));
