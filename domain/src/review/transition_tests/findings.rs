//! Tests the rules for findings: how they affect a review, who may change their status, and that disputes about them
//! end.

use super::{START, after, claim_as, decide, found, now, proposal, revise, says, seats, verdict};
use crate::{
    consensus::{Escalation, Rule},
    content::ContentHash,
    credential::Authority,
    finding::{
        Anchor, AnchorState, Finding, FindingNumber, FindingStatus, Grounding, Lines, Location, NewFinding,
        RequestedStatus, Severity,
    },
    review::{
        Command, FindingRaised, GiveVerdict, OfferedFindings, Refusal, ReleaseSeat, Review, Revise, Role, Status,
        UpdateFinding, replay, transition,
    },
    verdict::{ReviewMetrics, Verdict},
};
use proptest::{collection::vec, prelude::*, sample::select};

/// Two seats of which both must approve, and a critical finding blocks: `ada` is general, `bob` security.
fn panel(rule: Rule) -> Review {
    let mut review = seats(3, rule);
    review.policy.block_on_critical = true;
    for (by, persona) in [("ada", "general"), ("bob", "security"), ("cyd", "tests")] {
        review = after(&review, claim_as(by, persona));
    }
    review
}

fn at(found: NewFinding, start: u32) -> NewFinding {
    NewFinding { location: Some(Location::in_file("a.rs", Some(Lines { start, end: start }))), ..found }
}

fn offer(review: &Review, by: &str, word: Verdict, list: Vec<FindingRaised>) -> GiveVerdict {
    let numbers = (review.version as i64 * 10..).map(FindingNumber);
    let list = numbers.zip(list).map(|(number, offered)| FindingRaised { number, ..offered }).collect();
    let findings = Some(OfferedFindings { content_hash: review.round.content_hash.clone(), list });
    GiveVerdict { findings, ..verdict(by, word) }
}

fn grounded(found: NewFinding) -> FindingRaised {
    let grounding = Grounding::Grounded { note: None };
    let number = FindingNumber(0);
    FindingRaised { number, found, grounding, late: false, oscillating: false, duplicate: None }
}

/// What `by` says, with these findings, all of them grounded.
fn raises(review: &Review, by: &str, word: Verdict, list: Vec<NewFinding>) -> Command {
    super::give(offer(review, by, word, list.into_iter().map(grounded).collect()))
}

fn updates(
    number: FindingNumber,
    role: Authority,
    by: &str,
    requested: RequestedStatus,
    note: Option<&str>,
) -> Command {
    let (by, note) = (Some(by.into()), note.map(Into::into));
    Command::UpdateFinding(UpdateFinding { number, role, by, requested, duplicate_of: None, note })
}

fn only(review: &Review) -> &Finding {
    let [finding] = &review.findings[..] else { panic!("not one finding: {:?}", review.findings) };
    finding
}

/// Two approvals of three would be enough, but for what `cyd` has found.
fn blocked() -> Review {
    let review = panel(Rule::Majority);
    let review = after(
        &review,
        raises(&review, "cyd", Verdict::ChangesRequested, vec![at(found("reads freed memory", Severity::Critical), 3)]),
    );
    let review = after(&review, says("ada", Verdict::Approved));
    after(&review, says("bob", Verdict::Approved))
}

#[test]
fn a_critical_finding_blocks_votes_that_suffice() {
    assert_eq!(blocked().status, Status::ChangesRequested);
    let calm = panel(Rule::Majority);
    let high = vec![at(found("reads freed memory", Severity::High), 3)];
    let calm = after(&calm, raises(&calm, "cyd", Verdict::ChangesRequested, high));
    let calm = after(&after(&calm, says("ada", Verdict::Approved)), says("bob", Verdict::Approved));
    assert_eq!(calm.status, Status::Approved);
}

#[test]
fn while_a_vote_is_missing_what_is_blocked_is_undecided() {
    let review = panel(Rule::MinApprovals(1));
    let critical = vec![found("leaks the key", Severity::Critical)];
    let review = after(&review, raises(&review, "ada", Verdict::Approved, critical));
    assert_eq!(review.status, Status::InReview);
}

