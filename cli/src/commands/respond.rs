//! `countersign respond`: submits a verdict with findings.

mod verdict_file;

use crate::{
    CliError,
    commands::request::change_source::read_file,
    completion,
    identity_args::Caller,
    render::{issue, print, review, style},
    review_args::ReviewArgs,
    terminal,
    text_draft::{Draft, settle},
    vote_signing::{SshKey, Vote},
};
use anyhow::anyhow;
use api::{
    ErrorBody, ErrorCode,
    claims::{ClaimRequest, ReleaseRequest},
    operation::{ClaimReview, ReleaseClaim, SubmitVerdict},
    reviews::ReviewStatusResponse,
    verdicts::{VerdictRequest, VerdictResponse},
};
use domain::{
    content::ContentHash,
    finding::RawFinding,
    review::Role,
    text::{escape, one_line},
    verdict::Verdict,
};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Approve this content
    #[arg(long, group = "verdict")]
    approve: bool,
    /// Ask for another round
    #[arg(long, group = "verdict")]
    request_changes: bool,
    /// Reject the change as a whole
    #[arg(long, group = "verdict")]
    reject: bool,
    /// Comment without a decision
    #[arg(long, group = "verdict")]
    comment: bool,
    /// Reason of the verdict; required except for an approval
    #[arg(long = "message", short = 'm', value_name = "REASON")]
    reason: Option<String>,
    /// Summary in a sentence or two
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Add an issue: 'high src/a.rs:10-12 title: text'; severity critical, high, medium or low; the location is optional:
    /// old:src/a.rs:10 is a line before the change, description:3 a line of the description
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
    /// Sign the vote with an SSH key: this file, else git's user.signingkey [default: gate.sign_votes]
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true)]
    sign: Option<Option<PathBuf>>,
    /// Seat to take, if there are several
    #[arg(long, value_name = "PERSONA", add = completion::personas())]
    persona: Option<String>,
    /// content_hash of the content you read; the verdict is refused if the content has changed
    #[arg(long, value_name = "HASH")]
    content_hash: Option<String>,
    #[command(flatten)]
    review: ReviewArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(Some(Role::Reviewer)).await?;
    let review = caller.review(review_id).await?;
    // Check this before the user writes text that could not be sent.
    if caller.is(review.state.proposer.identity()) {
        let hint = "another reviewer has to review it, or pass --as NAME if you are not its proposer";
        let error = format!("{} is your own proposal; {hint}", review.head.number);
        return Err(ErrorBody::new(ErrorCode::OwnProposal, error).into());
    }
    if !caller.is_named && !terminal::is_interactive() {
        return Err(CliError::usage(anyhow!("no identity for this verdict; pass --as NAME or set COUNTERSIGN_NAME")));
    }
    let draft = match args.file.is_none() && (args.edit || args.wants_editor()) {
        true => Some(Draft::new(&args.review.broker().data_dir()?, "respond", &review.head)),
        false => None,
    };
    let key = args.find_key(&caller.dir).await?;
    let send = async {
        let verdict = args.request(&review, draft.as_ref()).await?;
        submit(&caller, &review, args.persona.clone(), verdict, key.as_ref()).await
    };
    let response = settle(draft.as_ref(), send.await)?;
    print(caller.client.json, &response, render)
}

impl Args {
    fn verdict(&self) -> Option<Verdict> {
        let verdicts = [
            (self.approve, Verdict::Approved),
            (self.request_changes, Verdict::ChangesRequested),
            (self.reject, Verdict::Rejected),
            (self.comment, Verdict::Comment),
        ];
        verdicts.into_iter().find(|(is_given, _)| *is_given).map(|(_, verdict)| verdict)
    }

    /// The verdict and its findings. Options take precedence over a file.
    async fn request(&self, review: &ReviewStatusResponse, draft: Option<&Draft>) -> Result<VerdictRequest, CliError> {
        let verdict = self.verdict();
        let mut request = match (&self.file, draft) {
            (Some(file), _) => verdict_file::parse(&read_file(file)?, Some(file), verdict)?,
            (None, Some(draft)) => verdict_file::parse_text(&draft.edit(&template(review)).await?, verdict)?,
            (None, None) => VerdictRequest::new("", verdict.ok_or_else(verdict_file::missing_verdict)?),
        };
        request.reason = self.reason.clone().or(request.reason);
        request.summary = self.summary.clone().or(request.summary);
        request.content_hash = self.content_hash.clone().or(request.content_hash);
        add_findings(&mut request.issues, &self.issues, true)?;
        add_findings(&mut request.suggestions, &self.suggestions, false)?;
        if let Some(file) = &self.counter_patch {
            request.counter_patch = Some(read_file(file)?);
        }
        Ok(request)
    }

