//! `countersign export`: writes reviews as SARIF, JSON or Markdown.

use crate::{
    CliError,
    client::{BrokerArgs, Client, pagination},
    completion,
    error::parse_optional,
    review_args, terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    exports::{ExportFormat, Sink, write_reviews},
    review_lists::ListReviewsRequest,
};
use domain::{ids::ReviewNumber, review::Status, text::count};
use std::{fs::File, io::Write as _, path::PathBuf};

/// Maximum number of reviews in one file.
const MAX_REVIEWS: usize = 1_000;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Issues for code scanning and editors, SARIF 2.1.0
    Sarif,
    /// Everything: rounds with diffs, verdicts, issues, discussion, timeline
    Json,
    /// Everything, one review per line
    Jsonl,
    /// A readable report
    Markdown,
}

impl From<Format> for ExportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Sarif => Self::Sarif,
            Format::Json => Self::Json,
            Format::Jsonl => Self::Jsonl,
            Format::Markdown => Self::Markdown,
        }
    }
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
    let format = if args.broker.json { ExportFormat::Json } else { args.format.into() };
    let client = args.broker.connect().await?;
    let ids = match args.reviews.as_slice() {
        [] => list_ids(&client, args.status.as_deref(), args.project).await?,
        named => expand_ranges(named)?,
    };
    let mut output = Output { path: args.output, file: None };
    let exported = write_reviews(&client, &ids, format, &mut output).await?;
    if let Some(path) = &output.path {
        let (reviews, issues) = (count(exported.reviews, "review"), count(exported.issues, "issue"));
        terminal::remark(&format!("{reviews}, {issues} → {}", path.display()));
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

/// Where the export goes: to this file, else to stdout. The file is opened for the first part, so an export that fails at
/// once does not touch it.
struct Output {
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Sink for Output {
    type Error = CliError;

    async fn write(&mut self, text: String) -> Result<(), CliError> {
        let Some(path) = &self.path else { return terminal::write_raw(text.as_bytes()) };
        if self.file.is_none() {
            self.file = Some(File::create(path).with_context(|| path.display().to_string())?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        Ok(file.write_all(text.as_bytes()).with_context(|| path.display().to_string())?)
    }
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
