//! Renders a review as text: the lines that several commands print, and the commands that are possible next.

use crate::render::{
    Cell, format_age, indented, one_line,
    style::{self, BOLD, DIM, paint},
    table,
};
use api::{
    diffs::{DiffState, Files, Target},
    reviews::{MessageTotals, ReviewHead, ReviewStatusResponse, SeatState},
};
use domain::{
    consensus::Escalation,
    credential::Authority,
    ids::ReviewNumber,
    priority::Priority,
    review::{DEFAULT_PHASE, Proposer, Status, TargetKind},
    text::{count, escape},
    waiting_on::{Turn, TurnReason, TurnTool},
};
use std::fmt::Write as _;

/// The status of a review in a few lines.
pub(crate) fn status(review: &ReviewStatusResponse) -> String {
    head(review, None)
        + &decision(review)
        + &waiting_on(&review.head.waiting_on)
        + &next(&review.head, review.state.diff.has_diff)
}

/// `R-12  ▲ changes requested  round 2`, the intent, and the origin of the change.
pub(crate) fn head(review: &ReviewStatusResponse, files: Option<&Files>) -> String {
    let (number, status) = (paint(BOLD, &review.head.number.to_string()), style::status(review.head.status).painted());
    let head = format!("{number}  {status}  round {}\n", review.head.current_round);
    let mut parts = vec![format!("by {}", one_line(review.state.proposer.identity()))];
    parts.extend(review.state.diff.target.as_ref().map(target));
    parts.extend(files.filter(|_| review.state.diff.has_diff).map(changed_files));
    parts.extend(review.state.proposer.project.as_deref().map(style::spaced));
    parts.extend(work(&review.state.proposer).map(|work| work.in_words()));
    parts.extend(review.state.category.map(|category| style::spaced(category.as_str())));
    if review.state.priority != Priority::Normal {
        parts.push(format!("{} priority", review.state.priority));
    }
    parts.push(format!("{} old", format_age(review.state.created_at)));
    parts.extend(messages(&review.messages));
    parts.extend(review.cost_usd.map(|cost| format!("${cost:.2}")));
    head + &indented(&one_line(&review.state.intent), 2) + &paint(DIM, &indented(&parts.join(" · "), 2))
}

/// Which part of planned work a review belongs to.
pub(crate) struct PlannedWork<'a>(Vec<(&'static str, &'a str)>);

/// `None` if the proposer named nothing but the default phase.
pub(crate) fn work(proposer: &Proposer) -> Option<PlannedWork<'_>> {
    let phase = Some(proposer.phase.as_str()).filter(|phase| *phase != DEFAULT_PHASE);
    let parts = [("phase", phase), ("plan", proposer.plan.as_deref()), ("task", proposer.task.as_deref())];
    let parts: Vec<_> = parts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    (!parts.is_empty()).then_some(PlannedWork(parts))
}

impl PlannedWork<'_> {
    /// `phase 3, plan 03-01, task 2`
    pub(crate) fn in_words(&self) -> String {
        let parts: Vec<_> = self.0.iter().map(|(name, value)| format!("{name} {}", one_line(value))).collect();
        parts.join(", ")
    }

    /// `3/03-01/2`
    pub(crate) fn in_short(&self) -> String {
        self.0.iter().map(|(_, value)| one_line(value)).collect::<Vec<_>>().join("/")
    }
}

/// `3 messages, 1 unread`
fn messages(messages: &MessageTotals) -> Option<String> {
    let total = (messages.message_count > 0).then(|| count(messages.message_count as usize, "message"))?;
    let unread = messages.unread_messages.filter(|unread| *unread > 0);
    Some(unread.map_or(total.clone(), |unread| format!("{total}, {unread} unread")))
}

