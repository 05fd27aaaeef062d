//! `countersign reviewer logs`: prints the output of a reviewer, from the files of the data folder or by the broker.

use crate::{
    CliError,
    client::{BrokerArgs, Client},
    completion, terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    operation::GetReviewerLogs,
    reviewer_pool::{ReviewerLogRequest, ReviewerLogResponse},
};
use config::{
    DataDir,
    reviewer_log_files::{self, ReviewerLog},
};
use serde_json::{Value, json};

/// How much is read and printed at once.
const PART_BYTES: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub struct LogsArgs {
    /// Id, prefix of the id, or short name (codex-r1: the last reviewer of that name)
    #[arg(add = completion::reviewers())]
    reviewer: String,
    /// Print only the last N lines
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
    /// Begin at this byte, counted since the log began
    #[arg(long, value_name = "OFFSET", conflicts_with = "lines")]
    from: Option<u64>,
    /// Print new output as it is written, until the reviewer has ended
    #[arg(long, short = 'f', conflicts_with = "json")]
    follow: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(super) async fn run(args: LogsArgs) -> Result<(), CliError> {
    if args.follow || args.broker.has_url() {
        let (data_dir, client) = args.broker.connect_if_running().await?;
        return match client {
            Some(client) if args.follow => follow(&client, &args).await,
            Some(client) => print_all(&client, &args).await,
            // Without a broker no reviewer runs.
            None => print_files(&data_dir, &args),
        };
    }
    print_files(&args.broker.data_dir()?, &args)
}

async fn follow(client: &Client, args: &LogsArgs) -> Result<(), CliError> {
    let from = args.from.or_else(|| args.lines.is_none().then_some(0));
    let request =
        ReviewerLogRequest { reviewer_id: args.reviewer.clone(), from, lines: args.lines, ..Default::default() };
    let mut next = from.unwrap_or_default();
    let mut stream = client.follow_log(request).await?;
    let mut is_first = true;
    while let Some(part) = stream.next().await? {
        if !is_first || from.is_some() {
            remark_dropped(next, part.from);
        }
        (next, is_first) = (part.next, false);
        terminal::write_raw(part.text.as_bytes())?;
    }
    Ok(())
}

fn remark_dropped(asked: u64, given: u64) {
    if given > asked {
        terminal::remark(&format!("{} bytes are not kept any more", given - asked));
    }
}

/// Prints what the broker has, without waiting for more.
async fn print_all(client: &Client, args: &LogsArgs) -> Result<(), CliError> {
    let reviewer_id = args.reviewer.clone();
    let mut request = match args.lines {
        Some(lines) => ReviewerLogRequest { reviewer_id, lines: Some(lines), ..Default::default() },
        None => from_offset(reviewer_id, args.from.unwrap_or(0)),
    };
    let mut text = String::new();
    loop {
        let ReviewerLogResponse { reviewer_id, text: part, from, next, total_bytes, .. } =
            client.execute::<GetReviewerLogs>(&request).await?;
        if let Some(asked) = request.from {
            remark_dropped(asked, from);
        }
        if client.json {
            text.push_str(&part);
        } else {
            terminal::write_raw(part.as_bytes())?;
        }
        if args.lines.is_some() || next >= total_bytes {
            return if client.json { print_json(&reviewer_id, &text) } else { Ok(()) };
        }
        request = from_offset(reviewer_id, next);
    }
}

fn from_offset(reviewer_id: String, from: u64) -> ReviewerLogRequest {
    ReviewerLogRequest { reviewer_id, from: Some(from), bytes: Some(PART_BYTES), lines: None }
}

fn print_files(data_dir: &DataDir, args: &LogsArgs) -> Result<(), CliError> {
    let (folder, name) = (data_dir.reviewers(), &args.reviewer);
    let missing = || anyhow!("no log of {name:?} in {}; `countersign reviewer list` shows names", folder.display());
    let path = reviewer_log_files::find(&folder, name).ok_or_else(missing)?;
    let read = || path.display().to_string();
    let log = ReviewerLog::open(&path).with_context(read)?;
    let mut next = match (args.lines, args.from) {
        (Some(lines), _) => log.offset_of_last_lines(lines, u64::MAX).with_context(read)?,
        (None, Some(from)) if from > log.end() => {
            return Err(anyhow!("{from} is beyond the end of the log, which has {} bytes", log.end()).into());
        }
        (None, from) => from.unwrap_or_default(),
    };
    if args.from.is_some() {
        remark_dropped(next, log.start());
    }
    let mut text = String::new();
    loop {
        let part = log.read(next, PART_BYTES).with_context(read)?;
        if part.text.is_empty() {
            break;
        }
        next = part.next();
        if args.broker.json {
            text.push_str(&String::from_utf8_lossy(&part.text));
        } else {
            terminal::write_raw(&part.text)?;
        }
    }
    if args.broker.json { print_json(&path.file_stem().unwrap_or_default().to_string_lossy(), &text) } else { Ok(()) }
}

fn print_json(reviewer: &str, text: &str) -> Result<(), CliError> {
    let lines: Vec<Value> = text.lines().map(Value::from).collect();
    terminal::write_json(&format!("{:#}\n", json!({ "reviewer": reviewer, "lines": lines })))
}
