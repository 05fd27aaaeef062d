//! `countersign respond`: submits a verdict with findings.

mod written;

use crate::{
    CliError,
    commands::request::source::read,
    editor,
    identity::{Caller, IdentityArgs, Side},
    render::issue,
    render::review,
    render::{print, rows, style, text},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::{Context as _, anyhow};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    #[command(flatten)]
    verdict: VerdictArgs,
    /// Reason of the verdict; required except for an approval
    #[arg(long = "message", short = 'm', value_name = "REASON")]
    reason: Option<String>,
    /// Summary in a sentence or two
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Add an issue: 'high src/a.rs:10-12 title: text'; severity critical, high, medium or low; the location is optional
    #[arg(long = "issue", value_name = "ISSUE")]
    issues: Vec<String>,
    /// Add a suggestion that does not block, in the format of --issue without a severity
    #[arg(long = "suggestion", value_name = "SUGGESTION")]
    suggestions: Vec<String>,
    /// Read the verdict from a JSON, TOML or text file (docs/cli.md), or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the verdict in the editor ($VISUAL, $EDITOR); the default if no other input is given
    #[arg(long, conflicts_with = "file")]
    edit: bool,
    /// Attach a counter-patch from a file, or from stdin with -
    #[arg(long, value_name = "FILE")]
    counter_patch: Option<PathBuf>,
    /// Seat to take, if there are several
    #[arg(long, value_name = "PERSONA")]
    persona: Option<String>,
    /// content_hash of the content you read; the verdict is refused if the content has changed
    #[arg(long, value_name = "HASH")]
    content_hash: Option<String>,
    #[command(flatten)]
    by: IdentityArgs,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct VerdictArgs {
    /// Approve this content
    #[arg(long)]
    approve: bool,
    /// Ask for another round
    #[arg(long)]
    request_changes: bool,
    /// Reject the change as a whole
    #[arg(long)]
    reject: bool,
    /// Comment without a decision
    #[arg(long)]
    comment: bool,
}

impl VerdictArgs {
    fn word(&self) -> Option<&'static str> {
        let words = [
            (self.approve, "approved"),
            (self.request_changes, "changes_requested"),
            (self.reject, "rejected"),
            (self.comment, "comment"),
        ];
        words.into_iter().find(|(given, _)| *given).map(|(_, word)| word)
    }
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find(&caller, Side::Reviewer).await?;
    let review = caller.call("get_review_status", json!({ "review_id": which })).await?;
    // Check this before the user writes text that could not be sent.
    if caller.has_proposed(&review) {
        let words =
            "is your own proposal; another reviewer has to review it, or pass --as NAME if you are not its proposer";
        return Err(CliError::refuse("own_proposal", format!("{} {words}", text(&review, "number"))));
    }
    if !caller.is_named() && !terminal::is_interactive() {
        return Err(CliError::usage(anyhow!("no identity for this verdict; pass --as NAME or set COUNTERSIGN_NAME")));
    }
    let mut said = args.said(&review).await?;
    if let Some(hash) = &args.content_hash {
        said.insert("content_hash".into(), hash.as_str().into());
    }
    let taken = give(&caller, &review, args.persona.as_deref(), said).await?;
    print(caller.json, &taken, shown)
}

/// Submits a verdict for the seat that the caller holds, or for a free one. It applies to the content at the time of the
/// claim, unless a content hash is given.
pub(crate) async fn give(
    caller: &Caller,
    review: &Value,
    persona: Option<&str>,
    said: Map<String, Value>,
) -> Result<Value, CliError> {
    let seat = Seat::take(caller, review, persona).await?;
    let mut verdict = Value::Object(said);
    verdict["review_id"] = review["review_id"].clone();
    verdict["reviewer_id"] = caller.speaks_as()?.into();
    verdict["claim_generation"] = seat.generation.clone();
    if verdict["content_hash"].is_null() {
        verdict["content_hash"] = seat.content_hash.clone();
    }
    let given = caller.call("submit_verdict", verdict).await;
    if given.is_err() {
        seat.leave(caller, review).await;
    }
    given
}

