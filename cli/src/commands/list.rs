//! `countersign list`: lists reviews.

use crate::{
    CliError,
    client::pagination::{PageArgs, collect},
    commands::watch_option::print_or_watch,
    completion,
    error::{parse_optional, parse_variant, possible_values},
    identity_args::{Caller, IdentityArgs},
    render::{Cell, cut_note, format_age, one_line, review, style, table},
};
use api::{
    operation::ListReviews,
    review_lists::{ListReviewsRequest, ListReviewsResponse, ListedOrder, ReviewRow},
};
use domain::{
    credential::Authority,
    priority::Priority,
    review::{Category, Status},
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only with this status; repeatable
    #[arg(long, value_name = "STATUS", add = completion::names::<Status>())]
    status: Vec<String>,
    /// Include cancelled and closed reviews
    #[arg(long, conflicts_with = "status")]
    all: bool,
    /// In the order of the queue: by priority, then oldest first [default: newest first; --claimable is in that order]
    #[arg(long)]
    by_priority: bool,
    /// Only reviews that you proposed or hold
    #[arg(long)]
    mine: bool,
    /// Only reviews that you could claim now, in queue order
    #[arg(long, conflicts_with_all = ["status", "mine", "all"])]
    claimable: bool,
    /// Only reviews that wait for you
    #[arg(long, conflicts_with_all = ["all", "claimable"])]
    my_turn: bool,
    /// Role in which it is your turn; operator adds the reviews that wait for one [default: proposer and reviewer, or the
    /// token's role]
    #[arg(long, value_name = "ROLE", requires = "my_turn", value_parser = possible_values::<Authority>())]
    role: Option<Authority>,
    /// Only of this project; repeatable
    #[arg(long, value_name = "PROJECT", add = completion::projects())]
    project: Vec<String>,
    /// Only of this category
    #[arg(long, value_name = "CATEGORY", add = completion::names::<Category>())]
    category: Option<String>,
    /// Only proposed by this name
    #[arg(long, value_name = "NAME")]
    proposer: Option<String>,
    /// Only with a seat of this persona
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
    persona: Option<String>,
    /// Only of this branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Only with this text in the intent, in any case, or with this number
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    /// Redraw at every event until interrupted
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.identity.connect().await?;
    let request = args.request(&caller)?;
    let fetch_page = async |cursor, limit| {
        let request = ListReviewsRequest { cursor, limit, ..request.clone() };
        let mut page = caller.client.execute::<ListReviews>(&request).await?;
        page.reviews.retain(|review| !args.claimable || !caller.is(review.proposer.identity()));
        Ok(page)
    };
    let fetch = async || {
        collect(args.page.limit, args.page.cursor.clone(), fetch_page, |page| {
            (&mut page.reviews, &mut page.next_cursor)
        })
        .await
    };
    print_or_watch(&caller.client, args.watch, None, render, fetch).await
}

impl Args {
    fn request(&self, caller: &Caller) -> Result<ListReviewsRequest, CliError> {
        let given: Vec<_> = self.status.iter().map(|name| parse_variant("status", name)).collect::<Result<_, _>>()?;
        let names_none = given.is_empty() && !self.claimable && !self.my_turn && !self.all;
        let (status, statuses) = match given.as_slice() {
            [only] => (Some(*only), None),
            [] if self.claimable => (Some(Status::Pending), None),
            [] => (None, None),
            _ => (None, Some(given)),
        };
        Ok(ListReviewsRequest {
            status,
            statuses,
            open: names_none.then_some(true),
            order: self.by_priority.then_some(ListedOrder::Priority),
            participant: if self.mine { Some(caller.name()?) } else { None },
            my_turn: self.my_turn.then_some(true),
            role: self.role,
            caller_id: if self.claimable || self.my_turn { caller.acting_name()? } else { None },
            category: parse_optional("category", self.category.as_deref())?,
            proposer: self.proposer.clone(),
            persona: self.persona.clone(),
            branch: self.branch.clone(),
            q: self.search.clone(),
            projects: Some(self.project.clone()).filter(|projects| !projects.is_empty()),
            ..Default::default()
        })
    }
}

fn render(list: &ListReviewsResponse) -> String {
    if list.reviews.is_empty() {
        return "no reviews\n".into();
    }
    let line = |row: &ReviewRow| {
        let mut parties: Vec<String> = row.head.waiting_on.iter().map(review::party).collect();
        parties.dedup();
        let turn = match parties.as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} +{}", others.len()),
        };
        [
            Cell::styled(row.head.number.to_string(), style::BOLD),
            style::status(row.head.status),
            row.head.current_round.to_string().into(),
            priority(row.priority),
            one_line(row.proposer.identity()).into(),
            turn.into(),
            format_age(row.updated_at).into(),
            work(row).into(),
            one_line(&row.intent).into(),
        ]
    };
    // An empty title hides the column.
    let work = if list.reviews.iter().any(|row| !work(row).is_empty()) { "PHASE/PLAN/TASK" } else { "" };
    let table = table(["ID", "STATUS", "R", "", "BY", "WAITS FOR", "AGE", work, "WHAT"], list.reviews.iter().map(line));
    table + &cut_note(list.reviews.len(), list.total, list.next_cursor.as_deref())
}

/// Empty for a review that belongs to no planned work.
fn work(row: &ReviewRow) -> String {
    review::work(&row.proposer).map(|work| work.in_short()).unwrap_or_default()
}

/// Empty for the default value.
fn priority(priority: Priority) -> Cell {
    match priority {
        Priority::Critical => Cell::styled("!", style::BAD),
        Priority::Low => Cell::styled("↓", style::DIM),
        Priority::Normal => "".into(),
    }
}
