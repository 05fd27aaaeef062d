//! `countersign export`: writes reviews as SARIF, JSON or Markdown.

mod markdown;
mod sarif;

use crate::{
    CliError,
    client::{BrokerArgs, Client, pagination},
    completion,
    error::parse_optional,
    review_args, terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    event_history::TimelineRound,
    issues::Issue,
    messages::Message,
    operation::GetReviewStatus,
    proposals::{ProposalRequest, ProposalResponse},
    review_lists::ListReviewsRequest,
    reviews::{ReviewStatusRequest, ReviewStatusResponse},
};
use domain::{ids::ReviewNumber, review::Status, text::count};
use serde::Serialize;
use serde_json::json;
use std::{fs, path::PathBuf};

/// Maximum number of reviews in one file.
const MAX_REVIEWS: usize = 1_000;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Issues for code scanning and editors, SARIF 2.1.0
    Sarif,
    /// Everything: rounds with diffs, verdicts, issues, discussion, timeline
    Json,
    /// A readable report
    Markdown,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Reviews to export: R-12, an id or its prefix, or a range R-3..R-9 [default: all that match the filters]
    #[arg(value_name = "REVIEW", add = completion::reviews())]
    reviews: Vec<String>,
    /// Output format
    #[arg(long, short = 'f', value_enum, default_value = "markdown")]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Export only reviews with this status
    #[arg(long, value_name = "STATUS", conflicts_with = "reviews", add = completion::names::<Status>())]
    status: Option<String>,
    /// Export only reviews of this project
    #[arg(long, value_name = "PROJECT", conflicts_with = "reviews", add = completion::projects())]
    project: Option<String>,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let format = if args.broker.json { Format::Json } else { args.format };
    let client = args.broker.connect().await?;
    let ids = match args.reviews.as_slice() {
        [] => list_ids(&client, args.status.as_deref(), args.project).await?,
        named => expand_ranges(named)?,
    };
    let mut bundles = Vec::with_capacity(ids.len());
    for id in &ids {
        bundles.push(fetch(&client, id).await?);
    }
    let text = match format {
        Format::Json => pretty_json(&json!({ "reviews": bundles }))?,
        Format::Sarif => pretty_json(&sarif::render(&bundles))?,
        Format::Markdown => markdown::render(&bundles),
    };
    match args.output {
        None => terminal::write_raw(text.as_bytes())?,
        Some(file) => {
            fs::write(&file, text).with_context(|| file.display().to_string())?;
            let issues: usize = bundles.iter().map(|bundle| bundle.issues.len()).sum();
            let (reviews, issues) = (count(bundles.len(), "review"), count(issues, "issue"));
            terminal::remark(&format!("{reviews}, {issues} → {}", file.display()));
        }
    }
    Ok(())
}

/// The named reviews, with ranges expanded.
fn expand_ranges(named: &[String]) -> Result<Vec<String>, CliError> {
    let mut ids = Vec::new();
    for name in named {
        let Some((first, last)) = name.split_once("..") else {
            ids.push(name.clone());
            continue;
        };
        let number = |name| ReviewNumber::parse(&review_args::id(name)).map(|number| number.0);
        match (number(first), number(last)) {
            (Some(first), Some(last)) if 0 < first && first <= last => {
                ids.extend((first..=last).take(MAX_REVIEWS + 1).map(|number| ReviewNumber(number).to_string()));
            }
            _ => {
                let error = anyhow!("{name}: not a range; expected R-3..R-9 with the smaller number first");
                return Err(CliError::usage(error));
            }
        }
    }
    if ids.len() > MAX_REVIEWS {
        return Err(CliError::usage(anyhow!("more than {MAX_REVIEWS} reviews; export them into several files")));
    }
    Ok(ids)
}

async fn list_ids(client: &Client, status: Option<&str>, project: Option<String>) -> Result<Vec<String>, CliError> {
    let request = ListReviewsRequest { status: parse_optional("status", status)?, project, ..Default::default() };
    let reviews = pagination::reviews(client, &request, MAX_REVIEWS).await?.reviews;
    Ok(reviews.iter().map(|review| review.head.review_id.to_string()).collect())
}

/// A review with all its rounds, issues, messages and events.
#[derive(Debug, Serialize)]
struct ReviewBundle {
    review: ReviewStatusResponse,
    rounds: Vec<ProposalResponse>,
    issues: Vec<Issue>,
    messages: Vec<Message>,
    timeline: Vec<TimelineRound>,
}

async fn fetch(client: &Client, id: &str) -> Result<ReviewBundle, CliError> {
    let request = ReviewStatusRequest { review_id: id.to_owned(), ..Default::default() };
    let review = client.execute::<GetReviewStatus>(&request).await?;
    let mut rounds = Vec::new();
    for round in 1..=review.head.current_round.max(1) {
        let request = ProposalRequest { review_id: id.to_owned(), round: Some(round), ..Default::default() };
        rounds.push(pagination::proposal(client, request).await?);
    }
    let issues = pagination::issues_of_review(client, id, None).await?.issues;
    let messages = pagination::discussion(client, id, None).await?;
    let timeline = pagination::timeline(client, id).await?.rounds;
    Ok(ReviewBundle { review, rounds, issues, messages, timeline })
}

fn pretty_json(value: &impl Serialize) -> Result<String, CliError> {
    Ok(format!("{:#}\n", serde_json::to_value(value)?))
}

#[cfg(test)]
mod tests {
    use super::expand_ranges;

    #[test]
    fn ranges_are_expanded_and_bounded() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(expand_ranges(&names(&["R-3..R-5", "d2ca"])).unwrap(), ["R-3", "R-4", "R-5", "d2ca"]);
        assert_eq!(expand_ranges(&names(&["7..7"])).unwrap(), ["R-7"]);
        for wrong in ["R-5..R-3", "a..b", "R-0..R-2", "R-1..R-99999999999"] {
            assert_eq!(expand_ranges(&names(&[wrong])).unwrap_err().code, 2, "{wrong}");
        }
    }
}