#[test]
fn settling_what_blocks_lets_the_votes_count() {
    let review = blocked();
    let number = only(&review).number;
    for requested in [RequestedStatus::Fixed, RequestedStatus::WontFix] {
        let settled = after(&review, updates(number, Authority::Reviewer, "cyd", requested, Some("I was wrong")));
        assert_eq!((settled.status, settled.approved_hash.is_some()), (Status::Approved, true));
        let back = after(
            &settled,
            updates(number, Authority::Reviewer, "cyd", RequestedStatus::Open, Some("no, I was right")),
        );
        assert_eq!((back.status, back.approved_hash), (Status::ChangesRequested, None));
    }
}

#[test]
fn a_person_may_overrule() {
    let review = blocked();
    let overruled = after(
        &review,
        updates(only(&review).number, Authority::Operator, "eva", RequestedStatus::WontFix, Some("not reachable")),
    );
    assert_eq!(overruled.status, Status::Approved);
    assert_eq!(overruled.decision.map(|decision| decision.by), Some("eva".into()));
}

#[test]
fn what_is_not_there_blocks_unless_the_policy_says_otherwise() {
    for (ungrounded_blocks, expected) in [(true, Status::ChangesRequested), (false, Status::Approved)] {
        let mut review = panel(Rule::RequireAll);
        review.policy.ungrounded_blocks = ungrounded_blocks;
        let invented = FindingRaised {
            grounding: Grounding::Ungrounded { why: "no such file".into() },
            ..grounded(at(found("reads freed memory", Severity::Critical), 3))
        };
        let given = offer(&review, "cyd", Verdict::Approved, vec![invented]);
        let review = after(&review, super::give(given));
        let review = after(&after(&review, says("ada", Verdict::Approved)), says("bob", Verdict::Approved));
        assert_eq!(review.status, expected);
        assert_eq!(only(&review).anchor, None);
    }
}

#[test]
fn suggestions_never_block() {
    let review = panel(Rule::RequireAll);
    let suggestion = NewFinding { is_issue: false, ..found("use a map", Severity::Critical) };
    let review = after(&review, raises(&review, "cyd", Verdict::Approved, vec![suggestion]));
    let review = after(&after(&review, says("ada", Verdict::Approved)), says("bob", Verdict::Approved));
    assert_eq!(review.status, Status::Approved);
}

#[test]
fn a_proposer_answers_and_the_reviewer_decides() {
    let review = blocked();
    let number = only(&review).number;
    let disputed =
        after(&review, updates(number, Authority::Proposer, "paul", RequestedStatus::Disputed, Some("it is checked")));
    assert_eq!((disputed.status, only(&disputed).status), (Status::InReview, FindingStatus::Open));
    let reserved = disputed.seats[2].reservation.as_ref().map(|reservation| reservation.reviewer.as_str());
    assert_eq!(reserved, Some("cyd"), "its reviewer decides");
    let disputed = after(&disputed, claim_as("cyd", "tests"));
    let confirmed =
        after(&disputed, updates(number, Authority::Reviewer, "cyd", RequestedStatus::Open, Some("not there")));
    assert_eq!((only(&confirmed).reply.is_none(), only(&confirmed).status), (true, FindingStatus::Open));
    let withdrawn =
        after(&disputed, updates(number, Authority::Reviewer, "cyd", RequestedStatus::WontFix, Some("so it is")));
    assert_eq!((withdrawn.status, only(&withdrawn).status), (Status::Approved, FindingStatus::WontFix));
}

#[test]
fn an_operator_that_settles_an_answered_issue_takes_the_reviewers_turn() {
    let review = panel(Rule::RequireAll);
    let review =
        after(&review, raises(&review, "ada", Verdict::ChangesRequested, vec![found("a leak", Severity::High)]));
    let number = only(&review).number;
    let disputed = after(&review, updates(number, Authority::Proposer, "paul", RequestedStatus::Disputed, Some("no")));
    assert!(disputed.seats[0].asked_reviewer.is_some());
    let settled = after(&disputed, updates(number, Authority::Operator, "olga", RequestedStatus::WontFix, None));
    assert_eq!(settled.seats[0].asked_reviewer, None);
}

