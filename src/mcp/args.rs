//! What each tool takes. Field names are the contract; the doc comments are what models read.

mod findings;
mod history;
mod lenient;
mod parse;

pub(super) use findings::{FindingArgs, ListIssues, UpdateIssue};
pub(super) use history::{GetActivityFeed, GetAuditLog, GetReviewStats, GetReviewTimeline};
pub(crate) use parse::Malformed;
pub(super) use parse::parse;

use super::schema;
use domain::verdict::ReviewMetrics;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateReview {
    /// What the change is for, in one or two sentences. Required, also for a revision.
    pub intent: String,
    /// Which agent proposes, for example "gsd-executor". Required unless review_id is given.
    #[serde(default, deserialize_with = "lenient::text")]
    pub agent_type: Option<String>,
    /// The role it acts in, for example "proposer". Required unless review_id is given.
    #[serde(default, deserialize_with = "lenient::text")]
    pub agent_role: Option<String>,
    /// The phase of the work, for example "3" or "verify". Required unless review_id is given.
    #[serde(default, deserialize_with = "lenient::text")]
    pub phase: Option<String>,
    /// The plan this belongs to.
    #[serde(default, deserialize_with = "lenient::text")]
    pub plan: Option<String>,
    /// The task this belongs to.
    #[serde(default, deserialize_with = "lenient::text")]
    pub task: Option<String>,
    /// A project registered with the broker. Left out: the repository you work in, where the broker is told (over
    /// stdio it is), else the one the broker was started in.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
    /// Your own stable id; nobody can review under it. Left out: agent_type is used.
    #[serde(default, deserialize_with = "lenient::text")]
    pub proposer_id: Option<String>,
    /// What kind of proposal this is.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::category")]
    pub category: Option<String>,
    /// Its place in the queue. Default: inferred (a planner's proposals are critical, verifications low). Not with
    /// review_id.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::priority")]
    pub priority: Option<String>,
    /// The plan, the report or the reasoning, as long as it needs to be (Markdown is fine).
    #[serde(default, deserialize_with = "lenient::text")]
    pub description: Option<String>,
    /// A unified diff as `git diff` prints it, against `base`.
    #[serde(default, deserialize_with = "lenient::text")]
    pub diff: Option<String>,
    /// The commit the diff applies to. Left out: HEAD of the project's repository now.
    #[serde(default, deserialize_with = "lenient::text")]
    pub base: Option<String>,
    /// Commits to review, instead of a diff: the broker takes the diff from the project's repository. Not with diff or
    /// base. In a revision, and also where a revision of a branch gives neither target nor diff: as they are then.
    #[serde(default, deserialize_with = "lenient::fields")]
    pub target: Option<TargetArgs>,
    /// Give it to revise that review (a new round) instead of making a new one. What you leave out stays as it was.
    #[serde(default, deserialize_with = "lenient::text")]
    pub review_id: Option<String>,
    /// Do not check that the diff applies. Reviewers are shown that. Default false.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub skip_diff_validation: Option<bool>,
    /// Who is to review it: one seat for each, each for another reviewer, for example ["security", "tests"]. 1 to 10
    /// names of 1 to 64 letters, digits, ".", "_" or "-". Default: as the broker's operator has set, else ["general"], one
    /// reviewer. Not with review_id.
    #[serde(default, deserialize_with = "lenient::list")]
    pub personas: Option<Vec<String>>,
    /// How the votes of several seats are counted. Default: all must approve. Not with review_id.
    #[serde(default, deserialize_with = "lenient::fields")]
    pub policy: Option<PolicyArgs>,
    /// Any string of your own: a repeat of the call with the same key returns the same review instead of a second one.
    #[serde(default, deserialize_with = "lenient::text")]
    pub idempotency_key: Option<String>,
}