/// The branch, commit or range.
fn target(target: &Target) -> String {
    let name = one_line(&target.name);
    let commits = match target.commits_total {
        0 => String::new(),
        total => format!(", {}", count(total, "commit")),
    };
    match (target.kind, &target.base_name) {
        (TargetKind::Branch, Some(base)) => format!("{name} → {}{commits}", one_line(base)),
        (TargetKind::Branch, None) => format!("{name}{commits}"),
        (kind @ (TargetKind::Commit | TargetKind::Range), _) => format!("{kind} {name}"),
    }
}

/// `2 files +21 −24`
pub(crate) fn changed_files(files: &Files) -> String {
    let added: u32 = files.affected_files.iter().map(|file| file.added).sum();
    let removed: u32 = files.affected_files.iter().map(|file| file.removed).sum();
    format!("{} +{added} −{removed}", count(files.affected_files_total, "file"))
}

/// A table of the seats.
pub(crate) fn seats(seats: &[SeatState]) -> String {
    let line = |seat: &SeatState| {
        let holder = match (&seat.claimed_by, &seat.reserved_for) {
            (Some(holder), _) => one_line(holder),
            (None, Some(reviewer)) => format!("kept for {}", one_line(reviewer)),
            (None, None) if seat.could_not_review.is_some() => "free; a reviewer gave up on it".into(),
            (None, None) => "free".into(),
        };
        [
            Cell::from(escape(&seat.persona)),
            style::verdict(seat.verdict),
            seat.claimed_at.map(format_age).unwrap_or_default().into(),
            holder.into(),
            if seat.has_counter_patch { "counter-patch" } else { "" }.into(),
        ]
    };
    table(["SEAT", "VOTE", "SINCE", "REVIEWER", ""], seats.iter().map(line))
}

/// Where the votes stand, whether a person should look, and why a review was sent back or cancelled.
pub(crate) fn decision(review: &ReviewStatusResponse) -> String {
    let mut out = consensus(&review.consensus.why, review.state.escalate, review.escalate_why);
    out.push_str(&conflict_with_head(&review.state.diff));
    for (label, text) in [
        ("git says", &review.state.diff.validation_error),
        ("cancelled", &review.cancel_reason),
        ("landed as", &review.state.landed_as),
    ] {
        if let Some(text) = text {
            out.push_str(&indented(&format!("{label}: {}", one_line(text)), 2));
        }
    }
    out
}

/// Says that the diff conflicts with HEAD, as of the last claim or accepted counter-patch.
pub(crate) fn conflict_with_head(diff: &DiffState) -> String {
    let behind = diff.base_behind.filter(|_| diff.applies_to_head == Some(false));
    let line = |behind: u64| format!("! it does not apply to HEAD, which is {} ahead of its base", commits(behind));
    behind.map(|behind| paint(style::CARE, &indented(&line(behind), 2))).unwrap_or_default()
}

fn commits(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "commit")
}

/// Where the votes stand, and whether a person should look.
pub(crate) fn consensus(why: &str, escalate: bool, escalate_why: Option<Escalation>) -> String {
    let mut out = indented(&one_line(why), 2);
    if escalate {
        let why = escalate_why.map(|why| format!(" ({})", style::spaced(why.as_str()))).unwrap_or_default();
        out.push_str(&paint(style::CARE, &indented(&format!("! escalated to an operator{why}"), 2)));
    }
    out
}

/// Who must act, one line each: `waits for ada (general) since 3m: reviewing`.
pub(crate) fn waiting_on(turns: &[Turn]) -> String {
    let line = |turn: &Turn| {
        let seat = turn.seat.as_deref().map(|seat| format!(" ({})", one_line(seat))).unwrap_or_default();
        let why = style::spaced(turn.why.as_str());
        indented(&format!("waits for {}{seat} since {}: {why}", party(turn), format_age(turn.since)), 2)
    };
    turns.iter().map(line).collect()
}

/// The name of the party that must act, or else its role.
pub(crate) fn party(turn: &Turn) -> String {
    match (&turn.name, turn.who) {
        (Some(name), _) => one_line(name),
        (None, Authority::Reviewer) => "a reviewer".into(),
        (None, Authority::Operator) => "an operator".into(),
        (None, Authority::Proposer) => "the proposer".into(),
    }
}