#[test]
fn who_may_say_what_of_a_finding() {
    use Authority::{Operator, Proposer, Reviewer};
    let review = blocked();
    let number = only(&review).number;
    let code = |role, by, requested, note| match decide(&review, updates(number, role, by, requested, note)) {
        Ok(_) => "",
        Err(refusal) => refusal.code(),
    };
    let because = Some("because");
    for (role, by, requested, note, expected) in [
        (Proposer, "paul", RequestedStatus::Fixed, None, ""),
        (Proposer, "paul", RequestedStatus::Disputed, None, "note_needed"),
        (Proposer, "paul", RequestedStatus::WontFix, None, "note_needed"),
        (Proposer, "paul", RequestedStatus::Open, because, "not_for_proposers"),
        (Proposer, "paul", RequestedStatus::Duplicate, because, "not_for_proposers"),
        (Proposer, "mallory", RequestedStatus::Disputed, because, "not_the_proposer"),
        (Reviewer, "cyd", RequestedStatus::Disputed, because, "not_for_reviewers"),
        (Reviewer, "ada", RequestedStatus::Fixed, because, "not_your_seat"),
        (Reviewer, "cyd", RequestedStatus::Duplicate, because, "duplicate_of_needed"),
        (Operator, "eva", RequestedStatus::Fixed, None, ""),
        (Operator, "eva", RequestedStatus::Disputed, because, "not_the_proposer"),
    ] {
        assert_eq!(code(role, by, requested, note), expected, "{role} {by} {requested}");
    }
    let other = updates(FindingNumber(7), Operator, "eva", RequestedStatus::Fixed, None);
    assert_eq!(decide(&review, other).map_err(|refusal| refusal.code()), Err("unknown_issue"));
}

/// The next round, with this anchor for the only finding.
fn revised(review: &Review, anchor: Option<Anchor>) -> Review {
    let anchors = anchor.map(|anchor| (only(review).number, anchor)).into_iter().collect();
    let Command::Revise(revision) = revise(review) else { panic!("no revision") };
    after(review, Command::Revise(Revise { anchors, ..revision }))
}

fn anchored(state: AnchorState) -> Anchor {
    let location = Location::in_file("a.rs", Some(Lines { start: 9, end: 9 }));
    Anchor { state, location: (state != AnchorState::Gone).then_some(location), likely_fixed: false }
}

#[test]
fn a_revision_carries_findings_over() {
    for state in AnchorState::ALL.iter().copied() {
        let next = revised(&blocked(), Some(anchored(state)));
        assert_eq!(only(&next).anchor, Some(anchored(state)));
        assert_eq!(only(&next).status, FindingStatus::Open);
    }
    // It could not be anchored: no location is better than a wrong one.
    assert_eq!(only(&revised(&blocked(), None)).anchor, None);
}

#[test]
fn an_approval_settles_what_its_persona_had_raised_before() {
    use AnchorState::{Exact, Gone, Modified, Moved};
    use FindingStatus::{Fixed, Open, WontFix};
    for (severity, state, expected) in [
        (Severity::Critical, Some(Modified), Fixed),
        (Severity::Critical, Some(Gone), Fixed),
        (Severity::Critical, Some(Exact), WontFix),
        (Severity::Critical, Some(Moved), WontFix),
        (Severity::Critical, None, Fixed),
        (Severity::High, Some(Exact), WontFix),
        (Severity::High, Some(Modified), Fixed),
        (Severity::Low, None, Fixed),
    ] {
        let review = panel(Rule::RequireAll);
        let raised = vec![at(found("reads freed memory", severity), 3)];
        let review = after(&review, raises(&review, "cyd", Verdict::ChangesRequested, raised));
        let review = after(&after(&review, says("ada", Verdict::Approved)), says("bob", Verdict::Approved));
        let review = revised(&review, state.map(anchored));
        let review = after(&after(&review, claim_as("ada", "general")), says("ada", Verdict::Approved));
        assert_eq!(only(&review).status, Open, "another persona's approval says nothing of it");
        let review = after(&after(&review, claim_as("bob", "security")), says("bob", Verdict::Approved));
        let review = after(&after(&review, claim_as("cyd", "tests")), says("cyd", Verdict::Approved));
        assert_eq!((only(&review).status, review.status), (expected, Status::Approved), "{severity} {state:?}");
    }
}

