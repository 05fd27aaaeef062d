//! Writes reviews, one after the other, with their rounds, issues, messages and events.

use super::{ExportFormat, Sink, Source, issues::IssuePages, json, markdown, sarif::Sarif};
use crate::{
    issues::Issue,
    messages::{DiscussionRequest, Message},
    operation::{GetProposal, GetReviewStatus},
    pages,
    proposals::{ProposalRequest, ProposalResponse},
    reviews::{ReviewStatusRequest, ReviewStatusResponse},
};

/// What an export contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exported {
    pub reviews: usize,
    pub issues: usize,
}

/// Writes the reviews with these ids.
pub async fn write_reviews<S: Source, K: Sink<Error = S::Error>>(
    source: &S,
    ids: &[String],
    format: ExportFormat,
    sink: &mut K,
) -> Result<Exported, S::Error> {
    let mut exported = Exported::default();
    let mut sarif = Sarif::default();
    // Read before anything is written: a first review that does not exist is an error and not half a file.
    for id in ids {
        let request = ReviewStatusRequest { review_id: id.clone(), ..Default::default() };
        let review = source.execute::<GetReviewStatus>(request).await?;
        let is_first = exported.reviews == 0;
        exported.reviews += 1;
        exported.issues += match format {
            ExportFormat::Sarif => {
                if is_first {
                    sink.write(sarif.start()).await?;
                }
                write_results(source, &review, &mut sarif, sink).await?
            }
            ExportFormat::Markdown => {
                if !is_first {
                    sink.write("\n---\n\n".to_owned()).await?;
                }
                write_report(source, &review, sink).await?
            }
            ExportFormat::Json => {
                sink.write(if is_first { "{\"reviews\":[\n" } else { ",\n" }.to_owned()).await?;
                write_object(source, &review, sink).await?
            }
            ExportFormat::Jsonl => {
                let issues = write_object(source, &review, sink).await?;
                sink.write("\n".to_owned()).await?;
                issues
            }
        };
    }
    let is_empty = ids.is_empty();
    sink.write(match format {
        ExportFormat::Sarif if is_empty => format!("{}{}", sarif.start(), sarif.end()),
        ExportFormat::Sarif => sarif.end(),
        ExportFormat::Json if is_empty => "{\"reviews\":[]}\n".to_owned(),
        ExportFormat::Json => "]}\n".to_owned(),
        ExportFormat::Markdown | ExportFormat::Jsonl => String::new(),
    })
    .await?;
    Ok(exported)
}

async fn write_results<S: Source, K: Sink<Error = S::Error>>(
    source: &S,
    review: &ReviewStatusResponse,
    sarif: &mut Sarif,
    sink: &mut K,
) -> Result<usize, S::Error> {
    let mut pages = IssuePages::of_review(&review.head.review_id.to_string());
    let (mut first_file, mut written) = (None, 0);
    while let Some(page) = pages.next(source).await? {
        if first_file.is_none() && page.iter().any(|issue| issue.file.is_none()) {
            first_file = Some(find_first_file(source, review).await?);
        }
        let file = first_file.iter().flatten().next();
        let results = page.iter().map(|issue| sarif.result(issue, file.map(String::as_str)));
        sink.write(results.collect()).await?;
        written += page.len();
    }
    Ok(written)
}

/// The first file of the change, in the latest round that has one.
async fn find_first_file<S: Source>(source: &S, review: &ReviewStatusResponse) -> Result<Option<String>, S::Error> {
    for round in (1..=review.head.current_round.max(1)).rev() {
        let proposal = source.execute::<GetProposal>(request(review, round)).await?;
        let files = proposal.details.map(|details| details.files.affected_files).unwrap_or_default();
        if let Some(file) = files.into_iter().next() {
            return Ok(Some(file.path));
        }
    }
    Ok(None)
}

fn request(review: &ReviewStatusResponse, round: u32) -> ProposalRequest {
    ProposalRequest { review_id: review.head.review_id.to_string(), round: Some(round), ..Default::default() }
}

async fn read_round<S: Source>(
    source: &S,
    review: &ReviewStatusResponse,
    round: u32,
) -> Result<ProposalResponse, S::Error> {
    pages::proposal(source, request(review, round)).await
}

async fn read_issues<S: Source>(source: &S, review: &ReviewStatusResponse) -> Result<Vec<Issue>, S::Error> {
    IssuePages::of_review(&review.head.review_id.to_string()).rest(source).await
}

async fn read_discussion<S: Source>(source: &S, review_id: &str) -> Result<Vec<Message>, S::Error> {
    pages::discussion(source, DiscussionRequest { review_id: review_id.to_owned(), ..Default::default() }).await
}

async fn write_report<S: Source, K: Sink<Error = S::Error>>(
    source: &S,
    review: &ReviewStatusResponse,
    sink: &mut K,
) -> Result<usize, S::Error> {
    let (id, last_round) = (review.head.review_id.to_string(), review.head.current_round.max(1));
    let last = read_round(source, review, last_round).await?;
    sink.write(markdown::head(review, last.details.as_ref())).await?;
    for round in 1..last_round {
        let proposal = read_round(source, review, round).await?;
        sink.write(markdown::round(&proposal)).await?;
    }
    sink.write(markdown::round(&last)).await?;
    drop(last);
    let issues = read_issues(source, review).await?;
    sink.write(markdown::issues(&issues)).await?;
    sink.write(markdown::discussion(&read_discussion(source, &id).await?)).await?;
    Ok(issues.len())
}

async fn write_object<S: Source, K: Sink<Error = S::Error>>(
    source: &S,
    review: &ReviewStatusResponse,
    sink: &mut K,
) -> Result<usize, S::Error> {
    let id = review.head.review_id.to_string();
    sink.write(format!("{{\"review\":{},\"rounds\":[", json(review))).await?;
    for round in 1..=review.head.current_round.max(1) {
        let separator = if round == 1 { "" } else { "," };
        let proposal = read_round(source, review, round).await?;
        sink.write(format!("{separator}{}", json(&proposal))).await?;
    }
    let issues = read_issues(source, review).await?;
    sink.write(format!("],\"issues\":{}", json(&issues))).await?;
    sink.write(format!(",\"messages\":{}", json(&read_discussion(source, &id).await?))).await?;
    sink.write(format!(",\"timeline\":{}}}", json(&pages::timeline(source, &id).await?.rounds))).await?;
    Ok(issues.len())
}
