//! Builds the WHERE clause for a [`ReviewFilter`]. It contains only the conditions that are set, because `OR ? IS NULL`
//! would prevent the use of an index.

use super::identity_spellings::Spellings;
use crate::query_types::{ListOrder, ReviewFilter, ReviewSearch};
use domain::review::Status;
use sqlx::{QueryBuilder, Sqlite};

/// What a query walks along, newest first unless an index of the queue says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// The reviews, along an index or by their number.
    Reviews(Option<&'static str>),
    /// All searchable texts.
    Texts,
    /// The reviews of a branch.
    Branch,
    /// The seats of a persona.
    Seats,
}

impl Walk {
    /// Ended reviews may be many, and most reviews of a project, proposer or persona have ended. Reviews in any other
    /// status are few.
    pub(super) fn of_list(filter: &ReviewFilter) -> Self {
        let of_project = filter.project.is_some() || filter.without_project;
        if filter.order() == ListOrder::Queue {
            return Self::Reviews(Some(match (of_project, filter.category) {
                _ if filter.queued_after.is_some() => "reviews_queue_news",
                (true, _) => "reviews_queue_by_project",
                (false, Some(_)) => "reviews_queue_by_category",
                (false, None) => "reviews_queue",
            }));
        }
        if !matches!(filter.status, None | Some(Status::Closed | Status::Cancelled | Status::Rejected)) {
            return Self::Reviews(Some("reviews_by_status"));
        }
        let of_proposer =
            filter.proposer.is_some() || filter.turn_of.is_some() && has_only_proposers_turn(filter.status);
        match (of_project, filter.category, filter.status) {
            _ if filter.search.is_some() => Self::Texts,
            _ if filter.branch.is_some() => Self::Branch,
            _ if of_proposer => Self::Reviews(Some("reviews_by_proposer")),
            _ if filter.persona.is_some() => Self::Seats,
            (true, _, _) => Self::Reviews(Some("reviews_by_project")),
            (false, Some(_), _) => Self::Reviews(Some("reviews_by_category")),
            (false, None, Some(_)) => Self::Reviews(Some("reviews_by_status")),
            (false, None, None) => Self::Reviews(None),
        }
    }

    /// A count looks at every review that matches. `reviews_by_status` has all columns that it needs.
    pub(super) fn of_count(filter: &ReviewFilter) -> Self {
        match filter {
            ReviewFilter { search: Some(_), .. } => Self::Texts,
            ReviewFilter { branch: Some(_), .. } => Self::Branch,
            _ => Self::Reviews(Some("reviews_by_status")),
        }
    }

    /// The column with the number of the review, by which the walk is ordered.
    pub(super) const fn number(self) -> &'static str {
        match self {
            Self::Reviews(_) => "r.number",
            Self::Texts | Self::Branch => "t.review",
            Self::Seats => "p.review",
        }
    }
}

/// A review that was rejected or cancelled waits for its proposer to close it.
const fn has_only_proposers_turn(status: Option<Status>) -> bool {
    matches!(status, Some(Status::Rejected | Status::Cancelled))
}

