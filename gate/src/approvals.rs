//! Where the gate looks up reviews.

use domain::ids::ReviewNumber;
use store::StoreError;
use store::read_only::{ReadOnlyStore, ReviewFiles, ReviewedContent};

pub trait Approvals: Send {
    /// Approved reviews of a diff with this patch id, or of one that produced this tree; newest first.
    fn list_approved(
        &mut self,
        patch_id: Option<&str>,
        tree: &str,
    ) -> impl Future<Output = Result<Vec<ReviewNumber>, StoreError>> + Send;

    /// The files of the newest reviews that have a diff, approved or not.
    fn list_review_files(&mut self, limit: i64) -> impl Future<Output = Result<Vec<ReviewFiles>, StoreError>> + Send;

    fn find_reviewed_content(
        &mut self,
        number: ReviewNumber,
    ) -> impl Future<Output = Result<Option<ReviewedContent>, StoreError>> + Send;

    /// Whether a review was ever proposed with this content.
    fn has_content(&mut self, hash: &str) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// The database file, with or without a running broker.
impl Approvals for ReadOnlyStore {
    async fn list_approved(&mut self, patch_id: Option<&str>, tree: &str) -> Result<Vec<ReviewNumber>, StoreError> {
        self.list_approved(patch_id, tree).await
    }

    async fn list_review_files(&mut self, limit: i64) -> Result<Vec<ReviewFiles>, StoreError> {
        self.list_review_files(limit).await
    }

    async fn find_reviewed_content(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, StoreError> {
        self.find_reviewed_content(number).await
    }

    async fn has_content(&mut self, hash: &str) -> Result<bool, StoreError> {
        self.has_content(hash).await
    }
}

/// `None` has no reviews: there is no database.
impl<A: Approvals> Approvals for Option<A> {
    async fn list_approved(&mut self, patch_id: Option<&str>, tree: &str) -> Result<Vec<ReviewNumber>, StoreError> {
        match self {
            Some(approvals) => approvals.list_approved(patch_id, tree).await,
            None => Ok(Vec::new()),
        }
    }

    async fn list_review_files(&mut self, limit: i64) -> Result<Vec<ReviewFiles>, StoreError> {
        match self {
            Some(approvals) => approvals.list_review_files(limit).await,
            None => Ok(Vec::new()),
        }
    }

    async fn find_reviewed_content(&mut self, number: ReviewNumber) -> Result<Option<ReviewedContent>, StoreError> {
        match self {
            Some(approvals) => approvals.find_reviewed_content(number).await,
            None => Ok(None),
        }
    }

    async fn has_content(&mut self, hash: &str) -> Result<bool, StoreError> {
        match self {
            Some(approvals) => approvals.has_content(hash).await,
            None => Ok(false),
        }
    }
}
