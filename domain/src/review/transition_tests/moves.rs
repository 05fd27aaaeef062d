//! Generates random starting points and commands for the property tests. A command is relative (the current generation,
//! a wrong hash), so it means something in any state.

use super::super::{KEEP_SEAT, acceptance, applies, facts, fails, hash, message, proposal, revision};
use crate::{
    consensus::Rule,
    credential::Authority,
    finding::{FindingNumber, Grounding, Lines, Location, NewFinding, RequestedStatus, Severity},
    ids::VALIDATOR,
    review::{
        AcceptCounterPatch, AddMessage, AddSeat, CheckedDiff, ClaimEndReason, ClaimSeat, Command, DiffCheck,
        FindingRaised, GiveVerdict, OfferedFindings, OfferedPatch, PatchedContent, Propose, RebasedContent, Recipient,
        ReleaseSeat, Review, Revise, Role, Round, UpdateFinding,
    },
    verdict::{ReviewMetrics, Verdict},
};
use proptest::{collection::vec, option, prelude::*, sample::select};

const PERSONAS: [&str; 3] = ["general", "security", "tests"];
const REVIEWERS: [&str; 4] = ["ada", "bob", "cyd", "dan"];

pub(super) fn may_review(by: &str) -> bool {
    REVIEWERS.contains(&by)
}

#[derive(Debug, Clone)]
pub(super) struct World {
    seats: usize,
    rule: Rule,
    max_rounds: u32,
    diff: Option<DiffCheck>,
    block: bool,
}

impl World {
    pub(super) fn into_proposal(self) -> Propose {
        let mut proposal = proposal(&PERSONAS[..self.seats], self.rule, self.diff.map(facts));
        proposal.proposed.policy.max_rounds = self.max_rounds;
        proposal.proposed.policy.block_on_critical = self.block;
        proposal.proposed.policy.ungrounded_blocks = self.max_rounds > 1;
        proposal
    }
}

pub(super) fn a_world() -> impl Strategy<Value = World> {
    let rule = prop_oneof![Just(Rule::RequireAll), (0..4_u32).prop_map(Rule::MinApprovals), Just(Rule::Majority)];
    (1..=3_usize, rule, 0..4_u32, a_diff(), proptest::bool::ANY)
        .prop_map(|(seats, rule, max_rounds, diff, block)| World { seats, rule, max_rounds, diff, block })
}

fn a_diff() -> impl Strategy<Value = Option<DiffCheck>> {
    let unknown = DiffCheck::Unknown { why: "git timed out".into() };
    select(vec![None, Some(DiffCheck::Skipped), Some(unknown.clone()), Some(unknown)])
}

/// Which of several things a move means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aim {
    Left,
    Right(usize),
    Wrong(u32),
}

