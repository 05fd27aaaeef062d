//! Hooks of git.

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

const NO: u8 = 1;

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
        // Read also where nobody asks: git gives up on a hook that does not.
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

/// A yes is silent: git has enough to say.
fn decide(judged: anyhow::Result<Vec<Judgement>>, args: &Gated) -> Result<(), Failure> {
    match judged {
        Ok(judged) if judged.iter().all(Judgement::passes) => Ok(()),
        Ok(judged) => {
            say(&told(&judged));
            Err(Failure::answer(NO))
        }
        Err(error) => match failing(args.failing.chosen(), &args.place) {
            Fail::Open => {
                say(&format!("could not tell whether this is approved, and let it pass: {error:#}\n"));
                Ok(())
            }
            Fail::Closed => {
                say(&format!("could not tell whether this is approved: {error:#}\n"));
                Err(Failure::answer(NO))
            }
        },
    }
}

/// ActionKind was asked for on the command line, else in the settings. Settings that cannot be read ask for nothing.
pub(super) fn failing(chosen: Option<Fail>, place: &Place) -> Fail {
    chosen.or_else(|| settings(place).ok().map(|config| config.gate.fail)).unwrap_or(Fail::Open)
}

/// Of the message that is about to be committed: the trailer of the review that approved it.
pub(super) async fn message(args: Message) {
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
    tell_failure("no trailer was written", written.await);
}

pub(super) async fn post_commit(args: Plain) {
    let written = async {
        let (repo, config) = surroundings(&args.place).await?;
        if config.gate.receipt != Receipt::Note {
            return anyhow::Ok(());
        }
        note_head(&repo, &mut Judge::open(&repo, &config).await?).await
    };
    tell_failure("no note was written", written.await);
}

async fn note_head(repo: &UserRepo, judge: &mut Judge) -> anyhow::Result<()> {
    let judged = judge.judge(Landing::commit(repo, "HEAD").await?).await?;
    match receipt::Receipt::of(&judged) {
        Some(receipt) => receipt.write_note(repo).await,
        None => Ok(()),
    }
}

fn tell_failure(what: &str, ended: anyhow::Result<()>) {
    if let Err(error) = ended {
        say(&format!("{what}: {error:#}\n"));
    }
}

fn say(text: &str) {
    let lines: String = text.lines().map(|line| format!("countersign: {}\n", escape(line))).collect();
    // Nobody may be there to read it.
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}