/// Exactly one of branch, commit and range.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetArgs {
    /// All that this branch has and `base` has not, since the two parted.
    #[serde(default, deserialize_with = "lenient::text")]
    pub branch: Option<String>,
    /// This one commit against its first parent.
    #[serde(default, deserialize_with = "lenient::text")]
    pub commit: Option<String>,
    /// "A..B": from A to B. "A...B": from where they parted to B.
    #[serde(default, deserialize_with = "lenient::text")]
    pub range: Option<String>,
    /// What to compare with instead. Default for a branch: origin/HEAD, else main, else master. Not with range.
    #[serde(default, deserialize_with = "lenient::text")]
    pub base: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyArgs {
    /// "require_all" (the default), "min_approvals", or "majority": more than half of the seats. One "rejected" ends a
    /// review under each of them.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::rule")]
    pub rule: Option<String>,
    /// How many must approve, 1 to the number of seats. Only with rule "min_approvals", and needed there.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub min_approvals: Option<u32>,
    /// From this round on, asking for changes also asks for a person. Default, and at most: the broker's setting (3).
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub max_rounds: Option<u32>,
    /// Whether an open critical issue keeps approvals from being enough. Default: true with several seats, false with one.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub block_on_critical: Option<bool>,
    /// Whether that is so also for an issue whose file, lines or quote are not there. Default true.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub ungrounded_blocks: Option<bool>,
    /// After so many minutes without an approval a person is asked.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub max_minutes: Option<u32>,
    /// When the reviews have cost so much a person is asked.
    #[serde(default, deserialize_with = "lenient::decimal")]
    pub max_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListReviews {
    /// Only reviews in this status. Left out: all. "pending" together with caller_id: all that you may claim.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::status")]
    pub status: Option<String>,
    /// Only this kind of proposal.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::category")]
    pub category: Option<String>,
    /// Only this project. Not together with projects.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
    /// Only these projects. Not together with project.
    #[serde(default, deserialize_with = "lenient::list")]
    pub projects: Option<Vec<String>>,
    /// Rows at most. Default 50.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the page before.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
    /// Wait until there is a review to take. Needs status "pending". Default false.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub wait: Option<bool>,
    /// The version of your last answer: only what is newer ends the wait. Left out: anything pending does.
    #[serde(default, deserialize_with = "lenient::whole")]
    pub since: Option<u64>,
    /// How long to wait, 1 to 50 seconds. Default 25.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Your reviewer_id. With status "pending" you are then shown what you may take: not what is reserved for somebody
    /// else, but also reviews that others have begun and that have a seat free for you (free_seats).
    #[serde(default, deserialize_with = "lenient::text")]
    pub caller_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimReview {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Your own stable name. It must differ from the proposer's. Use the same one in submit_verdict. Required unless
    /// you come with a token, which says who you are.
    #[serde(default)]
    pub reviewer_id: Option<String>,
    /// Which seat to take, where a review has several. Left out: the first free one.
    #[serde(default, deserialize_with = "lenient::text")]
    pub persona: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetProposal {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// An earlier round. Left out: the current one.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub round: Option<u32>,
    /// Only this file's part of the diff, by its path in affected_files.
    #[serde(default, deserialize_with = "lenient::text")]
    pub file: Option<String>,
    /// Which content of the round: "active" (the default) or, after an accepted counter-patch, "submitted".
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::which_content")]
    pub content: Option<String>,
    /// Only what changed since this earlier round: diff leads from its files to those of the round shown.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub since_round: Option<u32>,
    /// Whose counter-patch to show, where several have offered one. Left out: the latest.
    #[serde(default, deserialize_with = "lenient::text")]
    pub persona: Option<String>,
    /// The next_cursor of the page before, with the same round, file, content, since_round and persona.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
    /// Who asks. Optional.
    #[serde(default, deserialize_with = "lenient::text")]
    pub caller_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitVerdict {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// "approved" signs this content; "changes_requested" asks for another round; "rejected" is a hard no to the
    /// whole idea; "comment" says something and changes no status.
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: String,
    /// Why, and what to do about it. Required for all but "approved".
    #[serde(default, deserialize_with = "lenient::text")]
    pub reason: Option<String>,
    /// A better diff against the same base, with "changes_requested" or "comment" only. The proposer accepts or rejects it.
    #[serde(default, deserialize_with = "lenient::text")]
    pub counter_patch: Option<String>,
    /// From the answer of claim_review. Proves that the claim is still yours.
    #[serde(default, deserialize_with = "lenient::whole")]
    pub claim_generation: Option<u32>,
    /// The name you claimed with. Needed where claim_generation is left out.
    #[serde(default, deserialize_with = "lenient::text")]
    pub reviewer_id: Option<String>,
    /// The content_hash of what you read. The verdict is refused if the content is another by now.
    #[serde(default, deserialize_with = "lenient::text")]
    pub content_hash: Option<String>,
    /// The review in a sentence or two.
    #[serde(default, deserialize_with = "lenient::text")]
    pub summary: Option<String>,
    /// What you found, each with its place: it is checked, tracked to its end, and an open critical one blocks (policy).
    #[serde(default, deserialize_with = "lenient::items")]
    pub issues: Option<Vec<FindingArgs>>,
    /// What could be better and blocks nothing; the same fields, or plain strings.
    #[serde(default, deserialize_with = "lenient::items")]
    pub suggestions: Option<Vec<FindingArgs>>,
    /// What the review took, as far as you know.
    #[serde(default, deserialize_with = "lenient::fields")]
    pub metrics: Option<MetricsArgs>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricsArgs {
    #[serde(default, deserialize_with = "lenient::whole")]
    pub files_reviewed: Option<u32>,
    #[serde(default, deserialize_with = "lenient::whole")]
    pub lines_analyzed: Option<u32>,
    #[serde(default, deserialize_with = "lenient::whole")]
    pub duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "lenient::decimal")]
    pub cost_usd: Option<f64>,
    #[serde(default, deserialize_with = "lenient::whole")]
    pub input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::whole")]
    pub output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub model: Option<String>,
}

impl From<MetricsArgs> for ReviewMetrics {
    fn from(args: MetricsArgs) -> Self {
        let MetricsArgs { files_reviewed, lines_analyzed, duration_ms, cost_usd, input_tokens, output_tokens, model } =
            args;
        Self { files_reviewed, lines_analyzed, duration_ms, cost_usd, input_tokens, output_tokens, model }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetReviewStatus {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Wait until something changes. Default false.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub wait: Option<bool>,
    /// The version of your last answer: only a newer one ends the wait, and no change in between is missed.
    #[serde(default, deserialize_with = "lenient::whole")]
    pub since: Option<u64>,
    /// How long to wait, 1 to 50 seconds. Default 25.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// Who asks. Optional.
    #[serde(default, deserialize_with = "lenient::text")]
    pub caller_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseReview {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Who closes it: only "proposer" may.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::role")]
    pub closer_role: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelReview {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Why it is no longer wanted; its reviewer is told.
    pub reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddMessage {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Which side speaks.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(schema_with = "schema::role")]
    pub sender_role: Option<String>,
    /// The message.
    pub body: String,
    /// Any JSON object beside it, for example {"files": [...], "lines": [...]}.
    #[serde(default, deserialize_with = "lenient::object")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub metadata: Option<Value>,
    /// Which seat's discussion, where a review has several seats.
    #[serde(default, deserialize_with = "lenient::text")]
    pub persona: Option<String>,
    /// Your own id (a reviewer's must be the one that holds the seat). Optional.
    #[serde(default, deserialize_with = "lenient::text")]
    pub caller_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetDiscussion {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Only this round. Left out: all.
    #[serde(default, deserialize_with = "lenient::whole")]
    #[schemars(range(min = 1))]
    pub round: Option<u32>,
    /// The next_cursor of the page before, with the same round.
    #[serde(default, deserialize_with = "lenient::text")]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseClaim {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// From the answer of claim_review. Proves that the claim is still yours.
    #[serde(default, deserialize_with = "lenient::whole")]
    pub claim_generation: Option<u32>,
    /// The name you claimed with. Needed where claim_generation is left out.
    #[serde(default, deserialize_with = "lenient::text")]
    pub reviewer_id: Option<String>,
    /// Why you give it back; the log keeps it.
    #[serde(default, deserialize_with = "lenient::text")]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnReviewer {
    /// The project it is to review for. Left out: the repository the broker was started in.
    #[serde(default, deserialize_with = "lenient::text")]
    pub project: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KillReviewer {
    /// The reviewer's id, or its short name (codex-r1).
    pub reviewer_id: String,
    /// End it now, instead of letting it finish the review it has. Default false.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub force: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListReviewers {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerCounterPatch {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// Whose counter-patch, where several seats have offered one.
    #[serde(default, deserialize_with = "lenient::text")]
    pub persona: Option<String>,
}
