//! Writes findings, page by page: those of a list, or those of reviews.

use super::{ExportFormat, Sink, Source, json, markdown, sarif::Sarif};
use crate::{
    issues::{Issue, ListIssuesRequest},
    operation::ListIssues,
};

/// Writes the issues that match a filter. Returns their number.
pub async fn write_issues<S: Source, K: Sink<Error = S::Error>>(
    source: &S,
    filter: &ListIssuesRequest,
    format: ExportFormat,
    sink: &mut K,
) -> Result<usize, S::Error> {
    let mut sarif = Sarif::default();
    let mut pages = IssuePages::new(filter.clone());
    let mut written = 0;
    while let Some(page) = pages.next(source).await? {
        let mut text = String::new();
        if written == 0 && pages.is_first {
            text.push_str(&start(format, &sarif));
        }
        for issue in &page {
            match format {
                ExportFormat::Sarif => text.push_str(&sarif.result(issue, None)),
                ExportFormat::Markdown => markdown::issue_row(&mut text, issue, true),
                ExportFormat::Jsonl => text.push_str(&format!("{}\n", json(issue))),
                ExportFormat::Json => {
                    text.push_str(if written == 0 { "\n" } else { ",\n" });
                    text.push_str(&json(issue));
                }
            }
            written += 1;
        }
        pages.is_first = false;
        sink.write(text).await?;
    }
    sink.write(end(format, sarif)).await?;
    Ok(written)
}

fn start(format: ExportFormat, sarif: &Sarif) -> String {
    match format {
        ExportFormat::Sarif => sarif.start(),
        ExportFormat::Markdown => format!("# Issues\n\n{}", markdown::issue_head(true)),
        ExportFormat::Json => "{\"issues\":[".to_owned(),
        ExportFormat::Jsonl => String::new(),
    }
}

fn end(format: ExportFormat, sarif: Sarif) -> String {
    match format {
        ExportFormat::Sarif => sarif.end(),
        ExportFormat::Json => "]}\n".to_owned(),
        ExportFormat::Markdown | ExportFormat::Jsonl => String::new(),
    }
}

/// The pages of a list of issues.
pub(super) struct IssuePages {
    request: ListIssuesRequest,
    is_over: bool,
    /// No page was written yet.
    is_first: bool,
}

impl IssuePages {
    pub(super) fn new(request: ListIssuesRequest) -> Self {
        Self { request: ListIssuesRequest { limit: None, ..request }, is_over: false, is_first: true }
    }

    /// All issues and suggestions of a review.
    pub(super) fn of_review(review_id: &str) -> Self {
        let review_id = Some(review_id.to_owned());
        Self::new(ListIssuesRequest { review_id, include_suggestions: Some(true), ..Default::default() })
    }

    /// `None` after the last page. A page may be empty although more follow.
    pub(super) async fn next<S: Source>(&mut self, source: &S) -> Result<Option<Vec<Issue>>, S::Error> {
        if self.is_over {
            return Ok(None);
        }
        let page = source.execute::<ListIssues>(self.request.clone()).await?;
        self.is_over = page.next_cursor.is_none();
        self.request.cursor = page.next_cursor;
        Ok(Some(page.issues))
    }

    /// All that are left.
    pub(super) async fn rest<S: Source>(mut self, source: &S) -> Result<Vec<Issue>, S::Error> {
        let mut issues = Vec::new();
        while let Some(mut page) = self.next(source).await? {
            issues.append(&mut page);
        }
        Ok(issues)
    }
}
