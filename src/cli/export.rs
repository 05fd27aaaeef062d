//! `countersign export`: reviews as files for other tools and other people: SARIF, JSON or Markdown.

mod bundle;
mod markdown;
mod sarif;

use super::{
    Failure, USAGE,
    remote::{At, Remote},
    render::{rows, text},
    terminal,
};
use anyhow::{Context as _, anyhow};
use serde_json::json;
use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

/// More reviews than anybody reads in one file.
const MAX_REVIEWS: usize = 1_000;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Issues for code scanning and editors, SARIF 2.1.0
    Sarif,
    /// Everything: rounds with their diffs, verdicts, issues, discussion, timeline
    Json,
    /// A report to read
    Markdown,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// R-12, an id or the beginning of one, several of them, or R-3..R-9 [default: the reviews that the filters leave]
    #[arg(value_name = "REVIEW")]
    reviews: Vec<String>,
    /// The format
    #[arg(long, short = 'f', value_enum, default_value = "markdown")]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only reviews in this status
    #[arg(long, value_name = "STATUS", conflicts_with = "reviews")]
    status: Option<String>,
    /// Only of this project
    #[arg(long, value_name = "PROJECT", conflicts_with = "reviews")]
    project: Option<String>,
    #[command(flatten)]
    at: At,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let format = if args.at.json { Format::Json } else { args.format };
    let broker = Remote::find(args.at).await?;
    let ids = match args.reviews.as_slice() {
        [] => listed(&broker, args.status.as_deref(), args.project.as_deref()).await?,
        named => chosen(named)?,
    };
    let mut bundles = Vec::with_capacity(ids.len());
    for id in &ids {
        bundles.push(bundle::gather(&broker, id).await?);
    }
    let text = match format {
        Format::Json => format!("{:#}\n", json!({ "reviews": bundles })),
        Format::Sarif => format!("{:#}\n", sarif::of(&bundles)),
        Format::Markdown => markdown::of(&bundles),
    };
    match args.output {
        None => terminal::write_raw(text.as_bytes())?,
        Some(file) => {
            fs::write(&file, text).with_context(|| file.display().to_string())?;
            let issues: usize = bundles.iter().map(|bundle| rows(bundle, "issues").len()).sum();
            let _ = writeln!(io::stderr(), "{} reviews, {issues} issues → {}", bundles.len(), file.display());
        }
    }
    Ok(())
}

/// The reviews somebody has named, ranges spread out.
fn chosen(named: &[String]) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for name in named {
        match name.split_once("..") {
            None => ids.push(name.clone()),
            Some((first, last)) => match (plain_number(first), plain_number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    ids.extend((first..=last).take(MAX_REVIEWS + 1).map(|number| format!("R-{number}")));
                }
                _ => return Err(Failure::new(USAGE, anyhow!("{name}: a range is R-3..R-9, the smaller number first"))),
            },
        }
    }
    if ids.len() > MAX_REVIEWS {
        return Err(Failure::new(USAGE, anyhow!("more than {MAX_REVIEWS} reviews; export them in several files")));
    }
    Ok(ids)
}

fn plain_number(name: &str) -> Option<u64> {
    name.strip_prefix("R-")
        .or_else(|| name.strip_prefix("r-"))
        .unwrap_or(name)
        .parse()
        .ok()
        .filter(|number| *number > 0)
}

async fn listed(broker: &Remote, status: Option<&str>, project: Option<&str>) -> Result<Vec<String>, Failure> {
    let wanted = json!({ "status": status, "project": project });
    let found = broker.pages("list_reviews", wanted, "reviews", MAX_REVIEWS).await?;
    Ok(rows(&found, "reviews").iter().map(|review| text(review, "review_id")).collect())
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn ranges_are_spread_out_and_bounded() {
        let names = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&names(&["R-3..R-5", "d2ca"])).unwrap(), ["R-3", "R-4", "R-5", "d2ca"]);
        assert_eq!(chosen(&names(&["7..7"])).unwrap(), ["R-7"]);
        for wrong in ["R-5..R-3", "a..b", "R-0..R-2", "R-1..R-99999999999"] {
            assert_eq!(chosen(&names(&[wrong])).unwrap_err().code, 2, "{wrong}");
        }
    }
}
