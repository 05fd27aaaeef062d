use super::{Activity, Decision, Drain, DrainReason, Limits, Member, Queue, Spawn, SpawnReason, decide};
use crate::time::Tick;
use proptest::prelude::*;
use std::time::Duration;

const LIMITS: Limits = Limits {
    ratio: 3,
    max_size: 3,
    cooldown: Duration::from_secs(10),
    idle_after: Duration::from_secs(300),
    ttl: Duration::from_secs(3600),
};

const NOW: Tick = Tick(10_000_000);

fn queue(project: &str, pending: u64) -> Queue {
    Queue { project: Some(project.into()), persona: None, pending, panel: pending.min(1), hold_until: None }
}

fn member(id: &str, project: &str, activity: Activity) -> Member {
    Member { id: id.into(), project: Some(project.into()), persona: None, spawned: ago(60), activity, spent: false }
}

fn busy(id: &str) -> Member {
    member(id, "a", Activity::Busy)
}

fn idle(id: &str, project: &str, seconds: i64) -> Member {
    member(id, project, Activity::Idle { since: ago(seconds) })
}

fn ago(seconds: i64) -> Tick {
    Tick(NOW.0 - seconds * 1000)
}

fn rested() -> Option<Tick> {
    Some(ago(60))
}

#[track_caller]
fn check_spawn(pending: u64, pool: &[Member], last_spawn: Option<Tick>, expected: Option<SpawnReason>) -> Decision {
    let decision = decide(&[queue("a", pending)], 0, pool, last_spawn, &LIMITS, NOW);
    assert_eq!(
        decision.spawn,
        expected.map(|why| Spawn { project: Some("a".into()), persona: None, why }),
        "{decision:?}"
    );
    decision
}

#[test]
fn a_reviewer_is_started_when_the_queue_exceeds_the_ratio() {
    use SpawnReason::{Backlog, ColdStart};
    check_spawn(0, &[], rested(), None);
    check_spawn(1, &[], rested(), Some(ColdStart));
    check_spawn(3, &[busy("1")], rested(), None);
    check_spawn(4, &[busy("1")], rested(), Some(Backlog));
    check_spawn(6, &[busy("1"), busy("2")], rested(), None);
    check_spawn(7, &[busy("1"), busy("2")], rested(), Some(Backlog));
}

#[test]
fn the_limit_counts_reviewers_that_are_leaving() {
    let leaving = |id| member(id, "a", Activity::Leaving);
    check_spawn(99, &[busy("1"), busy("2"), busy("3")], rested(), None);
    check_spawn(99, &[leaving("1"), leaving("2"), leaving("3")], rested(), None);
    // but they serve no queue
    check_spawn(1, &[leaving("1")], rested(), Some(SpawnReason::ColdStart));
}

#[test]
fn the_cooldown_applies_to_all_but_the_first_reviewer() {
    let just = Some(ago(4));
    check_spawn(1, &[], just, Some(SpawnReason::ColdStart));
    let waits = check_spawn(9, &[busy("1")], just, None);
    assert_eq!(waits.next_check, Some(Tick(NOW.0 + 6000)));
}

#[test]
fn a_project_whose_reviewers_fail_does_not_delay_others() {
    let soon = Tick(NOW.0 + 2000);
    let held = Queue { hold_until: Some(soon), ..queue("a", 9) };
    let decision = decide(std::slice::from_ref(&held), 0, &[], None, &LIMITS, NOW);
    assert_eq!((decision.spawn, decision.next_check), (None, Some(soon)));
    let decision = decide(&[held.clone(), queue("b", 1)], 0, &[], None, &LIMITS, NOW);
    assert_eq!(decision.spawn.and_then(|spawn| spawn.project).as_deref(), Some("b"));
    let decision = decide(&[Queue { hold_until: Some(NOW), ..held }], 0, &[], None, &LIMITS, NOW);
    assert!(decision.spawn.is_some(), "it has waited long enough");
}

