//! `countersign verify`: which commits of a range were approved, and how that is known.

use super::{
    Failure,
    gate::{Answer, Judge, Judgement, cannot_tell, judge_range, line, short, surroundings},
    place::Place,
    receipt::Receipt,
    render::{clipped, table},
    terminal,
};
use crate::{broker::DATABASE, config::Config};
use anyhow::anyhow;
use git::UserRepo;
use serde_json::{Value, json};
use store::read_only::ReadOnlyStore;

const SUBJECT_CHARS: usize = 50;
const WHY_CHARS: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A..B, or one commit [default: what HEAD has and its upstream has not, else what the main branch has not]
    range: Option<String>,
    /// Take a receipt's word for a review that this database does not have
    #[arg(long)]
    trust_receipts: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What a commit stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The database has the approval of exactly this.
    Proven,
    /// It carries a receipt that fits it, of a review that this database does not have. Anybody can write one, so it
    /// counts only where there is nothing else to go by.
    Receipted,
    /// There is nothing to approve.
    Clear,
    None,
    /// It carries a receipt of something else.
    Mismatch,
}

impl Standing {
    fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Receipted => "receipted",
            Self::Clear => "clear",
            Self::None => "none",
            Self::Mismatch => "mismatch",
        }
    }

    fn is_good(self, receipts_count: bool) -> bool {
        match self {
            Self::Proven | Self::Clear => true,
            Self::Receipted => receipts_count,
            Self::None | Self::Mismatch => false,
        }
    }
}

struct Row {
    judged: Judgement,
    standing: Standing,
    is_good: bool,
    review: Option<String>,
    why: String,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let rows = verify(&args).await.map_err(cannot_tell)?;
    let written = match args.json {
        true => terminal::write_json(&format!("{:#}\n", as_json(&rows))),
        false => terminal::write(&shown(&rows)),
    };
    // A no stays a no where nobody reads it.
    if rows.iter().all(|row| row.is_good) { written } else { Err(Failure::answer(1)) }
}

async fn verify(args: &Args) -> anyhow::Result<Vec<Row>> {
    let (repo, config) = surroundings(&args.place).await?;
    let ledger = ledger(&config).await?;
    let receipts_count = args.trust_receipts || ledger.is_none();
    let ledger = match ledger {
        Some(ledger) => ledger,
        None => ReadOnlyStore::empty().await?,
    };
    let mut judge = Judge::with(&repo, &config, ledger).await?;
    let range = match &args.range {
        Some(range) if range.starts_with('-') => return Err(anyhow!("{range}: expected A..B, or a commit")),
        Some(range) if range.contains("..") => vec![range.clone()],
        Some(commit) => vec!["--no-walk".to_owned(), commit.clone()],
        None => usual(&repo).await?,
    };
    let judged = judge_range(&mut judge, &range.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let mut rows = Vec::new();
    for judged in judged {
        rows.push(stand(&mut judge, judged, receipts_count).await?);
    }
    Ok(rows)
}

/// Where there is none, receipts are all there is to go by.
async fn ledger(config: &Config) -> anyhow::Result<Option<ReadOnlyStore>> {
    let database = config.server.data_dir.join(DATABASE);
    Ok(if database.exists() { Some(ReadOnlyStore::open(&database).await?) } else { None })
}

async fn usual(repo: &UserRepo) -> anyhow::Result<Vec<String>> {
    let upstream = repo.try_git(["rev-parse", "--verify", "--quiet", "@{upstream}"]).await?;
    if upstream.success {
        return Ok(vec![format!("{}..HEAD", upstream.text())]);
    }
    let here = repo.try_git(["symbolic-ref", "--quiet", "HEAD"]).await?.text();
    for main in ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"] {
        if main != here && repo.try_git(["rev-parse", "--verify", "--quiet", main]).await?.success {
            return Ok(vec![format!("{main}..HEAD")]);
        }
    }
    Ok(vec!["HEAD".to_owned()])
}