#[test]
fn the_same_from_two_is_one_with_the_higher_severity() {
    let review = panel(Rule::RequireAll);
    let low = at(found("reads freed memory", Severity::Low), 3);
    let critical = NewFinding { severity: Severity::Critical, ..low.clone() };
    let review = after(&review, raises(&review, "ada", Verdict::Approved, vec![low.clone(), low]));
    let review = after(&review, raises(&review, "bob", Verdict::Approved, vec![critical]));
    let states: Vec<_> = review.findings.iter().map(|f| (f.status, f.found.severity, f.repeated)).collect();
    assert_eq!(
        states,
        [
            (FindingStatus::Open, Severity::Critical, 2),
            (FindingStatus::Duplicate, Severity::Low, 0),
            (FindingStatus::Duplicate, Severity::Critical, 0),
        ]
    );
    let first = review.findings[0].number;
    assert!(review.findings[1..].iter().all(|finding| finding.duplicate_of == Some(first)));
    assert_eq!(after(&review, says("cyd", Verdict::Approved)).status, Status::ChangesRequested);
}

#[test]
fn what_was_fixed_and_comes_back_oscillates() {
    let review = blocked();
    let number = only(&review).number;
    let review = after(&review, updates(number, Authority::Reviewer, "cyd", RequestedStatus::Fixed, None));
    let again = vec![at(found("reads freed memory", Severity::High), 3)];
    let review = after(&review, raises(&review, "bob", Verdict::ChangesRequested, again));
    let first = &review.findings[0];
    assert_eq!((first.status, first.oscillating, first.repeated), (FindingStatus::Open, true, 1));
    assert_eq!(review.escalation(), Some(Escalation::Oscillation));
}

#[test]
fn what_was_settled_as_it_is_stays_so_unless_it_is_worse() {
    for (severity, expected) in [(Severity::High, FindingStatus::WontFix), (Severity::Critical, FindingStatus::Open)] {
        let review = panel(Rule::RequireAll);
        let raised = vec![at(found("reads freed memory", Severity::High), 3)];
        let review = after(&review, raises(&review, "ada", Verdict::ChangesRequested, raised));
        let number = only(&review).number;
        let review =
            after(&review, updates(number, Authority::Reviewer, "ada", RequestedStatus::WontFix, Some("known")));
        let again = vec![at(found("reads freed memory", severity), 3)];
        let review = after(&review, raises(&review, "bob", Verdict::ChangesRequested, again));
        assert_eq!(review.findings[0].status, expected, "{severity}");
    }
}

#[test]
fn asking_for_the_opposite_of_what_was_asked_for_oscillates() {
    let review = panel(Rule::RequireAll);
    let asked = NewFinding {
        code_snippet: Some("let n = items.len();".into()),
        suggestion: Some("let count = items.len();".into()),
        ..at(found("name it count", Severity::Low), 3)
    };
    let review = after(&review, raises(&review, "ada", Verdict::ChangesRequested, vec![asked]));
    let review = ["bob", "cyd"].iter().fold(review, |review, by| after(&review, says(by, Verdict::Approved)));
    let review = after(&revised(&review, Some(anchored(AnchorState::Modified))), claim_as("ada", "general"));
    let undone = NewFinding {
        code_snippet: Some("let  count = items.len();".into()),
        ..at(found("count says too little", Severity::Low), 3)
    };
    let review = after(&review, raises(&review, "ada", Verdict::ChangesRequested, vec![undone]));
    assert!(review.findings[1].oscillating && !review.findings[0].oscillating);
    assert_eq!(review.escalation(), Some(Escalation::Oscillation));
}

