//! `countersign reviewer`: lists, starts and stops the reviewers of the pool, and prints their logs.

use crate::{
    CliError,
    client::{
        BrokerArgs,
        pagination::{PageArgs, collect},
    },
    commands::watch_option::print_or_watch,
    completion,
    config_overrides::ConfigArgs,
    render::{clipped, cut_note, duration, execute_and_print, table},
    terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    operation::{KillReviewer, ListReviewers, SpawnReviewer},
    reviewer_pool::{KillReviewerRequest, ListReviewersRequest, ListReviewersResponse, Reviewer, SpawnReviewerRequest},
};
use config::reviewer_log_files;
use domain::text::escape;
use serde_json::json;
use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    time::Duration,
};

/// Interval between two reads of a followed file.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the pool, its running reviewers with statistics, and the last that ended
    List {
        /// Update the view after every event, until interrupted
        #[arg(long)]
        watch: bool,
        #[command(flatten)]
        page: PageArgs,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Start one more reviewer within the pool's limits; also ends a crash loop
    Spawn {
        /// Project to review for [default: the repository the broker was started in]
        #[arg(long, value_name = "PROJECT", add = completion::projects())]
        project: Option<String>,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Stop a reviewer after its current review; a dedicated reviewer does not come back
    Stop {
        /// Id or short name of the reviewer (codex-r1, security-R-12)
        #[arg(add = completion::reviewers())]
        reviewer: String,
        /// Stop it now; its review returns to the queue
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        broker: BrokerArgs,
    },
    /// Print the output of a reviewer
    Logs(LogsArgs),
}

pub(crate) async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::List { watch, page, broker } => {
            let client = broker.connect().await?;
            let fetch_page =
                async |cursor, limit| client.execute::<ListReviewers>(&ListReviewersRequest { limit, cursor }).await;
            let fetch = async || {
                collect(page.limit, page.cursor.clone(), fetch_page, |page| (&mut page.ended, &mut page.next_cursor))
                    .await
            };
            print_or_watch(&client, watch, None, render_pool, fetch).await
        }
        Command::Spawn { project, broker } => {
            let client = broker.connect().await?;
            let request = SpawnReviewerRequest { project };
            execute_and_print::<SpawnReviewer>(&client, &request, |reviewer| render_reviewer("starting", reviewer))
                .await
        }
        Command::Stop { reviewer, force, broker } => {
            let client = broker.connect().await?;
            let action = if force { "ending" } else { "draining" };
            let request = KillReviewerRequest { reviewer_id: reviewer, force: Some(force) };
            execute_and_print::<KillReviewer>(&client, &request, |reviewer| render_reviewer(action, reviewer)).await
        }
        Command::Logs(args) => logs(args).await,
    }
}

#[derive(Debug, clap::Args)]
pub struct LogsArgs {
    /// Id, prefix of the id, or short name (codex-r1: the last reviewer of that name)
    #[arg(add = completion::reviewers())]
    reviewer: String,
    /// Print only the last N lines
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
    /// Print JSON instead of text: the reviewer and its lines
    #[arg(long, conflicts_with = "follow")]
    json: bool,
    /// Print new output as it is written, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

async fn logs(args: LogsArgs) -> Result<(), CliError> {
    let folder = args.config.resolve(None)?.config.server.data_dir.reviewers();
    let name = &args.reviewer;
    let missing = || anyhow!("no log of {name:?} in {}; `countersign reviewer list` shows names", folder.display());
    let path = reviewer_log_files::find(&folder, name).ok_or_else(missing)?;
    let (text, file) = reviewer_log_files::read(&path).with_context(|| path.display().to_string())?;
    let text = reviewer_log_files::last_lines(&text, args.lines);
    if args.json {
        let lines: Vec<_> = String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
        let answer = json!({ "reviewer": path.file_stem().map(|name| name.to_string_lossy()), "lines": lines });
        return terminal::write_json(&format!("{answer:#}\n"));
    }
    terminal::write_raw(text)?;
    if args.follow { follow(&path, file).await } else { Ok(()) }
}

async fn follow(path: &Path, mut file: File) -> Result<(), CliError> {
    let mut more = Vec::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        more.clear();
        file.read_to_end(&mut more)?;
        terminal::write_raw(&more)?;
        // The file was rotated: the old one is read to its end, continue with the new one.
        let at = file.stream_position()?;
        if fs::metadata(path).is_ok_and(|meta| meta.len() < at) {
            file = File::open(path)?;
            file.seek(SeekFrom::Start(0))?;
        }
    }
}

const EXIT_COLUMNS: usize = 60;

/// One line about a reviewer that was started or stopped.
fn render_reviewer(action: &str, reviewer: &Reviewer) -> String {
    format!("{action} {} ({})\n", escape(&reviewer.reviewer_id), escape(&reviewer.state))
}

