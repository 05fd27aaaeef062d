//! `countersign activity`: lists recent activity, one line each.

use crate::{
    CliError,
    client::pagination::collect,
    client::rest::{BrokerArgs, Remote},
    render::{format_age, next_page, one_line, print, table},
};
use api::{
    history::{ActivityEntry, ActivityRequest, ActivityResponse},
    operation::GetActivityFeed,
};
use domain::text::escape;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show only activity in this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Maximum number of entries
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue after an earlier page: its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    at: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let json = args.at.json;
    let broker = Remote::find(args.at).await?;
    let (entries, next_cursor) = collect(args.limit, args.cursor, async |cursor, limit| {
        let request = ActivityRequest { project: args.project.clone(), limit: Some(limit), cursor };
        let page = broker.execute::<GetActivityFeed>(&request).await?;
        Ok((page.entries, page.next_cursor))
    })
    .await?;
    print(json, &ActivityResponse { entries, next_cursor }, render)
}

fn render(feed: &ActivityResponse) -> String {
    let line = |entry: &ActivityEntry| {
        let mut what = escape(&entry.text).into_owned();
        if let Some(preview) = &entry.preview {
            what.push_str(&format!(": {}", one_line(preview)));
        }
        let number = entry.number.map(|number| number.to_string()).unwrap_or_default();
        [entry.seq.to_string(), format_age(entry.at), number, what]
    };
    let lines: Vec<_> = feed.entries.iter().map(line).collect();
    table(["SEQ", "AGE", "REVIEW", "WHAT"], &lines) + &next_page(feed.next_cursor.as_deref())
}
