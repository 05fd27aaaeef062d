//! `countersign reviewer`: lists, starts and stops the reviewers of the pool, pauses and limits it, and prints logs.

mod logs;

use logs::LogsArgs;

use crate::{
    CliError,
    client::{
        BrokerArgs, Client,
        pagination::{PageArgs, collect},
    },
    commands::watch_option::print_or_watch,
    completion,
    identity_args::IdentityArgs,
    render::{clipped, cut_note, duration, execute_and_print, table},
};
use api::{
    operation::{ControlPool, KillReviewer, ListReviewers, SpawnReviewer, StopReviewers},
    reviewer_pool::{
        ControlPoolRequest, ControlPoolResponse, KillReviewerRequest, ListReviewersRequest, ListReviewersResponse,
        Reviewer, SpawnReviewerRequest, StopReviewersRequest, StopReviewersResponse,
    },
};
use domain::{reviewer_pool::scaling::MAX_POOL_SIZE, text::escape};
use std::fmt::Write as _;

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
        /// Only for seats of this persona, which has a client or model of its own
        #[arg(long, value_name = "PERSONA", add = completion::personas())]
        persona: Option<String>,
        #[command(flatten)]
        caller: IdentityArgs,
    },
    /// Stop a reviewer after its current review; a dedicated reviewer does not come back
    Stop {
        /// Id or short name of the reviewer (codex-r1, security-R-12)
        #[arg(required_unless_present = "all", add = completion::reviewers())]
        reviewer: Option<String>,
        /// Stop all running reviewers; the pool starts others if reviews wait, unless it is paused
        #[arg(long, conflicts_with = "reviewer")]
        all: bool,
        /// Stop it now; its review returns to the queue
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        caller: IdentityArgs,
    },
    /// Start no more reviewers until `resume`, also after a restart of the broker; running ones continue
    Pause {
        #[command(flatten)]
        caller: IdentityArgs,
    },
    /// End a pause
    Resume {
        #[command(flatten)]
        caller: IdentityArgs,
    },
    /// Change how many reviewers run at once, until the broker ends (pool.max_size is the lasting setting)
    Limit {
        /// The most reviewers at once
        #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_POOL_SIZE as i64))]
        max_size: u16,
        #[command(flatten)]
        caller: IdentityArgs,
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
        Command::Spawn { project, persona, caller } => {
            let (client, caller_id) = connect(&caller).await?;
            let request = SpawnReviewerRequest { project, persona, caller_id };
            execute_and_print::<SpawnReviewer>(&client, &request, |reviewer| render_reviewer("starting", reviewer))
                .await
        }
        Command::Stop { reviewer, all: _, force, caller } => {
            let (client, caller_id) = connect(&caller).await?;
            let action = if force { "ending" } else { "draining" };
            match reviewer {
                Some(reviewer_id) => {
                    let request = KillReviewerRequest { reviewer_id, force: Some(force), caller_id };
                    execute_and_print::<KillReviewer>(&client, &request, |one| render_reviewer(action, one)).await
                }
                None => {
                    let request = StopReviewersRequest { force: Some(force), caller_id };
                    execute_and_print::<StopReviewers>(&client, &request, |all| render_stopped(action, all)).await
                }
            }
        }
        Command::Pause { caller } => control(caller, |request| request.paused = Some(true)).await,
        Command::Resume { caller } => control(caller, |request| request.paused = Some(false)).await,
        Command::Limit { max_size, caller } => {
            control(caller, |request| request.max_size = Some(max_size.into())).await
        }
        Command::Logs(args) => logs::run(args).await,
    }
}

/// The broker, and the name for its log.
async fn connect(caller: &IdentityArgs) -> Result<(Client, Option<String>), CliError> {
    let caller = caller.connect().await?;
    let name = caller.acting_name().unwrap_or_default();
    Ok((caller.client, name))
}

async fn control(caller: IdentityArgs, change: impl FnOnce(&mut ControlPoolRequest)) -> Result<(), CliError> {
    let (client, caller_id) = connect(&caller).await?;
    let mut request = ControlPoolRequest { caller_id, ..ControlPoolRequest::default() };
    change(&mut request);
    execute_and_print::<ControlPool>(&client, &request, render_control).await
}

fn render_control(pool: &ControlPoolResponse) -> String {
    let ControlPoolResponse { state, running, max_size, configured_max_size, .. } = pool;
    let mut out = format!("pool {state}: {running} of {max_size} reviewers\n");
    if let Some(message) = &pool.message {
        let _ = writeln!(out, "  {}", escape(message));
    }
    if max_size != configured_max_size {
        let _ = writeln!(
            out,
            "  until the broker ends; pool.max_size is {configured_max_size} (`countersign config set pool.max_size \
             {max_size}` lasts)"
        );
    }
    out
}

fn render_stopped(action: &str, stopped: &StopReviewersResponse) -> String {
    if stopped.reviewers.is_empty() {
        return "no reviewer runs\n".into();
    }
    stopped.reviewers.iter().map(|reviewer| render_reviewer(action, reviewer)).collect()
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
    if let Some(configured) = pool.configured_max_size {
        let _ = writeln!(out, "  the limit was changed for this run of the broker; pool.max_size is {configured}");
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
