//! `countersign claim`: takes a seat of a review.

use crate::{
    CliError,
    identity::IdentityArgs,
    render::{indented, one_line, print, review, text},
};
use serde_json::{Value, json};

/// Files that are listed after a claim.
const MAX_FILES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// R-12, 12, an id or the beginning of one
    review: String,
    /// Seat to take, if there are several [default: the first free one]
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let review = crate::review_arg::id(&args.review);
    let what = json!({ "review_id": review, "reviewer_id": caller.speaks_as()?, "persona": args.persona });
    print(caller.json, &caller.call("claim_review", what).await?, render)
}

fn render(claimed: &Value) -> String {
    let number = text(claimed, "number");
    if claimed["auto_rejected"] == true {
        let words = one_line(claimed["validation_error"].as_str().unwrap_or_default());
        return format!("{number} was sent back: its diff does not apply\n{}", indented(&words, 2));
    }
    let head = format!("{number} is yours: seat {}, claim {}\n", text(claimed, "seat"), claimed["claim_generation"]);
    let intent = indented(&one_line(claimed["intent"].as_str().unwrap_or_default()), 2);
    let steps = [("diff", "what it changes"), ("respond", "your verdict"), ("release", "to give it back")];
    let steps = steps.map(|(word, why)| (format!("countersign {word} {number}"), why));
    head + &intent + &review::files(claimed, MAX_FILES) + &review::part("next") + &review::commands(&steps)
}