impl Args {
    /// The verdict and its findings. Options take precedence over a file.
    async fn said(&self, review: &Value) -> Result<Map<String, Value>, CliError> {
        let mut said = match &self.file {
            Some(file) => written::read(&read(file)?, Some(file)).with_context(|| file.display().to_string()),
            None if self.edit || self.wants_editor() => written::prose(&editor::edit(&template(review)).await?),
            None => Ok(Map::new()),
        }
        .map_err(CliError::usage)?;
        let texts = [
            ("verdict", self.verdict.word()),
            ("reason", self.reason.as_deref()),
            ("summary", self.summary.as_deref()),
        ];
        said.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
        for (key, specs, is_issue) in [("issues", &self.issues, true), ("suggestions", &self.suggestions, false)] {
            let found: Result<Vec<_>, _> = specs.iter().map(|spec| written::finding(spec, is_issue)).collect();
            let list = said.entry(key).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.extend(found.map_err(CliError::usage)?);
            }
        }
        if let Some(file) = &self.counter_patch {
            said.insert("counter_patch".into(), read(file)?.into());
        }
        if !said.get("verdict").is_some_and(Value::is_string) {
            let words = "what is the verdict? --approve, --request-changes, --reject or --comment";
            return Err(CliError::usage(anyhow!(words)));
        }
        Ok(said)
    }

    fn wants_editor(&self) -> bool {
        let says_nothing = self.verdict.word().is_none() && self.reason.is_none() && self.issues.is_empty();
        says_nothing && terminal::is_interactive()
    }
}

/// The seat of the verdict.
struct Seat {
    generation: Value,
    content_hash: Value,
    /// Claimed only for this verdict.
    is_new: bool,
}

impl Seat {
    /// Uses the seat that is already held, or claims a free one.
    async fn take(caller: &Caller, review: &Value, persona: Option<&str>) -> Result<Self, CliError> {
        let held = rows(review, "seats").iter().find(|seat| caller.is(&seat["claimed_by"]));
        if let Some(seat) = held {
            let content_hash = review["content_hash"].clone();
            return Ok(Self { generation: seat["claim_generation"].clone(), content_hash, is_new: false });
        }
        let claim = json!({ "review_id": review["review_id"], "reviewer_id": caller.speaks_as()?, "persona": persona });
        let claimed = caller.call("claim_review", claim).await?;
        if claimed["auto_rejected"] == true {
            let words = text(&claimed, "validation_error");
            return Err(anyhow!("{} was sent back: its diff does not apply: {words}", text(review, "number")).into());
        }
        let (generation, content_hash) = (claimed["claim_generation"].clone(), claimed["content_hash"].clone());
        Ok(Self { generation, content_hash, is_new: true })
    }

    /// Releases a seat that was claimed for a refused verdict.
    async fn leave(&self, caller: &Caller, review: &Value) {
        if self.is_new {
            let release = json!({
                "review_id": review["review_id"], "claim_generation": self.generation,
                "reviewer_id": caller.speaks_as().ok().flatten(), "reason": "the verdict was refused",
            });
            // If this fails too, the lease expires.
            let _ = caller.call("release_claim", release).await;
        }
    }
}

fn template(review: &Value) -> String {
    // The proposer's text must not end the comment.
    let intent = text(review, "intent").replace("-->", "→");
    format!(
        "verdict: \n\n\n<!-- {}: {intent}\n\nAfter \"verdict:\" approved, changes_requested, rejected or comment.\n\
         Below it the reason. Then what you have found, each under a heading:\n\n\
         ## issue high src/a.rs:10-12 the title\nWhat happens, when, and why it matters.\n\n\
         ## suggestion a better name\n\nWithout a verdict nothing is sent. -->\n",
        text(review, "number")
    )
}

fn shown(taken: &Value) -> String {
    let verdict = style::verdict(taken["verdict"].as_str()).painted();
    let status = style::status(taken["status"].as_str().unwrap_or_default()).painted();
    let mut out = format!("{}  your vote: {verdict}; it is {status}\n", text(taken, "number"));
    out.push_str(&review::consensus(taken));
    let found = rows(taken, "issues");
    if !found.is_empty() {
        out.push_str(&issue::list(found, false));
    }
    out
}