#[test]
fn idle_and_old_reviewers_are_drained() {
    let old = Member { spawned: ago(3600), ..busy("old") };
    let pool = [idle("lazy", "a", 300), idle("fresh", "a", 299), old, busy("young")];
    let limits = Limits { max_size: 10, ..LIMITS };
    let decision = decide(&[], 0, &pool, rested(), &limits, NOW);
    let drain = |id: &str, why| Drain { id: id.into(), why };
    assert_eq!(decision.drain, [drain("lazy", DrainReason::Idle), drain("old", DrainReason::Ttl)]);
    assert_eq!(decision.next_check, Some(Tick(NOW.0 + 1000)), "the fresh one is next");
}

#[test]
fn a_drained_reviewer_is_replaced_if_work_waits() {
    let old = Member { spawned: ago(3600), ..busy("old") };
    let decision = check_spawn(1, &[old], rested(), Some(SpawnReason::ColdStart));
    assert_eq!(decision.drain.len(), 1);
}

#[test]
fn a_project_without_a_reviewer_comes_first() {
    let queues = [queue("a", 50), queue("b", 1), queue("c", 2)];
    let decision = decide(&queues, 0, &[busy("1")], rested(), &LIMITS, NOW);
    assert_eq!(decision.spawn, Some(Spawn { project: Some("c".into()), persona: None, why: SpawnReason::ColdStart }));
}

#[test]
fn a_full_pool_makes_room_for_a_project_without_a_reviewer() {
    let full = [idle("1", "b", 5), idle("2", "b", 9), busy("3")];
    let decision = decide(&[queue("c", 1)], 0, &full, rested(), &LIMITS, NOW);
    assert_eq!(decision.drain, [Drain { id: "2".into(), why: DrainReason::MakeRoom }]);
    assert_eq!(decision.spawn, None);
    // One reviewer is drained at a time, and none whose own project has work.
    let leaving = [member("1", "b", Activity::Leaving), idle("2", "b", 9), busy("3")];
    assert_eq!(decide(&[queue("c", 1)], 0, &leaving, rested(), &LIMITS, NOW).drain, []);
    assert_eq!(decide(&[queue("b", 1), queue("c", 1)], 0, &full, rested(), &LIMITS, NOW).drain, []);
}

#[test]
fn a_review_of_several_seats_gets_as_many_reviewers() {
    let panel = |seats: u64, free: u64| Queue { pending: free, panel: seats, ..queue("a", free) };
    let spawns =
        |queue: Queue, pool: &[Member]| decide(&[queue], 0, pool, rested(), &LIMITS, NOW).spawn.map(|spawn| spawn.why);
    assert_eq!(spawns(panel(3, 3), &[]), Some(SpawnReason::ColdStart));
    assert_eq!(spawns(panel(3, 2), &[busy("1")]), Some(SpawnReason::Backlog), "a reviewer takes one seat of a review");
    assert_eq!(spawns(panel(2, 1), &[busy("1"), idle("2", "a", 1)]), None, "the second can take it");
}

#[test]
fn a_full_pool_makes_room_for_a_seat_that_none_of_it_can_take() {
    let spent = |id: &str| Member { spent: true, ..idle(id, "a", 5) };
    let limits = Limits { max_size: 2, ..LIMITS };
    let drains =
        |pool: &[Member]| decide(&[Queue { panel: 3, ..queue("a", 1) }], 0, pool, rested(), &limits, NOW).drain;
    assert_eq!(
        drains(&[spent("1"), Member { spent: true, ..busy("2") }]),
        [Drain { id: "1".into(), why: DrainReason::MakeRoom }]
    );
    assert_eq!(drains(&[spent("1"), idle("2", "a", 5)]), [], "the second can still take it");
    assert_eq!(drains(&[spent("1"), busy("2")]), [], "so it can once it has finished");
}

