//! The operation that reads a file of a proposal, before or after its change.

use super::{Call, check_round, error::CallError, proposals::ChosenContent, require_text, review_view::ReviewView};
use api::{
    ErrorBody, ErrorCode,
    proposal_files::{FileRequest, FileResponse},
    proposals::ProposalRequest,
};
use domain::{
    content::Content,
    diff::{AffectedFile, FileOperation},
    review::DiffSide,
};
use git::FileContent;

/// Most bytes of a text in a response.
const MAX_TEXT_BYTES: usize = 2 << 20;

/// Paths that an error message lists.
const MAX_LISTED_PATHS: usize = 20;

pub(super) async fn get(call: &Call<'_>, request: FileRequest) -> Result<FileResponse, CallError> {
    require_text("path", &request.path)?;
    let review = ReviewView::load(&call.broker, call.resolve(&request.review_id).await?, request.at).await?;
    let round = request.round.unwrap_or(review.round.number);
    check_round(&review, round)?;
    let FileRequest { path, side, .. } = request;
    let wanted =
        ProposalRequest { content: request.content, content_hash: request.content_hash, ..ProposalRequest::default() };
    let has_patch = review.last_counter_patch(round, None).await?.is_some();
    let chosen = ChosenContent::find(&review, round, &wanted, has_patch, &call.broker).await?;
    let content = chosen.content();
    let file = find_file(content, &path)?;
    let is_absent = match side {
        DiffSide::Old => file.operation == FileOperation::Create,
        DiffSide::New => file.operation == FileOperation::Delete,
    };
    let read = match is_absent {
        true => FileContent::Absent,
        false => call.broker.read_file(&review, content, file, side).await?,
    };
    let empty = FileResponse {
        path,
        side,
        content_hash: chosen.hash.clone(),
        exists: true,
        binary: false,
        text: None,
        lines_total: None,
        truncated: false,
    };
    Ok(match read {
        FileContent::Absent => FileResponse { exists: false, ..empty },
        FileContent::Binary => FileResponse { binary: true, ..empty },
        FileContent::TooLarge => FileResponse { truncated: true, ..empty },
        FileContent::Text(text) => {
            let shown = first_lines(&text, MAX_TEXT_BYTES);
            FileResponse {
                truncated: shown.len() < text.len(),
                lines_total: Some(text.lines().count() as u64),
                text: Some(shown.to_owned()),
                ..empty
            }
        }
    })
}

/// Only files that the diff changes can be read, so a review does not give access to the rest of the repository.
fn find_file<'a>(content: &'a Content, path: &str) -> Result<&'a AffectedFile, ErrorBody> {
    content.files.iter().find(|file| file.path == path).ok_or_else(|| {
        let some: Vec<_> = content.files.iter().map(|file| file.path.as_str()).take(MAX_LISTED_PATHS).collect();
        let error = "path: the diff does not change this file; give a path from affected_files";
        ErrorBody::new(ErrorCode::UnknownFile, error).with("field", "path").with("allowed", some)
    })
}

/// As many whole lines as fit into `max_bytes`.
fn first_lines(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let end = text.as_bytes().get(..max_bytes).and_then(|bytes| bytes.iter().rposition(|byte| *byte == b'\n'));
    end.and_then(|end| text.get(..=end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::first_lines;

    #[test]
    fn a_long_text_ends_with_a_whole_line() {
        assert_eq!(first_lines("a\nbb\n", 5), "a\nbb\n");
        assert_eq!(first_lines("a\nbb\n", 4), "a\n");
        assert_eq!(first_lines("äää", 3), "");
    }
}