    /// The key with which the vote is signed. `None` if it is not to be signed.
    async fn find_key(&self, dir: &Path) -> Result<Option<SshKey>, CliError> {
        let given = self.sign.as_ref().and_then(Option::as_deref);
        if self.sign.is_none() && !self.review.broker().signs_votes()? {
            return Ok(None);
        }
        Ok(Some(SshKey::find(given, dir).await.map_err(CliError::usage)?))
    }

    fn wants_editor(&self) -> bool {
        let says_nothing = self.verdict().is_none() && self.reason.is_none() && self.issues.is_empty();
        says_nothing && terminal::is_interactive()
    }
}

fn add_findings(findings: &mut Option<Vec<RawFinding>>, specs: &[String], are_issues: bool) -> Result<(), CliError> {
    for spec in specs {
        let finding = verdict_file::parse_finding(spec, are_issues).map_err(CliError::usage)?;
        findings.get_or_insert_default().push(finding);
    }
    Ok(())
}

/// Submits a verdict for the seat that the caller holds, or for a free one. It applies to the content at the time of the
/// claim, unless a content hash is given. A vote is signed if there is a key.
pub(crate) async fn submit(
    caller: &Caller,
    review: &ReviewStatusResponse,
    persona: Option<String>,
    verdict: VerdictRequest,
    key: Option<&SshKey>,
) -> Result<VerdictResponse, CliError> {
    let (review_id, reviewer_id) = (review.head.review_id.to_string(), caller.acting_name()?);
    let held = review.state.seats.iter().find(|seat| seat.claimed_by.as_deref().is_some_and(|name| caller.is(name)));
    let (claim_generation, content_hash, seat) = match held {
        Some(seat) => {
            let names = (Some(seat.persona.clone()), seat.claimed_by.clone());
            (seat.claim_generation, review.content_hash.clone(), names)
        }
        None => {
            let claim = ClaimRequest { review_id: review_id.clone(), reviewer_id: reviewer_id.clone(), persona };
            let claim = caller.client.execute::<ClaimReview>(&claim).await?;
            if claim.auto_rejected {
                let problem = one_line(claim.diff.validation_error.as_deref().unwrap_or_default());
                return Err(anyhow!("{} was sent back: its diff does not apply: {problem}", claim.head.number).into());
            }
            (Some(claim.claim_generation), claim.content_hash, (claim.seat, claim.claimed_by))
        }
    };
    let content_hash = verdict.content_hash.map_or(content_hash, ContentHash);
    let mut request = VerdictRequest {
        review_id,
        reviewer_id,
        claim_generation,
        content_hash: Some(content_hash.to_string()),
        ..verdict
    };
    let send = async {
        if let (Some(key), (Some(persona), Some(reviewer)), true) = (key, &seat, request.verdict.is_vote()) {
            let (review, round) = (review.head.review_id, review.head.current_round);
            let vote = Vote { review, round, content_hash: &content_hash, persona, reviewer, verdict: request.verdict };
            request.signature = Some(key.sign(&vote).await?);
        }
        caller.client.execute::<SubmitVerdict>(&request).await
    };
    let result = send.await;
    if result.is_err() && held.is_none() {
        // Nothing keeps the seat that was claimed for this verdict. If this fails too, the lease expires.
        let VerdictRequest { review_id, reviewer_id, claim_generation, .. } = request;
        let reason = Some("the verdict was refused".to_owned());
        let release = ReleaseRequest { review_id, claim_generation, reviewer_id, reason };
        let _ = caller.client.execute::<ReleaseClaim>(&release).await;
    }
    result
}

fn template(review: &ReviewStatusResponse) -> String {
    // The proposer's text must not end the comment.
    let intent = escape(&review.state.intent).replace("-->", "→");
    format!(
        "verdict: \n\n\n<!-- {}: {intent}\n\nAfter \"verdict:\" approved, changes_requested, rejected or comment.\n\
         Below it the reason. Then what you have found, each under a heading:\n\n\
         ## issue high src/a.rs:10-12 the title\nWhat happens, when, and why it matters.\n\n\
         ## suggestion a better name\n\n\
         old:src/a.rs:10 is a line before the change, description:3 a line of the description.\n\
         Without a verdict nothing is sent. -->\n",
        review.head.number
    )
}

fn render(response: &VerdictResponse) -> String {
    let verdict = style::verdict(Some(response.verdict)).painted();
    let status = style::status(response.head.status).painted();
    let mut out = format!("{}  your vote: {verdict}; it is {status}\n", response.head.number);
    out.push_str(&review::consensus(&response.consensus.why, response.escalate, response.escalate_why));
    if !response.issues.is_empty() {
        out.push_str(&issue::list(&response.issues, false));
    }
    out
}
