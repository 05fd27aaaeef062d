//! Reads a file of a proposal before or after its change.

use super::{Submissions, content_preparation::too_large};
use crate::{BrokerError, input_validation::invalid};
use domain::{
    content::Content,
    diff::AffectedFile,
    review::{DiffSide, Review},
};
use git::{FileContent, GitError};

impl Submissions {
    /// The file as it is before or after the change of `content`, which belongs to `review`.
    pub(crate) async fn read_file(
        &self,
        review: &Review,
        content: &Content,
        file: &AffectedFile,
        side: DiffSide,
    ) -> Result<FileContent, BrokerError> {
        let repository = self.repository(review)?;
        let base = content.base_commit.as_deref();
        let reading = async {
            let read = match side {
                DiffSide::Old => {
                    let path = file.old_path.as_ref().unwrap_or(&file.path);
                    repository.read_file(base, path).await
                }
                DiffSide::New => {
                    let paths = std::slice::from_ref(&file.path);
                    let versions = repository.read_files(base, content.diff.as_deref(), paths).await;
                    versions.map(|mut versions| versions.pop().map_or(FileContent::Absent, |versions| versions.after))
                }
            };
            read.map_err(cannot_read)
        };
        self.shared.until_shutdown(Box::pin(reading)).await
    }
}

fn cannot_read(error: GitError) -> BrokerError {
    if let GitError::DoesNotApply { message } = error {
        let problem = format!("the diff does not apply to its base, so there is no file after the change: {message}");
        invalid("side", problem)
    } else if matches!(error, GitError::UnknownBase { .. }) {
        invalid("side", format!("the base of the diff is gone, so the file cannot be read: {error}"))
    } else {
        too_large(error)
    }
}