/// The commands that are possible now, for those who must act or for those who wait.
pub(crate) fn next(head: &ReviewHead, has_diff: bool) -> String {
    let has_turn =
        |who: Authority, tool: TurnTool| head.waiting_on.iter().any(|turn| turn.who == who && turn.tool == tool);
    let has_counter_patch = has_turn(Authority::Proposer, TurnTool::AcceptCounterPatch);
    let steps: &[_] = match head.status {
        _ if has_turn(Authority::Operator, TurnTool::AddMessage) => {
            &[("show #", "why it was escalated"), ("comment # --role operator", "to decide how it goes on")]
        }
        Status::Pending | Status::Claimed | Status::InReview if has_counter_patch => {
            &[("patch show #", "a reviewer's counter-patch, to accept or decline"), ("wait #", "until it is decided")]
        }
        Status::Pending | Status::Claimed | Status::InReview if has_turn(Authority::Proposer, TurnTool::AddMessage) => {
            &[("show #", "the question"), ("comment #", "to answer it"), ("wait #", "until it is decided")]
        }
        Status::Pending | Status::Claimed | Status::InReview => {
            &[("wait #", "until it is decided"), ("respond #", "for anybody but its proposer")]
        }
        Status::ChangesRequested if head.waiting_on.iter().any(|turn| turn.why == TurnReason::DiffDoesNotApply) => {
            &[("resubmit #", "after fixing the diff")]
        }
        Status::ChangesRequested => {
            let steps = &[
                ("patch show #", "a reviewer's counter-patch, to accept or decline"),
                ("show #", "what is wanted"),
                ("resubmit #", "after fixing it"),
                ("comment #", "to ask instead"),
            ];
            if has_counter_patch { steps } else { &steps[1..] }
        }
        Status::Approved if has_diff => &[
            ("land #", "to make it the next commit of its branch, and close the review"),
            ("close #", "if exactly this content has landed in another way"),
        ],
        Status::Approved => &[("close #", "nothing else is left to do")],
        Status::Rejected | Status::Cancelled => &[("close #", "nothing else is left to do")],
        Status::Closed => return String::new(),
    };
    commands(head.number, steps)
}

/// Commands with `#` for the number of the review, and beside each its purpose.
pub(crate) fn commands(number: ReviewNumber, steps: &[(&str, &str)]) -> String {
    let steps: Vec<_> = steps
        .iter()
        .map(|(command, purpose)| (format!("countersign {}", command.replace('#', &number.to_string())), purpose))
        .collect();
    let width = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    let line = |(command, purpose): &(String, &&str)| format!("  {command:width$}  {}\n", paint(DIM, purpose));
    heading("next") + &steps.iter().map(line).collect::<String>()
}

pub(crate) fn heading(title: &str) -> String {
    format!("\n{}\n", paint(BOLD, title))
}

/// Whether the text contains the path, and not only as a part of another word.
fn names_path(text: &str, path: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    text.match_indices(path).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

/// The first `max` files of a proposal, and its flags.
pub(crate) fn files(files: &Files, max: usize) -> String {
    let mut out = String::new();
    for file in files.affected_files.iter().take(max) {
        let counts = format!("+{} −{}", file.added, file.removed);
        let _ = writeln!(out, "  {counts:>9}  {:<6}  {}", file.operation.as_str(), one_line(&file.path));
    }
    let more = files.affected_files_total.saturating_sub(files.affected_files.len().min(max));
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
    for flag in &files.flags {
        // The detail may name the file itself.
        let path = flag.path.as_deref().filter(|path| !names_path(&flag.detail, path));
        let kind = style::spaced(flag.kind.as_str());
        let words = ["!", &kind].into_iter().chain(path).chain([flag.detail.as_str()]);
        let text = escape(&words.collect::<Vec<_>>().join(" ")).into_owned();
        out.push_str(&paint(style::CARE, &indented(text.trim_end(), 2)));
    }
    out
}
