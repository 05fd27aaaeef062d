//! The hooks that git runs: `pre-commit` and `pre-push` check approvals, the others write receipts.

use super::{Gated, Message, Plain, PrePush};
use crate::{
    cli::{
        Failure,
        gate::{Judge, Judgement, Landing, Point, Update, is_required, judge_push, settings, surroundings, told},
        place::Place,
        receipt,
    },
    config::{Fail, Receipt},
};
use domain::text::escape;
use git::UserRepo;
use std::io::{self, Read as _, Write as _};

/// Exit code with which a hook makes git abort.
const REFUSED: u8 = 1;

pub(super) async fn pre_commit(args: Gated) -> Result<(), Failure> {
    let judged = async {
        let (repo, config) = surroundings(&args.place).await?;
        if !is_required(Point::Commit, &repo).await {
            return Ok(Vec::new());
        }
        Ok(vec![Judge::open(&repo, &config).await?.judge_staged().await?])
    };
    decide(judged.await, &args)
}

pub(super) async fn pre_push(args: PrePush) -> Result<(), Failure> {
    let PrePush { remote, url: _, gated } = args;
    let judged = async {
        // Read it in any case: git fails with a broken pipe if a hook does not.
        let mut lines = String::new();
        io::stdin().read_to_string(&mut lines)?;
        let (repo, config) = surroundings(&gated.place).await?;
        if !is_required(Point::Push, &repo).await {
            return Ok(Vec::new());
        }
        judge_push(&mut Judge::open(&repo, &config).await?, remote.as_deref(), &Update::read(&lines)?).await
    };
    decide(judged.await, &gated)
}

/// Prints nothing if everything is approved.
fn decide(judged: anyhow::Result<Vec<Judgement>>, args: &Gated) -> Result<(), Failure> {
    match judged {
        Ok(judged) if judged.iter().all(Judgement::passes) => Ok(()),
        Ok(judged) => {
            print_stderr(&told(&judged));
            Err(Failure::answer(REFUSED))
        }
        Err(error) => match fail_mode(args.failing.chosen(), &args.place) {
            Fail::Open => {
                print_stderr(&format!("cannot check for an approval, so nothing was checked: {error:#}\n"));
                Ok(())
            }
            Fail::Closed => {
                print_stderr(&format!("cannot check for an approval: {error:#}\n"));
                Err(Failure::answer(REFUSED))
            }
        },
    }
}

/// Whether a failed check refuses: by the command line, else by the settings. Unreadable settings mean open.
pub(super) fn fail_mode(chosen: Option<Fail>, place: &Place) -> Fail {
    chosen.or_else(|| settings(place).ok().map(|config| config.gate.fail)).unwrap_or(Fail::Open)
}

/// Adds the trailer of the approving review to the message that is about to be committed.
pub(super) async fn commit_message(args: Message) {
    let written = async {
        let (repo, config) = surroundings(&args.place).await?;
        if config.gate.receipt != Receipt::Trailer {
            return anyhow::Ok(());
        }
        let judged = Judge::open(&repo, &config).await?.judge_staged().await?;
        if let Some(receipt) = receipt::Receipt::of(&judged) {
            receipt.add_to_message(&repo, &args.file).await?;
        }
        Ok(())
    };
    report_failure("cannot write the receipt trailer", written.await);
}

pub(super) async fn post_commit(args: Plain) {
    let written = async {
        let (repo, config) = surroundings(&args.place).await?;
        if config.gate.receipt != Receipt::Note {
            return anyhow::Ok(());
        }
        note_head(&repo, &mut Judge::open(&repo, &config).await?).await
    };
    report_failure("cannot write the receipt note", written.await);
}

async fn note_head(repo: &UserRepo, judge: &mut Judge) -> anyhow::Result<()> {
    let judged = judge.judge(Landing::commit(repo, "HEAD").await?).await?;
    match receipt::Receipt::of(&judged) {
        Some(receipt) => receipt.write_note(repo).await,
        None => Ok(()),
    }
}

fn report_failure(what: &str, result: anyhow::Result<()>) {
    if let Err(error) = result {
        print_stderr(&format!("{what}: {error:#}\n"));
    }
}

fn print_stderr(text: &str) {
    let lines: String = text.lines().map(|line| format!("countersign: {}\n", escape(line))).collect();
    // Nothing can be done if stderr is closed.
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}