fn render_pool(pool: &ListReviewersResponse) -> String {
    let waiting: u64 = pool.waiting.iter().map(|project| project.pending).sum();
    let verb = if waiting == 1 { "review waits" } else { "reviews wait" };
    let (state, running, max) = (pool.state, pool.reviewers.len(), pool.max_size);
    let mut out = format!("pool {state}: {running} of {max} reviewers, {waiting} {verb}\n");
    if let Some(message) = &pool.message {
        let _ = writeln!(out, "  {}", escape(message));
    }
    for line in &pool.last_words {
        let _ = writeln!(out, "  | {}", escape(line));
    }
    for reviewer in &pool.reviewers {
        for line in &reviewer.last_words {
            let _ = writeln!(out, "  | {}: {}", escape(&reviewer.reviewer_id), escape(line));
        }
    }
    for reviewer in pool.dedicated.iter().filter(|reviewer| reviewer.state == "failed") {
        for line in &reviewer.last_words {
            let _ = writeln!(out, "  | {}: {}", escape(&reviewer.reviewer_id), escape(line));
        }
    }
    if !pool.queued.is_empty() {
        let seats: Vec<_> = pool.queued.iter().map(|seat| format!("{} of {}", seat.persona, seat.review)).collect();
        let _ = writeln!(out, "  waiting for a free place (max_size {max}): {}", escape(&seats.join(", ")));
    }
    if !pool.dedicated.is_empty() {
        let _ = write!(out, "\ndedicated\n{}", table(DEDICATED_HEAD, pool.dedicated.iter().map(dedicated_row)));
    }
    for (title, reviewers) in [("live", &pool.reviewers), ("ended", &pool.ended)] {
        if !reviewers.is_empty() {
            let _ = write!(out, "\n{title}\n{}", table(HEAD, reviewers.iter().map(row)));
        }
    }
    out + &cut_note(pool.ended.len(), pool.ended_total, pool.next_cursor.as_deref())
}

const HEAD: [&str; 9] = ["REVIEWER", "STATE", "PROJECT", "DONE", "APPROVED", "CHANGES", "REJECTED", "AVERAGE", "COST"];

fn row(reviewer: &Reviewer) -> [String; 9] {
    let state = match (reviewer.reviews.as_slice(), &reviewer.exit) {
        ([], None) => escape(&reviewer.state).into_owned(),
        // The exit of a one-shot reviewer can be a whole sentence. Its log has it in full.
        ([], Some(exit)) => clipped(exit, EXIT_COLUMNS),
        (reviews, _) => escape(&format!("{} {}", reviewer.state, reviews.join(" "))).into_owned(),
    };
    let seat: Vec<&str> = [&reviewer.project, &reviewer.persona].into_iter().flatten().map(String::as_str).collect();
    [
        escape(&reviewer.reviewer_id).into_owned(),
        state,
        escape(&seat.join("/")).into_owned(),
        reviewer.completed.to_string(),
        reviewer.approvals.to_string(),
        reviewer.changes_requested.to_string(),
        reviewer.rejections.to_string(),
        reviewer.average_ms.map(duration).unwrap_or_default(),
        cost(reviewer),
    ]
}

const DEDICATED_HEAD: [&str; 7] = ["REVIEWER", "STATE", "REVIEW", "BRANCH", "PERSONA", "TURNS", "COST"];

fn dedicated_row(reviewer: &Reviewer) -> [String; 7] {
    let text = |value: &Option<String>| escape(value.as_deref().unwrap_or_default()).into_owned();
    let fresh = reviewer.fresh_starts.filter(|fresh| *fresh > 0).map(|fresh| format!(" ({fresh} fresh)"));
    [
        escape(&reviewer.reviewer_id).into_owned(),
        escape(&reviewer.state).into_owned(),
        text(&reviewer.review),
        text(&reviewer.branch),
        text(&reviewer.persona),
        format!("{}{}", reviewer.turns.unwrap_or_default(), fresh.unwrap_or_default()),
        cost(reviewer),
    ]
}

/// Dollars if the client reports them, else tokens.
fn cost(reviewer: &Reviewer) -> String {
    match (reviewer.cost_usd, reviewer.input_tokens, reviewer.output_tokens) {
        (Some(cost), _, _) => format!("${cost:.2}"),
        (None, Some(input), Some(output)) => format!("{input}+{output} tokens"),
        (None, _, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::render_pool;
    use serde_json::json;

    #[test]
    fn a_pool_is_rendered_as_a_table() {
        let reviewer = |id: &str, state: &str| {
            json!({ "reviewer_id": id, "name": id, "state": state, "runtime": "codex", "project": "app", "why": "backlog",
                    "spawned_at": "2026-11-16T10:00:00Z", "pid": 7, "completed": 3, "approvals": 2, "comments": 0,
                    "changes_requested": 1, "rejections": 0, "average_ms": 61_500, "reviews": ["R-7"] })
        };
        let mut live = reviewer("codex-r2-a", "busy");
        live["last_words"] = json!(["waiting for network"]);
        let mut gone = reviewer("codex-r1-b", "ended");
        (gone["exit"], gone["reviews"], gone["cost_usd"]) = (json!("exit code 1"), json!([]), json!(0.5));
        let view = json!({
            "state": "crash_loop", "message": "fix it", "runtime": "codex", "last_words": ["no\u{1b}[31m key"], "max_size": 3,
            "waiting": [{ "pending": 4, "free_seats": 4 }, { "project": "app", "pending": 1, "free_seats": 1 }],
            "reviewers": [live], "ended": [gone],
        });
        let view = serde_json::from_value(view).unwrap();
        insta::assert_snapshot!("a_pool_is_rendered_as_a_table", anstream::adapter::strip_str(&render_pool(&view)));
    }
}