#[derive(Debug, Clone)]
pub(super) enum Move {
    Revise {
        by: Option<&'static str>,
        completes: Aim,
        diff: Option<DiffCheck>,
        key: Option<u8>,
        content: Option<u8>,
    },
    Claim {
        by: &'static str,
        persona: Aim,
        takes_over: Option<Authority>,
        checked: Aim,
        check: DiffCheck,
        head: Option<DiffCheck>,
    },
    Renew {
        by: &'static str,
    },
    AddSeat {
        role: Authority,
        persona: &'static str,
    },
    OperatorMessage {
        persona: Aim,
        to: Option<Recipient>,
        words: u8,
    },
    Release {
        by: Aim,
        generation: Aim,
    },
    Gone {
        reviewer: &'static str,
        why: ClaimEndReason,
    },
    Expire,
    Verdict(Given),
    Update {
        finding: usize,
        role: Authority,
        by: Aim,
        requested: RequestedStatus,
        of: usize,
        note: bool,
    },
    Message {
        role: Role,
        by: Aim,
        persona: Aim,
        words: u8,
    },
    Accept {
        persona: Aim,
        checked: Aim,
        check: DiffCheck,
    },
    Reject {
        persona: Aim,
    },
    Cancel,
    Close {
        by: Role,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Given {
    by: Aim,
    generation: Aim,
    content: Aim,
    verdict: Verdict,
    reason: Option<&'static str>,
    patch: Option<DiffCheck>,
    metrics: Option<ReviewMetrics>,
    findings: Vec<(NewFinding, Option<bool>)>,
}

fn offered(number: i64, found: &NewFinding, on_changed_lines: Option<bool>) -> FindingRaised {
    let grounding = match found.title.as_str() {
        "b" => Grounding::Ungrounded { why: "no such file".into() },
        _ => Grounding::Grounded { note: None },
    };
    let late = on_changed_lines == Some(false);
    let (number, found) = (FindingNumber(number), found.clone());
    FindingRaised { number, found, grounding, late, oscillating: false, duplicate: None }
}

/// Moves with the milliseconds before each.
pub(super) fn a_history() -> impl Strategy<Value = Vec<(u32, Move)>> {
    let wait = prop_oneof![6 => 0..60_000_u32, 1 => 600_000..1_300_000_u32];
    vec((wait, a_move()), 1..48)
}

fn a_move() -> impl Strategy<Value = Move> {
    let revise = (option::weighted(0.5, a_name()), a_sure_aim(), a_diff(), option::of(0..2_u8), option::of(0..2_u8))
        .prop_map(|(by, completes, diff, key, content)| Move::Revise { by, completes, diff, key, content });
    let takes_over = option::weighted(0.1, select(vec![Authority::Operator, Authority::Reviewer]));
    let head = option::weighted(0.3, a_check());
    let claim = (a_name(), an_aim(), takes_over, a_sure_aim(), a_check(), head).prop_map(
        |(by, persona, takes_over, checked, check, head)| Move::Claim { by, persona, takes_over, checked, check, head },
    );
    let add_seat = (select(Authority::ALL), select(vec!["docs", "@ada", "@eve", "general"]))
        .prop_map(|(role, persona)| Move::AddSeat { role, persona });
    let operator = (an_aim(), option::of(select(Recipient::ALL)), 0..3_u8)
        .prop_map(|(persona, to, words)| Move::OperatorMessage { persona, to, words });
    let release = (an_aim(), an_aim()).prop_map(|(by, generation)| Move::Release { by, generation });
    let gone = (a_name(), select(ClaimEndReason::ALL)).prop_map(|(reviewer, why)| Move::Gone { reviewer, why });
    let message = (select(Role::ALL), an_aim(), an_aim(), 0..3_u8)
        .prop_map(|(role, by, persona, words)| Move::Message { role, by, persona, words });
    let accept = (an_aim(), a_sure_aim(), a_check()).prop_map(|(persona, checked, check)| Move::Accept {
        persona,
        checked,
        check,
    });
    let update = (
        0..5_usize,
        select(Authority::ALL),
        an_aim(),
        select(RequestedStatus::ALL),
        0..5_usize,
        proptest::bool::weighted(0.7),
    )
        .prop_map(|(finding, role, by, requested, of, note)| Move::Update {
            finding,
            role,
            by,
            requested,
            of,
            note,
        });
    prop_oneof![
        6 => revise,
        24 => claim,
        3 => release,
        2 => gone,
        3 => Just(Move::Expire),
        3 => a_name().prop_map(|by| Move::Renew { by }),
        1 => add_seat,
        2 => operator,
        30 => a_verdict().prop_map(Move::Verdict),
        12 => update,
        15 => message,
        6 => accept,
        3 => an_aim().prop_map(|persona| Move::Reject { persona }),
        1 => Just(Move::Cancel),
        2 => select(Role::ALL).prop_map(|by| Move::Close { by }),
    ]
}

fn a_verdict() -> impl Strategy<Value = Given> {
    let reason =
        prop_oneof![8 => select(vec!["line 3", "line 4"]).prop_map(Some), 1 => Just(None), 1 => Just(Some(" "))];
    let word = prop_oneof![
        8 => Just(Verdict::ChangesRequested),
        6 => Just(Verdict::Approved),
        4 => Just(Verdict::Comment),
        1 => Just(Verdict::Rejected),
    ];
    let metrics = option::weighted(0.2, Just(ReviewMetrics { cost_usd: Some(0.25), ..ReviewMetrics::default() }));
    let patch = option::weighted(0.3, a_check());
    let findings = vec((a_finding(), option::of(proptest::bool::ANY)), 0..3);
    (an_aim(), an_aim(), an_aim(), word, reason, patch, metrics, findings).prop_map(
        |(by, generation, content, verdict, reason, patch, metrics, findings)| Given {
            by,
            generation,
            content,
            verdict,
            reason,
            patch,
            metrics,
            findings,
        },
    )
}

fn a_finding() -> impl Strategy<Value = NewFinding> {
    let severity = prop_oneof![1 => Just(Severity::Low), 2 => Just(Severity::Critical)];
    (select(vec!["a", "b", "c"]), severity, proptest::bool::weighted(0.8), proptest::bool::ANY).prop_map(
        |(title, severity, is_issue, placed)| NewFinding {
            is_issue,
            location: placed.then(|| Location::in_file("a.rs", Some(Lines { start: 3, end: 4 }))),
            ..super::super::found(title, severity)
        },
    )
}

fn an_aim() -> impl Strategy<Value = Aim> {
    prop_oneof![3 => Just(Aim::Left), 9 => (0..3_usize).prop_map(Aim::Right), 1 => (0..9_u32).prop_map(Aim::Wrong)]
}

/// Mostly right: what was looked at, by those who have no reason to cheat.
fn a_sure_aim() -> impl Strategy<Value = Aim> {
    prop_oneof![1 => Just(Aim::Left), 18 => Just(Aim::Right(0)), 1 => Just(Aim::Wrong(0))]
}

fn a_check() -> impl Strategy<Value = DiffCheck> {
    prop_oneof![8 => Just(applies()), 1 => Just(fails()), 1 => Just(DiffCheck::Skipped)]
}

fn a_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![9 => select(REVIEWERS.to_vec()), 1 => select(vec!["paul", "", VALIDATOR])]
}

impl Move {
    pub(super) fn command(&self, review: &Review) -> Command {
        let content = |aim: Aim| match aim {
            Aim::Left => None,
            Aim::Right(_) => Some(review.round.content_hash.clone()),
            Aim::Wrong(_) => Some(hash(9)),
        };
        // A seat by chance, held if any is.
        let claim = |seat: usize| {
            let claims: Vec<_> = review.seats.iter().filter_map(|seat| seat.claim.as_ref()).collect();
            claims.get(seat % claims.len().max(1)).copied()
        };
        let holder = |aim: Aim| match aim {
            Aim::Left => None,
            Aim::Right(seat) => claim(seat).map(|claim| claim.by.clone()),
            Aim::Wrong(n) => Some(["paul", "eve"][n as usize % 2].to_owned()),
        };
        let generation = |aim: Aim| match aim {
            Aim::Left => None,
            Aim::Right(seat) => claim(seat).map(|claim| claim.generation),
            Aim::Wrong(n) => Some(n),
        };
        let seat = |aim: Aim| match aim {
            Aim::Left => None,
            Aim::Right(seat) => Some(review.seats[seat % review.seats.len()].persona.clone()),
            Aim::Wrong(_) => Some("poetry".to_owned()),
        };
        match self {
            Self::Revise { by, completes, diff, key, content: same } => Command::Revise(Revise {
                // The proposer, an unnamed caller, or a caller without permission.
                proposer_id: by.map(|by| if may_review(by) { "paul".into() } else { by.into() }),
                completes: content(*completes).unwrap_or_else(|| hash(9)),
                round: Round {
                    content_hash: same.map_or_else(|| revision(review).round.content_hash, |n| hash(u64::from(n))),
                    diff: diff.clone().map(facts),
                    request_key: key.map(|key| format!("call {key}")),
                    ..revision(review).round
                },
                ..revision(review)
            }),
            Self::Claim { by, persona, takes_over, checked, check, head } => Command::Claim(ClaimSeat {
                pool_personas: Vec::new(),
                by: (*by).into(),
                persona: seat(*persona),
                takes_over: *takes_over,
                check: content(*checked).map(|content_hash| CheckedDiff {
                    content_hash,
                    check: check.clone(),
                    head: head.clone().map(super::super::head),
                    rebased: matches!((check, head), (DiffCheck::Fails { .. }, Some(DiffCheck::Applies { .. })))
                        .then(|| RebasedContent { content_hash: hash(3_000 + review.version), anchors: Vec::new() }),
                }),
            }),
            Self::Release { by, generation: aim } => Command::Release(ReleaseSeat {
                by: holder(*by),
                generation: generation(*aim),
                reason: Some("something came up".into()),
                gave_up: matches!(by, Aim::Right(0)),
            }),
            Self::Gone { reviewer, why } => {
                let detail = Some("exit code 1".into());
                let keep_seat = (*why == ClaimEndReason::TurnEnded).then_some(KEEP_SEAT);
                Command::ReviewerGone { reviewer: (*reviewer).into(), why: *why, detail, keep_seat }
            }
            Self::Expire => Command::Expire,
            Self::Renew { by } => Command::Renew { by: (*by).into() },
            Self::AddSeat { role, persona } => {
                Command::AddSeat(AddSeat { role: *role, by: None, persona: (*persona).into() })
            }
            Self::OperatorMessage { persona, to, words } => {
                let said = message(Role::Proposer, &format!("words {words}"));
                let (role, by) = (Authority::Operator, Some("olga".into()));
                Command::AddMessage(AddMessage { role, by, persona: seat(*persona), to: *to, ..said })
            }
            Self::Verdict(given) => super::super::give(GiveVerdict {
                by: holder(given.by),
                generation: generation(given.generation),
                content_hash: content(given.content).map(|hash| hash.0),
                verdict: given.verdict,
                reason: given.reason.map(Into::into),
                summary: None,
                metrics: given.metrics.clone(),
                patch: given.patch.clone().map(|check| OfferedPatch { check: Some(check), files: Vec::new() }),
                findings: (!given.findings.is_empty()).then(|| OfferedFindings {
                    content_hash: review.round.content_hash.clone(),
                    // Derived from the version, so that no other verdict has these numbers.
                    list: (review.version as i64 * 10..)
                        .zip(&given.findings)
                        .map(|(number, (found, changed))| offered(number, found, *changed))
                        .collect(),
                }),
                signature: None,
                digest: String::new(),
            }),
            Self::Update { finding, role, by, requested, of, note } => {
                let number = |n: usize| review.findings.get(n).map_or(FindingNumber(999), |finding| finding.number);
                Command::UpdateFinding(UpdateFinding {
                    number: number(*finding),
                    role: *role,
                    by: holder(*by),
                    requested: *requested,
                    duplicate_of: (*of > 0).then(|| number(*of - 1)),
                    note: note.then(|| "because".into()),
                })
            }
            Self::Message { role, by, persona, words } => {
                let by = if *role == Role::Reviewer || matches!(by, Aim::Wrong(_)) { holder(*by) } else { None };
                let metadata = (*words == 2).then(|| serde_json::json!({ "files": ["a.rs"], "line": 3 }));
                let said = message(*role, &format!("words {words}"));
                let to = (*role == Role::Proposer && *words == 1).then_some(Recipient::Reviewers);
                Command::AddMessage(AddMessage { by, persona: seat(*persona), to, metadata, ..said })
            }
            Self::Accept { persona, checked, check } => {
                let right = acceptance(review, seat(*persona).as_deref());
                Command::AcceptCounterPatch(AcceptCounterPatch {
                    patched: content(*checked).and_then(|replaces| {
                        right.patched.map(|patched| PatchedContent { replaces, diff: facts(check.clone()), ..patched })
                    }),
                    ..right
                })
            }
            Self::Reject { persona } => Command::RejectCounterPatch { by: None, persona: seat(*persona) },
            Self::Cancel => Command::Cancel { by: Some("paul".into()), reason: "not needed".into() },
            Self::Close { by } => Command::Close { by: *by, identity: None, landed_as: None },
        }
    }
}
