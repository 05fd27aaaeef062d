//! `countersign list`: lists reviews.

use crate::{
    CliError,
    client::pagination::{PageArgs, collect},
    commands::watch::print_or_watch,
    error::{parse_optional, parse_variant},
    identity::{Caller, IdentityArgs},
    render::{Cell, format_age, next_page, one_line, style, table},
};
use api::{
    operation::ListReviews,
    reviews::{ListReviewsRequest, ListReviewsResponse, ReviewRow},
};
use domain::{priority::Priority, review::Status};

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
        let not_closed = || Status::ALL.iter().copied().filter(|status| *status != Status::Closed).collect();
        let (status, statuses) = match given.as_slice() {
            [only] => (Some(*only), None),
            [] if self.claimable => (Some(Status::Pending), None),
            [] if self.all => (None, None),
            [] => (None, Some(not_closed())),
            _ => (None, Some(given)),
        };
        Ok(ListReviewsRequest {
            status,
            statuses,
            participant: if self.mine { Some(caller.name()?) } else { None },
            caller_id: if self.claimable { caller.acting_name()? } else { None },
            category: parse_optional("category", self.category.as_deref())?,
            projects: Some(self.project.clone()).filter(|projects| !projects.is_empty()),
            ..Default::default()
        })
    }
}

fn render(list: &ListReviewsResponse) -> String {
    if list.reviews.is_empty() {
        return "no reviews\n".into();
    }
    let line = |review: &ReviewRow| {
        let free_seats = review.free_seats.len();
        let reviewer = match (&review.claimed_by, &review.reserved_for) {
            (Some(name), _) => one_line(name),
            (None, Some(name)) => format!("for {}", one_line(name)),
            (None, None) if free_seats > 1 => format!("{free_seats} seats free"),
            (None, None) => String::new(),
        };
        [
            Cell::styled(review.head.number.to_string(), style::BOLD),
            style::status(review.head.status),
            review.head.current_round.to_string().into(),
            priority(review.priority),
            one_line(review.proposer.identity()).into(),
            reviewer.into(),
            format_age(review.updated_at).into(),
            one_line(&review.intent).into(),
        ]
    };
    let table = table(["ID", "STATUS", "R", "", "BY", "REVIEWER", "AGE", "WHAT"], list.reviews.iter().map(line));
    table + &next_page(list.next_cursor.as_deref())
}

/// Empty for the default value.
fn priority(priority: Priority) -> Cell {
    match priority {
        Priority::Critical => Cell::styled("!", style::BAD),
        Priority::Low => Cell::styled("↓", style::DIM),
        Priority::Normal => "".into(),
    }
}
