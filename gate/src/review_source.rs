//! Where the gate finds reviews: in the database file of a broker, or at a broker.

use std::pin::Pin;

use domain::approvals::{ApprovalFilter, ReviewFiles, ReviewedContent};
use domain::ids::ReviewNumber;
use store::read_only_database::ReadOnlyStore;

use crate::GateError;

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, GateError>> + 'a>>;

/// A source of reviews. The gate trusts its answers.
pub trait ReviewSource {
    /// Reviews with a diff, approved or not, newest first, at most `limit`. Those that wait to land come in the order in
    /// which they should.
    fn list<'a>(&'a mut self, filter: &'a ApprovalFilter, limit: usize) -> Answer<'a, Vec<ReviewFiles>>;

    /// A review with its active content.
    fn find(&mut self, number: ReviewNumber) -> Answer<'_, Option<ReviewedContent>>;

    /// Reviews with this name: `R-12`, `12`, an id, or the start of an id. At most six.
    fn find_by_name<'a>(&'a mut self, name: &'a str) -> Answer<'a, Vec<ReviewNumber>>;
}

impl ReviewSource for ReadOnlyStore {
    fn list<'a>(&'a mut self, filter: &'a ApprovalFilter, limit: usize) -> Answer<'a, Vec<ReviewFiles>> {
        Box::pin(async move { Ok(self.list_approvals(filter, i64::try_from(limit).unwrap_or(i64::MAX)).await?) })
    }

    fn find(&mut self, number: ReviewNumber) -> Answer<'_, Option<ReviewedContent>> {
        Box::pin(async move { Ok(self.find_reviewed_content(number).await?) })
    }

    fn find_by_name<'a>(&'a mut self, name: &'a str) -> Answer<'a, Vec<ReviewNumber>> {
        Box::pin(async move {
            let found = ReadOnlyStore::find_by_name(self, name).await?;
            Ok(found.into_iter().map(|(number, _)| number).collect())
        })
    }
}