#[test]
fn a_later_round_raises_only_what_changed() {
    for (changed, severity, late) in [
        (Some(false), Severity::High, true),
        (Some(true), Severity::High, false),
        (None, Severity::High, false),
        (Some(false), Severity::Critical, false),
    ] {
        let review = panel(Rule::RequireAll);
        let review = ["ada", "bob"].iter().fold(review, |review, by| after(&review, says(by, Verdict::Approved)));
        let review = after(&review, says("cyd", Verdict::ChangesRequested));
        let review = after(&after(&review, revise(&review)), claim_as("cyd", "tests"));
        let offered = FindingRaised { late: changed == Some(false), ..grounded(at(found("new", severity), 3)) };
        let given = offer(&review, "cyd", Verdict::ChangesRequested, vec![offered]);
        let review = after(&review, super::give(given));
        assert_eq!(only(&review).late, late, "{changed:?} {severity}");
    }
    // A persona that votes for the first time may raise anything.
    let review = after(&seats(1, Rule::RequireAll), claim_as("ada", "general"));
    let offered = FindingRaised { late: true, ..grounded(at(found("new", Severity::Low), 3)) };
    let given = offer(&review, "ada", Verdict::ChangesRequested, vec![offered]);
    assert!(!only(&after(&review, super::give(given))).late);
}

#[test]
fn findings_of_another_content_are_refused_whole() {
    let review = panel(Rule::RequireAll);
    let mut given = offer(&review, "ada", Verdict::Comment, vec![grounded(found("new", Severity::Low))]);
    if let Some(findings) = &mut given.findings {
        findings.content_hash = ContentHash("0".repeat(64));
    }
    assert_eq!(decide(&review, super::give(given)).err(), Some(Refusal::ContentMoved));
}

#[test]
fn time_and_money_end_in_a_person() {
    for (minutes, cost, expected) in [
        (Some(5), None, Some(Escalation::Minutes)),
        (Some(6), None, None),
        (None, Some(250_000), Some(Escalation::Cost)),
        (None, Some(250_001), None),
    ] {
        let mut review = panel(Rule::RequireAll);
        (review.policy.max_minutes, review.policy.max_cost_micro_usd) = (minutes, cost);
        let metrics = Some(ReviewMetrics { cost_usd: Some(0.25), ..ReviewMetrics::default() });
        let given = super::give(GiveVerdict { metrics, ..verdict("ada", Verdict::ChangesRequested) });
        let moment = now(START.tick.0 + 5 * 60_000);
        let next = transition(Some(&review), given, moment, &super::RULES).map(|taken| taken.next);
        assert_eq!(next.map(|next| (next.escalation(), next.cost_micro_usd)), Ok((expected, 250_000)));
    }
}

#[test]
fn who_gives_up_leaves_a_word_until_the_next_claim() {
    let review = panel(Rule::RequireAll);
    let reason = Some("no answer in 60 s".into());
    let gives_up = Command::Release(ReleaseSeat { by: Some("ada".into()), generation: None, reason, gave_up: true });
    let review = after(&review, gives_up);
    assert_eq!(review.seats[0].gave_up.as_deref(), Some("no answer in 60 s"));
    assert!(review.seats[0].is_free());
    assert_eq!(after(&review, claim_as("dan", "general")).seats[0].gave_up, None);
}

/// One reviewer's script: what it says in each of its turns, and what it finds.
type Script = Vec<(Verdict, Vec<(u8, Severity)>)>;

fn a_script() -> impl Strategy<Value = Script> {
    let word = select(vec![Verdict::Approved, Verdict::ChangesRequested, Verdict::ChangesRequested]);
    let finding = (0..4_u8, select(Severity::ALL));
    vec((word, vec(finding, 0..3)), 1..6)
}

proptest! {
    /// Reviewers that follow any script, and a proposer that revises until the review is escalated: the review
    /// comes to an end, within as many rounds as the policy allows.
    #[test]
    fn every_scripted_review_ends(
        scripts in vec(a_script(), 1..4), max_rounds in 1..5_u32, rule in select(vec![Rule::RequireAll, Rule::Majority]),
    ) {
        let personas = ["general", "security", "tests"];
        let mut first = proposal(&personas[..scripts.len()], rule, None);
        first.proposed.policy.max_rounds = max_rounds;
        first.proposed.policy.block_on_critical = scripts.len() > 1;
        let begun = super::propose_at(first, START);
        let (mut review, mut log) = (begun.next, begun.events);
        let mut say = |review: &mut Review, command: Command| -> Result<(), TestCaseError> {
            let taken = decide(review, command).map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
            log.extend(taken.events);
            *review = taken.next;
            Ok(())
        };
        while review.escalated.is_none() && review.status != Status::Approved {
            prop_assert!(review.round.number <= max_rounds, "an endless circle");
            for (seat, script) in scripts.iter().enumerate().take(review.seats.len()) {
                if !review.status.is_open() {
                    break;
                }
                let by = format!("r{seat}");
                say(&mut review, claim_as(&by, personas[seat]))?;
                let (word, list) = &script[(review.round.number as usize - 1) % script.len()];
                let list = list.iter().map(|(n, severity)| at(found(&format!("finding {n}"), *severity), 10 * u32::from(*n)));
                let given = raises(&review, &by, *word, list.collect());
                say(&mut review, given)?;
            }
            if review.status == Status::ChangesRequested && review.escalated.is_none() {
                let anchors = review.findings.iter().map(|f| (f.number, anchored(AnchorState::Modified))).collect();
                let Command::Revise(revision) = revise(&review) else { panic!("no revision") };
                say(&mut review, Command::Revise(Revise { anchors, ..revision }))?;
            }
        }
        prop_assert_eq!(replay(&log), Some(review));
    }
}