/// The one-shot reviewers and the agent to start, and the reviewers to drain.
fn with_one_shots(waiting: usize, pending: u64, pool: &[Member]) -> (usize, Option<SpawnReason>, Vec<String>) {
    let decision = decide(&[queue("a", pending)], waiting, pool, rested(), &LIMITS, NOW);
    let drained = decision.drain.into_iter().map(|drain| drain.id).collect();
    (decision.assigned, decision.spawn.map(|spawn| spawn.why), drained)
}

#[test]
fn one_shots_fill_the_free_places() {
    let one_shot = |id: &str| member(id, "a", Activity::Assigned);
    assert_eq!(with_one_shots(2, 0, &[]), (2, None, vec![]));
    assert_eq!(with_one_shots(9, 0, &[one_shot("1")]), (2, None, vec![]));
    assert_eq!(with_one_shots(1, 0, &[one_shot("1"), busy("2"), busy("3")]), (0, None, vec![]));
}

#[test]
fn one_shots_serve_no_queue_and_come_before_a_backlog() {
    use SpawnReason::{Backlog, ColdStart};
    let one_shot = member("1", "a", Activity::Assigned);
    assert_eq!(with_one_shots(0, 1, std::slice::from_ref(&one_shot)), (0, Some(ColdStart), vec![]));
    assert_eq!(with_one_shots(5, 1, &[one_shot]), (1, Some(ColdStart), vec![]));
    assert_eq!(with_one_shots(5, 9, &[busy("1")]), (2, None, vec![]));
    assert_eq!(with_one_shots(1, 9, &[busy("1")]), (1, Some(Backlog), vec![]));
}

#[test]
fn an_idle_agent_makes_room_for_a_one_shot() {
    let full = [busy("1"), idle("2", "a", 5), idle("3", "a", 50)];
    assert_eq!(with_one_shots(1, 0, &full), (0, None, vec!["3".to_owned()]));
    assert_eq!(with_one_shots(1, 1, &full), (0, None, vec![]), "they have work");
    let leaving = [busy("1"), idle("2", "a", 5), member("3", "a", Activity::Leaving)];
    assert_eq!(with_one_shots(1, 0, &leaving), (0, None, vec![]));
}

fn any_member() -> impl Strategy<Value = Member> {
    let activity = prop_oneof![
        (0..600i64).prop_map(|seconds| Activity::Idle { since: ago(seconds) }),
        Just(Activity::Busy),
        Just(Activity::Leaving),
        Just(Activity::Assigned),
    ];
    (0..3u8, 0..7200i64, activity, any::<bool>()).prop_map(|(project, age, activity, spent)| Member {
        persona: None,
        id: String::new(),
        project: Some(project.to_string()),
        spawned: ago(age),
        activity,
        spent,
    })
}

proptest! {
    #[test]
    fn every_decision_keeps_within_the_limits(
        pending in proptest::collection::vec(0..50u64, 3),
        mut pool in proptest::collection::vec(any_member(), 0..12),
        last_spawn in proptest::option::of(0..60i64),
        max_size in 1..=10usize,
        one_shots in 0..5usize,
    ) {
        for (i, member) in pool.iter_mut().enumerate() {
            member.id = i.to_string();
        }
        let queues: Vec<_> = pending.iter().enumerate().map(|(i, n)| queue(&i.to_string(), *n)).collect();
        let limits = Limits { max_size, ..LIMITS };
        let decision = decide(&queues, one_shots, &pool, last_spawn.map(ago), &limits, NOW);
        if let Some(spawn) = &decision.spawn {
            prop_assert!(pool.len() < max_size);
            prop_assert!(queues.iter().any(|queue| queue.project == spawn.project && queue.pending > 0));
        }
        let started = decision.assigned + usize::from(decision.spawn.is_some());
        prop_assert!(decision.assigned <= one_shots && (started == 0 || pool.len() + started <= max_size));
        for drain in &decision.drain {
            let drained = pool.iter().find(|member| member.id == drain.id);
            prop_assert!(drained.is_some_and(|member| !matches!(member.activity, Activity::Leaving | Activity::Assigned)));
        }
        prop_assert!(decision.next_check.is_none_or(|at| at > NOW));
    }
}
