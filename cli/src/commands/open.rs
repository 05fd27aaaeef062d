//! `countersign open`: opens the page of the running broker in a browser, and signs the browser in if the broker requires
//! a token.

pub(super) mod browser;

use crate::{
    CliError,
    client::{self, BrokerArgs, Client},
    completion, review_args, terminal,
};
use api::{
    operation::NoArguments,
    operation::{GetReviewStatus, GetWhoami},
    reviews::ReviewStatusRequest,
    sign_in::{SESSION_CODES_PATH, SessionCode},
};
use serde_json::{Map, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Review to open: R-12, 12, an id or the beginning of one [default: the start page]
    #[arg(value_name = "REVIEW", add = completion::reviews())]
    review: Option<String>,
    /// Print the address, with the code that signs in, and open nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let client = args.broker.connect().await?;
    let path = match &args.review {
        Some(given) => review_path(&client, review_args::id(given)).await?,
        None => "/".to_owned(),
    };
    let signing_in = sign_in_path(&client, &path).await?;
    let (page, target) = (client.page_url(&path), client.page_url(signing_in.as_deref().unwrap_or(&path)));
    if args.print {
        if signing_in.is_some() {
            terminal::remark("the address signs in once, within half a minute");
        }
        return write(&client, &target);
    }
    // Without the code: what is printed may be kept.
    write(&client, &page)?;
    browser::open(&target).await
}

fn write(client: &Client, url: &str) -> Result<(), CliError> {
    if client.json { terminal::write_pretty_json(&json!({ "url": url })) } else { terminal::write(&format!("{url}\n")) }
}

async fn review_path(client: &Client, review_id: String) -> Result<String, CliError> {
    let request = ReviewStatusRequest { review_id, ..Default::default() };
    let review = client.execute::<GetReviewStatus>(&request).await?;
    Ok(client::review_path(review.head.number))
}

/// The path that signs the browser in and goes on to `next`; `None` if the broker requires no token. The code is in the
/// fragment, which a browser does not send.
async fn sign_in_path(client: &Client, next: &str) -> Result<Option<String>, CliError> {
    let whoami = client.execute::<GetWhoami>(&NoArguments {}).await?;
    if !whoami.token_required {
        return Ok(None);
    }
    if whoami.authority.is_none() {
        terminal::remark("this broker requires a token: set COUNTERSIGN_TOKEN, or paste a token into the page");
        return Ok(None);
    }
    let SessionCode { code, .. } = client.post(SESSION_CODES_PATH, Map::new()).await?;
    Ok(Some(format!("/sign-in#code={code}&next={next}")))
}