#[test]
fn what_is_said_twice_counts_once() {
    let review = blocked();
    let number = only(&review).number;
    for (role, by, requested) in [
        (Authority::Proposer, "paul", RequestedStatus::Disputed),
        (Authority::Reviewer, "cyd", RequestedStatus::Fixed),
        (Authority::Operator, "eva", RequestedStatus::WontFix),
    ] {
        let command = updates(number, role, by, requested, Some("because"));
        let once = after(&review, command.clone());
        assert_eq!(after(&once, command), once, "{role}");
    }
    let late_word = super::writes_to("tests", Role::Proposer, "look again");
    assert_eq!(after(&review, late_word).findings, review.findings);
}

#[test]
fn nobody_overrules_what_was_found_in_its_own_proposal() {
    let review = blocked();
    let overrules = updates(only(&review).number, Authority::Operator, "paul", RequestedStatus::WontFix, Some("mine"));
    assert_eq!(decide(&review, overrules).map_err(|refusal| refusal.code()), Err("own_proposal"));
}

/// The only finding of a panel whose `cyd` wants changes, one round later, on lines that were changed.
fn second_round(severity: Severity) -> Review {
    let review = panel(Rule::Majority);
    let raised = vec![at(found("reads freed memory", severity), 3)];
    let review = after(&review, raises(&review, "cyd", Verdict::ChangesRequested, raised));
    let review = after(&review, says("ada", Verdict::ChangesRequested));
    let review = after(&review, says("bob", Verdict::Approved));
    let mut next = revised(&review, Some(anchored(AnchorState::Modified)));
    for (by, persona) in [("ada", "general"), ("bob", "security"), ("cyd", "tests")] {
        next = after(&next, claim_as(by, persona));
    }
    next
}

#[test]
fn an_approval_does_not_settle_what_is_said_again() {
    // By the reviewer that approves...
    let review = second_round(Severity::Low);
    let again = vec![at(found("reads freed memory", Severity::Critical), 9)];
    let review = after(&review, raises(&review, "cyd", Verdict::Approved, again.clone()));
    assert_eq!(review.findings[0].status, FindingStatus::Open);
    assert_eq!(after(&review, says("ada", Verdict::Approved)).status, Status::InReview, "it blocks");
    // ... or by another.
    let review = second_round(Severity::Low);
    let review = after(&review, raises(&review, "ada", Verdict::ChangesRequested, again));
    let review = after(&after(&review, says("cyd", Verdict::Approved)), says("bob", Verdict::Approved));
    assert_eq!((review.findings[0].status, review.status), (FindingStatus::Open, Status::ChangesRequested));
    // The last of those who raised it settles it.
    let review = after(&review, says("ada", Verdict::Approved));
    assert_eq!((review.findings[0].status, review.status), (FindingStatus::Fixed, Status::Approved));
}

#[test]
fn advice_that_was_settled_does_not_swallow_an_issue() {
    let review = panel(Rule::RequireAll);
    let advice = NewFinding { is_issue: false, ..at(found("reads freed memory", Severity::Critical), 3) };
    let review = after(&review, raises(&review, "ada", Verdict::Approved, vec![advice.clone()]));
    let number = only(&review).number;
    let review = after(&review, updates(number, Authority::Proposer, "paul", RequestedStatus::WontFix, Some("no")));
    assert_eq!(only(&review).status, FindingStatus::WontFix);
    let issue = NewFinding { is_issue: true, ..advice };
    let review = after(&review, raises(&review, "bob", Verdict::Approved, vec![issue]));
    assert_eq!((review.findings[0].status, review.blocking().count()), (FindingStatus::Open, 1));
}