/// Adds FROM and WHERE. The reviews are called `r`.
pub(super) fn push_filter(sql: &mut QueryBuilder<Sqlite>, walk: Walk, filter: &ReviewFilter, spellings: &Spellings) {
    sql.push(" FROM ");
    match walk {
        Walk::Reviews(None) => sql.push("reviews r"),
        Walk::Reviews(Some(index)) => sql.push("reviews r INDEXED BY ").push(index),
        Walk::Texts => sql.push("review_search t CROSS JOIN reviews r ON r.number = t.review"),
        Walk::Branch => {
            sql.push("review_search t INDEXED BY review_search_by_branch CROSS JOIN reviews r ON r.number = t.review")
        }
        Walk::Seats => sql.push("seats p INDEXED BY seats_by_persona CROSS JOIN reviews r ON r.number = p.review"),
    };
    sql.push(" WHERE 1 = 1");
    if let Some(status) = filter.status {
        sql.push(" AND r.status = ").push_bind(status.as_str());
    }
    if filter.order() == ListOrder::Queue {
        // A literal, so that SQLite uses the partial indexes of the queue.
        sql.push(" AND r.free_seats > 0");
        if let Some(caller) = &filter.open_to {
            push_claimable(sql, &spellings.of(caller), filter);
        }
    }
    if let Some(category) = filter.category {
        sql.push(" AND r.category = ").push_bind(category.as_str());
    }
    if let Some(project) = &filter.project {
        sql.push(" AND r.project = ").push_bind(project.clone());
    }
    if filter.without_project {
        sql.push(" AND r.project IS NULL");
    }
    if let Some(proposer) = &filter.proposer {
        sql.push(" AND ");
        push_is_one_of(sql, "r.proposer", &spellings.of(proposer));
    }
    if let Some(caller) = &filter.not_by {
        sql.push(" AND NOT ");
        push_is_one_of(sql, "r.proposer", &spellings.of(caller));
    }
    if let Some(search) = &filter.search {
        push_search(sql, walk, search);
    }
    if let Some(branch) = &filter.branch {
        match walk {
            Walk::Texts | Walk::Branch => drop(sql.push(" AND t.branch = ").push_bind(branch.clone())),
            Walk::Reviews(_) | Walk::Seats => {
                sql.push(" AND EXISTS (SELECT 1 FROM review_search b WHERE b.review = r.number AND b.branch = ");
                sql.push_bind(branch.clone()).push(")");
            }
        }
    }
    if let Some(persona) = &filter.persona {
        match walk {
            Walk::Seats => drop(sql.push(" AND p.persona = ").push_bind(persona.clone())),
            Walk::Reviews(_) | Walk::Texts | Walk::Branch => {
                sql.push(" AND EXISTS (SELECT 1 FROM seats q WHERE q.review = r.number AND q.persona = ");
                sql.push_bind(persona.clone()).push(")");
            }
        }
    }
    if let Some(name) = &filter.participant {
        let names = spellings.of(name);
        sql.push(" AND (");
        push_is_one_of(sql, "r.proposer", &names);
        sql.push(" OR ");
        push_holds_seat(sql, &names);
        sql.push(")");
    }
    if let Some(name) = &filter.turn_of {
        push_turn(sql, filter.status, &spellings.of(name));
    }
    if let Some(seq) = filter.queued_after {
        sql.push(" AND r.queued_seq > ").push_bind(i64::try_from(seq).unwrap_or(i64::MAX));
    }
}

fn push_search(sql: &mut QueryBuilder<Sqlite>, walk: Walk, search: &ReviewSearch) {
    let is_walked = matches!(walk, Walk::Texts | Walk::Branch);
    if !is_walked {
        sql.push(" AND EXISTS (SELECT 1 FROM review_search t WHERE t.review = r.number");
    }
    sql.push(" AND (instr(t.intent, ").push_bind(search.text().to_owned());
    sql.push(") > 0 OR t.review = ").push_bind(search.number()).push(")");
    if !is_walked {
        sql.push(")");
    }
}

fn push_holds_seat(sql: &mut QueryBuilder<Sqlite>, names: &[String]) {
    sql.push("EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND ");
    push_is_one_of(sql, "s.claimed_by", names);
    sql.push(")");
}

/// One name is the usual case, in which an index can give the order too.
fn push_is_one_of(sql: &mut QueryBuilder<Sqlite>, column: &str, names: &[String]) {
    sql.push(column);
    match names {
        [only] => drop(sql.push(" = ").push_bind(only.clone())),
        names => {
            sql.push(" IN (");
            let mut list = sql.separated(", ");
            for name in names {
                list.push_bind(name.clone());
            }
            sql.push(")");
        }
    }
}

/// Leaves out reviews in which it cannot be the turn of `name`.
fn push_turn(sql: &mut QueryBuilder<Sqlite>, status: Option<Status>, names: &[String]) {
    sql.push(" AND (");
    push_is_one_of(sql, "r.proposer", names);
    if !has_only_proposers_turn(status) {
        sql.push(" OR ");
        push_holds_seat(sql, names);
        // An approved review has no free seat and waits for no operator.
        if status != Some(Status::Approved) {
            sql.push(" OR r.free_seats > 0 OR r.escalated_for IS NOT NULL");
        }
    }
    sql.push(")");
}

/// Requires a seat that `caller` can claim. For started reviews it excludes those that the caller proposed or holds a
/// seat of.
fn push_claimable(sql: &mut QueryBuilder<Sqlite>, caller: &[String], filter: &ReviewFilter) {
    sql.push(
        " AND EXISTS (SELECT 1 FROM seats s WHERE s.review = r.number AND s.claimed_by IS NULL AND s.vote IS NULL
          AND (s.reserved_for IS NULL",
    );
    if !filter.kept_for_pool.is_empty() {
        sql.push(" AND (s.gave_up IS NOT NULL OR r.escalated_for IS NOT NULL OR NOT ");
        push_is_one_of(sql, "s.persona", &filter.kept_for_pool);
        sql.push(")");
    }
    sql.push(" OR ");
    push_is_one_of(sql, "s.reserved_for", caller);
    sql.push("))");
    if filter.wants_started_reviews() {
        sql.push(" AND NOT ");
        push_is_one_of(sql, "r.proposer", caller);
        sql.push(" AND NOT ");
        push_holds_seat(sql, caller);
    }
}
