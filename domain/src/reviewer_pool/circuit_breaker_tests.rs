use super::{CircuitBreaker, RunResult};
use crate::time::Tick;

const NOW: Tick = Tick(10_000_000);
const MAX_FAILURES: u32 = 5;

fn failure() -> RunResult {
    RunResult { handled: 0, clean: false, requested: false, work_waiting: true }
}

#[test]
fn failures_in_a_row_delay_longer_and_then_open_the_breaker() {
    let mut breaker = CircuitBreaker::default();
    let mut holds = Vec::new();
    for n in 1..=5 {
        assert_eq!(breaker.record(&failure(), MAX_FAILURES, NOW), n == 5, "only the fifth is too many");
        holds.push(breaker.hold_until.map(|at| (at.0 - NOW.0) / 1000));
    }
    assert_eq!(holds, [Some(0), Some(1), Some(2), Some(4), Some(8)]);
    assert!(!breaker.record(&RunResult { handled: 3, ..failure() }, MAX_FAILURES, NOW));
    assert!(breaker.is_open, "only clear() closes it");
    breaker.clear();
    assert_eq!(breaker, CircuitBreaker::default());
}

#[test]
fn only_a_run_without_result_counts_as_a_failure() {
    let failures = |run: RunResult| {
        let mut breaker = CircuitBreaker::default();
        breaker.record(&failure(), MAX_FAILURES, NOW);
        breaker.record(&run, MAX_FAILURES, NOW);
        breaker.failures
    };
    assert_eq!(failures(failure()), 2);
    assert_eq!(failures(RunResult { work_waiting: false, ..failure() }), 2, "a crash");
    assert_eq!(failures(RunResult { clean: true, ..failure() }), 2, "it left work behind");
    assert_eq!(failures(RunResult { clean: true, work_waiting: false, ..failure() }), 1, "it found nothing to do");
    assert_eq!(failures(RunResult { requested: true, ..failure() }), 1, "the pool stopped it");
    assert_eq!(failures(RunResult { handled: 1, ..failure() }), 0, "it works");
}
