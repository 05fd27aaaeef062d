//! `countersign list`: lists reviews.

use crate::{
    CliError,
    commands::watch,
    identity::{Caller, IdentityArgs, proposer},
    render::{Cell, age, one_line, print, rows, style, table, text},
};
use serde_json::{Value, json};

/// Reviews per request if the list is filtered here.
const PAGE: usize = 200;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only with this status; repeatable
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Include closed reviews
    #[arg(long, conflicts_with = "status")]
    all: bool,
    /// Only reviews that you proposed or hold
    #[arg(long)]
    mine: bool,
    /// Only reviews that you could claim now, in queue order
    #[arg(long, conflicts_with_all = ["status", "mine", "all"])]
    claimable: bool,
    /// Only of this project; repeatable
    #[arg(long, value_name = "PROJECT")]
    project: Vec<String>,
    /// Only of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Maximum number of reviews
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue after an earlier page: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Redraw at every event until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    if args.watch {
        let ask = async || args.list(&args.by.begin().await?).await;
        return watch::redraw(&args.by.at, &[], shown, ask).await;
    }
    let caller = args.by.begin().await?;
    print(caller.json, &args.list(&caller).await?, shown)
}

impl Args {
    async fn list(&self, caller: &Caller) -> Result<Value, CliError> {
        let whose = if self.mine || self.claimable { caller.speaks_as()? } else { None };
        if self.mine {
            caller.name()?;
        }
        let mut arguments = self.arguments(whose);
        let mut found: Vec<Value> = Vec::new();
        loop {
            let left = self.limit.saturating_sub(found.len());
            // Some filters apply here and not in the broker, so one page may need several requests.
            let filters = self.mine || self.hides_closed() || self.status.len() > 1;
            arguments["limit"] = json!(if filters { PAGE } else { left.clamp(1, PAGE) });
            let mut page = caller.call("list_reviews", arguments.clone()).await?;
            let fits = rows(&page, "reviews").iter().filter(|row| self.wants(caller, row));
            let fits: Vec<_> = fits.take(left).cloned().collect();
            let is_full = fits.len() == left;
            found.extend(fits);
            let cursor = page["next_cursor"].take();
            if is_full || !cursor.is_string() {
                // The cursor points behind the whole page of the broker, of which only a part was printed.
                let next = if filters { Value::Null } else { cursor };
                return Ok(answer(page, found, next));
            }
            arguments["cursor"] = cursor;
        }
    }

    fn arguments(&self, whose: Option<&str>) -> Value {
        let projects = Some(&self.project).filter(|projects| !projects.is_empty());
        let status = match self.status.as_slice() {
            [only] => Some(only.as_str()),
            _ => self.claimable.then_some("pending"),
        };
        let caller_id = whose.filter(|_| self.claimable);
        json!({
            "status": status, "category": self.category, "projects": projects, "caller_id": caller_id,
            "cursor": self.cursor,
        })
    }

    fn hides_closed(&self) -> bool {
        !self.all && self.status.is_empty() && !self.claimable
    }

    fn wants(&self, caller: &Caller, row: &Value) -> bool {
        let status = row["status"].as_str().unwrap_or_default();
        let in_status = match self.status.as_slice() {
            [] => !self.hides_closed() || status != "closed",
            given => given.iter().any(|given| given == status),
        };
        let claimable = !self.claimable || !caller.has_proposed(row);
        in_status && claimable && (!self.mine || caller.has_proposed(row) || caller.holds(row))
    }
}

fn answer(mut page: Value, found: Vec<Value>, next_cursor: Value) -> Value {
    page["reviews"] = found.into();
    if let Some(fields) = page.as_object_mut() {
        fields.remove("next_cursor");
        if next_cursor.is_string() {
            fields.insert("next_cursor".into(), next_cursor);
        }
    }
    page
}

fn shown(page: &Value) -> String {
    let reviews = rows(page, "reviews");
    if reviews.is_empty() {
        return "no reviews\n".into();
    }
    let line = |row: &Value| {
        let seats = rows(row, "free_seats").len();
        let who = match (row["claimed_by"].as_str(), row["reserved_for"].as_str()) {
            (Some(by), _) => one_line(by),
            (None, Some(by)) => format!("for {}", one_line(by)),
            (None, None) if seats > 1 => format!("{seats} seats free"),
            (None, None) => String::new(),
        };
        [
            Cell::styled(text(row, "number"), style::BOLD),
            style::status(row["status"].as_str().unwrap_or_default()),
            row["current_round"].to_string().into(),
            priority(row),
            one_line(proposer(row).as_str().unwrap_or_default()).into(),
            who.into(),
            age(row, "updated_at").into(),
            one_line(row["intent"].as_str().unwrap_or_default()).into(),
        ]
    };
    let lines: Vec<_> = reviews.iter().map(line).collect();
    let mut out = table(["ID", "STATUS", "R", "", "BY", "REVIEWER", "AGE", "WHAT"], &lines);
    if page["next_cursor"].is_string() {
        out.push_str(&format!("there are more: --cursor {}\n", text(page, "next_cursor")));
    }
    out
}

/// Empty for the default value.
fn priority(row: &Value) -> Cell {
    match row["priority"].as_str() {
        Some("critical") => Cell::styled("!", style::BAD),
        Some("low") => Cell::styled("↓", style::DIM),
        _ => "".into(),
    }
}