#[test]
fn what_is_there_is_not_lost_in_what_is_not() {
    let mut review = panel(Rule::RequireAll);
    review.policy.ungrounded_blocks = false;
    let invented = FindingRaised {
        grounding: Grounding::Ungrounded { why: "no such quote".into() },
        ..grounded(found("no check of rights", Severity::Critical))
    };
    let given = offer(&review, "ada", Verdict::Approved, vec![invented]);
    let review = after(&review, super::give(given));
    assert_eq!(review.blocking().count(), 0);
    let true_one = vec![found("no check of rights", Severity::Critical)];
    let review = after(&review, raises(&review, "bob", Verdict::Approved, true_one));
    assert_eq!(review.blocking().count(), 1);
}

#[test]
fn saying_it_twice_does_not_make_it_early() {
    let review = after(&seats(1, Rule::RequireAll), claim_as("ada", "general"));
    let review = after(&review, says("ada", Verdict::ChangesRequested));
    let review = after(&after(&review, revise(&review)), claim_as("ada", "general"));
    let late = FindingRaised { late: true, ..grounded(at(found("new", Severity::High), 3)) };
    let given = offer(&review, "ada", Verdict::ChangesRequested, vec![late.clone(), late]);
    let review = after(&review, super::give(given));
    assert!(review.findings[0].late);
}

#[test]
fn settling_what_does_not_block_leaves_the_status_alone() {
    let review = seats(2, Rule::RequireAll);
    let review = after(&after(&review, claim_as("ada", "general")), claim_as("bob", "security"));
    let advice = NewFinding { is_issue: false, ..found("use a map", Severity::Low) };
    let given = offer(&review, "ada", Verdict::ChangesRequested, vec![grounded(advice)]);
    let review = after(&after(&review, super::give(given)), says("bob", Verdict::Approved));
    assert_eq!(review.status, Status::ChangesRequested);
    let number = only(&review).number;
    let review = after(&review, updates(number, Authority::Proposer, "paul", RequestedStatus::Fixed, None));
    assert_eq!((review.status, only(&review).status), (Status::ChangesRequested, FindingStatus::Fixed));
}

#[test]
fn a_duplicate_marked_by_hand_weighs_with_the_first() {
    let review = panel(Rule::Majority);
    let raised = vec![
        at(found("first thing", Severity::Low), 3),
        at(found("second matter", Severity::Critical), 30),
        at(found("third affair", Severity::Low), 60),
    ];
    let review = after(&review, raises(&review, "cyd", Verdict::ChangesRequested, raised));
    let [first, second, third] = [0, 1, 2].map(|n| review.findings[n].number);
    let marks = |number, of| {
        let Command::UpdateFinding(update) =
            updates(number, Authority::Reviewer, "cyd", RequestedStatus::Duplicate, None)
        else {
            panic!("no update")
        };
        Command::UpdateFinding(UpdateFinding { duplicate_of: Some(of), ..update })
    };
    let review = after(&after(&review, marks(third, second)), marks(second, first));
    assert_eq!((review.findings[0].found.severity, review.blocking().count()), (Severity::Critical, 1));
    assert_eq!(review.findings[2].duplicate_of, Some(first), "no chains");
    for (number, of) in [(first, second), (first, third), (first, first)] {
        let refused = decide(&review, marks(number, of)).map_err(|refusal| refusal.code());
        assert_eq!(refused, Err("duplicate_of_needed"), "no circles");
    }
}

#[test]
fn a_comment_that_finds_something_critical_undoes_an_approval() {
    let review = panel(Rule::MinApprovals(1));
    let review = after(&review, says("ada", Verdict::Approved));
    assert_eq!(review.status, Status::Approved);
    let critical = vec![found("leaks the key", Severity::Critical)];
    let review = after(&review, raises(&review, "bob", Verdict::Comment, critical));
    assert_eq!((review.status, review.approved_hash), (Status::InReview, None));
}