async fn stand(judge: &mut Judge, judged: Judgement, receipts_count: bool) -> anyhow::Result<Row> {
    let commit = judged.landing.commit.clone().unwrap_or_default();
    let receipts = Receipt::list(&judge.repo, &commit).await?;
    let review = judged.approval().map(|approval| approval.case.number.to_string());
    let (standing, review, why) = match (&judged.answer, receipts.first()) {
        (Answer::Approved(approval), _) => {
            let fits = |receipt: &Receipt| receipt.content_hash == approval.case.content_hash;
            let beside = match receipts.iter().any(fits) {
                true => ", with a receipt",
                false if receipts.is_empty() => "",
                false => "; its receipt is of something else",
            };
            (Standing::Proven, review, format!("{}{beside}", line(&judged)))
        }
        (Answer::Needless(_), _) => (Standing::Clear, None, line(&judged)),
        (Answer::Unapproved(near), None) => {
            let near = near.first().map(|near| format!("; {}", near.words())).unwrap_or_default();
            (Standing::None, None, format!("no approval{near}"))
        }
        (Answer::Unseen(_), None) => (Standing::None, None, line(&judged)),
        (Answer::Unapproved(_) | Answer::Unseen(_), Some(receipt)) => {
            let (standing, why) = held_against(judge, &judged, receipt).await?;
            (standing, Some(receipt.review.clone()), why)
        }
    };
    Ok(Row { judged, standing, is_good: standing.is_good(receipts_count), review, why })
}

/// A receipt without a proof.
async fn held_against(judge: &mut Judge, judged: &Judgement, receipt: &Receipt) -> anyhow::Result<(Standing, String)> {
    let review = clipped(&receipt.review, 20);
    if receipt.tree != judged.landing.tree {
        return Ok((Standing::Mismatch, format!("its receipt of {review} is of another tree")));
    }
    if judge.ledger.has_content(&receipt.content_hash).await? {
        return Ok((
            Standing::Mismatch,
            format!("the database knows what its receipt names as {review}, and it is not this"),
        ));
    }
    let by: Vec<_> = receipt.reviewers.iter().map(|who| clipped(&who.id, 40)).collect();
    Ok((Standing::Receipted, format!("its receipt names {review} by {}, and nothing here proves it", by.join(", "))))
}

fn shown(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no commits in this range\n".to_owned();
    }
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            let commit = short(row.judged.landing.commit.as_deref().unwrap_or_default()).to_owned();
            let review = row.review.as_deref().map(|review| clipped(review, 20)).unwrap_or_default();
            [commit, row.standing.as_str().to_owned(), review, clipped(&row.judged.landing.subject, SUBJECT_CHARS)]
        })
        .collect();
    let mut out = table(["COMMIT", "STANDING", "REVIEW", "SUBJECT"], &cells);
    let bad: Vec<_> = rows.iter().filter(|row| !row.is_good).collect();
    let receipted = rows.iter().filter(|row| row.standing == Standing::Receipted).count();
    if bad.is_empty() && receipted > 0 {
        out.push_str(&format!("{receipted} of {} have only a receipt, which nothing here proves\n", rows.len()));
    } else if bad.is_empty() {
        out.push_str(&format!("all {} approved, or nothing to approve\n", rows.len()));
    } else {
        out.push_str(&format!("{} of {} without an approval:\n", bad.len(), rows.len()));
    }
    for row in bad {
        let commit = short(row.judged.landing.commit.as_deref().unwrap_or_default());
        out.push_str(&format!("  {commit}  {}\n", clipped(&row.why, WHY_CHARS)));
    }
    out
}

fn as_json(rows: &[Row]) -> Value {
    let commit = |row: &Row| {
        json!({
            "commit": row.judged.landing.commit, "subject": row.judged.landing.subject, "tree": row.judged.landing.tree,
            "standing": row.standing.as_str(), "review": row.review, "why": row.why,
        })
    };
    let good = rows.iter().all(|row| row.is_good);
    json!({ "answer": if good { "yes" } else { "no" }, "commits": rows.iter().map(commit).collect::<Vec<_>>() })
}
