//! Tests that docs/states.md matches the rules: every state of its diagram can be reached, and the transitions found
//! are the ones it draws.

use super::{
    facts, pending, proposal, propose, seats,
    walk::{Step, name, steps},
};
use crate::{
    consensus::Rule,
    review::{
        Command, CommandKind, DiffCheck, Review, Seat, Status,
        transition::{Transition, is_possible, transition},
    },
    verdict::Verdict,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    fmt::Write as _,
};

const DOCS: &str = include_str!("../../../../docs/states.md");

/// What a command did: from, to, by the command's name.
type Edges = BTreeMap<(Status, Status), BTreeSet<&'static str>>;

/// What of a review decides which status comes next; the rest counts up, or says whose turn it is.
type Shape = (Status, bool, Vec<(Option<String>, Option<Verdict>, bool, bool)>);

fn shape(review: &Review) -> Shape {
    let seat = |seat: &Seat| {
        let holder = seat.claim.as_ref().map(|claim| claim.by.clone());
        (holder, seat.vote, seat.reservation.is_some(), seat.pending_patch().is_some())
    };
    (review.status, review.returned, review.seats.iter().map(seat).collect())
}

/// Walks to every shape a review can have, and shows each with the commands that would change it.
pub(super) fn explore(begin: Review, mut see: impl FnMut(&Review, &[(Step, Transition)])) {
    let mut known = HashSet::from([shape(&begin)]);
    let mut open = VecDeque::from([begin]);
    while let Some(review) = open.pop_front() {
        let outcome = |step: Step| {
            let taken = transition(Some(&review), step.0.clone(), step.1, &super::RULES).ok()?;
            (!taken.events.is_empty()).then_some((step, taken))
        };
        let taken: Vec<_> = steps(&review).into_iter().filter_map(outcome).collect();
        see(&review, &taken);
        open.extend(taken.into_iter().map(|(_, taken)| taken.next).filter(|next| known.insert(shape(next))));
    }
}

/// One seat with a diff, and two seats whose number of approvals suffices early.
pub(super) fn worlds() -> [Review; 3] {
    let diff = facts(DiffCheck::Unknown { why: "not asked yet".into() });
    let two = proposal(&["general", "security"], Rule::MinApprovals(1), Some(diff));
    [pending(), seats(2, Rule::RequireAll), propose(two)]
}

fn edges() -> Edges {
    let mut edges = Edges::new();
    for world in worlds() {
        explore(world, |from, taken| {
            for ((command, _), to) in taken {
                edges.entry((from.status, to.next.status)).or_default().insert(name(command));
            }
        });
    }
    edges
}

fn listed(names: &BTreeSet<&'static str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// The lines between two markers of docs/states.md.
fn section(name: &str) -> &'static str {
    let after = DOCS.split_once(&format!("<!-- {name} -->\n")).map(|(_, rest)| rest);
    after.and_then(|rest| rest.split_once("<!-- end -->")).map_or("", |(inside, _)| inside)
}

#[test]
fn the_diagram_shows_every_change_of_status() {
    let mut diagram = String::from("```mermaid\nstateDiagram-v2\n    [*] --> pending: propose\n");
    for ((from, to), names) in edges().iter().filter(|((from, to), _)| from != to) {
        let _ = writeln!(diagram, "    {from} --> {to}: {}", listed(names));
    }
    diagram.push_str("    closed --> [*]\n```\n");
    assert_eq!(section("diagram"), diagram, "docs/states.md should read:\n{diagram}");
}

#[test]
fn the_table_lists_every_change() {
    let mut table = String::from("| from | what happens | to |\n|---|---|---|\n");
    for ((from, to), names) in &edges() {
        let _ = writeln!(table, "| {from} | {} | {} |", listed(names), if from == to { "same" } else { to.as_str() });
    }
    assert_eq!(section("table"), table, "docs/states.md should read:\n{table}");
}

/// A refusal lists exactly the commands that are possible.
#[test]
fn possible_is_what_would_be_taken() {
    for world in worlds() {
        explore(world, |review, taken| {
            let taken: BTreeSet<CommandKind> = taken.iter().filter_map(|((command, _), _)| asked(command)).collect();
            // Whose turn it is to write is not a matter of status, and one review is walked with one seat more.
            for asked in CommandKind::ALL.iter().filter(|asked| !is_by_turn(**asked)) {
                let status = review.status;
                assert_eq!(is_possible(review, *asked), taken.contains(asked), "{status}: {asked}, {review:?}");
            }
        });
    }
}

const fn is_by_turn(asked: CommandKind) -> bool {
    matches!(asked, CommandKind::Message | CommandKind::AddSeat)
}

const fn asked(command: &Command) -> Option<CommandKind> {
    match command {
        Command::Propose(_) => None,
        Command::Revise(_) => Some(CommandKind::Revise),
        // A seat that is held can be taken over.
        Command::Claim(claim) if claim.takes_over.is_some() => None,
        Command::Claim(_) => Some(CommandKind::Claim),
        Command::Release(_) | Command::Renew { .. } | Command::ReviewerGone { .. } | Command::Expire => None,
        Command::AddSeat(_) => Some(CommandKind::AddSeat),
        Command::GiveVerdict(_) => Some(CommandKind::Verdict),
        Command::UpdateFinding(_) => Some(CommandKind::UpdateIssue),
        Command::AddMessage(_) => Some(CommandKind::Message),
        Command::AcceptCounterPatch(_) => Some(CommandKind::AcceptCounterPatch),
        Command::RejectCounterPatch { .. } => Some(CommandKind::RejectCounterPatch),
        Command::Cancel { .. } => Some(CommandKind::Cancel),
        Command::Close { .. } => Some(CommandKind::Close),
    }
}
