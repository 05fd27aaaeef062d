-- Findings are counted by severity and fate together; new are disputes and the votes that agree with the outcome. The next
-- start of the broker counts all rows again, because the cursor is set back.
DROP TABLE work_figures;

-- Verdicts and findings of a reviewer for a persona.
CREATE TABLE work_figures (
    day                       INTEGER NOT NULL,
    project                   TEXT    NOT NULL,
    category                  TEXT    NOT NULL,
    persona                   TEXT    NOT NULL,
    reviewer                  TEXT    NOT NULL,
    reviews                   INTEGER NOT NULL,
    reviews_of_persona        INTEGER NOT NULL,
    reviews_of_reviewer       INTEGER NOT NULL,
    timed_votes               INTEGER NOT NULL,
    vote_ms                   INTEGER NOT NULL,
    input_tokens              INTEGER NOT NULL,
    output_tokens             INTEGER NOT NULL,
    cost_micro_usd            INTEGER NOT NULL,
    with_cost                 INTEGER NOT NULL,
    suggestions               INTEGER NOT NULL,
    judged_votes              INTEGER NOT NULL,
    agreeing_votes            INTEGER NOT NULL,
    disputes                  INTEGER NOT NULL,
    disputes_upheld           INTEGER NOT NULL,
    disputes_rejected         INTEGER NOT NULL,
    approved_given            INTEGER NOT NULL,
    changes_requested_given   INTEGER NOT NULL,
    comment_given             INTEGER NOT NULL,
    rejected_given            INTEGER NOT NULL,
    low_open_issues           INTEGER NOT NULL,
    low_disputed_issues       INTEGER NOT NULL,
    low_fixed_issues          INTEGER NOT NULL,
    low_wont_fix_issues       INTEGER NOT NULL,
    low_duplicate_issues      INTEGER NOT NULL,
    medium_open_issues        INTEGER NOT NULL,
    medium_disputed_issues    INTEGER NOT NULL,
    medium_fixed_issues       INTEGER NOT NULL,
    medium_wont_fix_issues    INTEGER NOT NULL,
    medium_duplicate_issues   INTEGER NOT NULL,
    high_open_issues          INTEGER NOT NULL,
    high_disputed_issues      INTEGER NOT NULL,
    high_fixed_issues         INTEGER NOT NULL,
    high_wont_fix_issues      INTEGER NOT NULL,
    high_duplicate_issues     INTEGER NOT NULL,
    critical_open_issues      INTEGER NOT NULL,
    critical_disputed_issues  INTEGER NOT NULL,
    critical_fixed_issues     INTEGER NOT NULL,
    critical_wont_fix_issues  INTEGER NOT NULL,
    critical_duplicate_issues INTEGER NOT NULL,
    PRIMARY KEY (day, project, category, persona, reviewer)
) STRICT, WITHOUT ROWID;

UPDATE figures_cursor SET seq = 0;
