//! Decides whether the pool may start another reviewer after earlier ones have failed, and how long it waits.
//!
//! Failures are counted for each project, so that a project whose folder is missing does not stop the others. Reviewers that
//! work for one persona only are counted for each project and persona, because a persona may have a client of its own.

use domain::{
    reviewer_pool::{
        PoolState,
        circuit_breaker::{CircuitBreaker, RunResult},
    },
    time::Tick,
};
use std::{collections::BTreeMap, time::Duration};

/// What reviewers are started for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpawnTarget {
    pub(crate) project: Option<String>,
    /// `None` for agents that take any seat of the project.
    pub(crate) persona: Option<String>,
}

impl SpawnTarget {
    pub(crate) fn agents(project: Option<&String>, persona: Option<&String>) -> Self {
        Self { project: project.cloned(), persona: persona.cloned() }
    }

    fn label(&self) -> Option<String> {
        match (&self.project, &self.persona) {
            (project, None) => project.clone(),
            (None, Some(persona)) => Some(format!("persona {persona}")),
            (Some(project), Some(persona)) => Some(format!("{project} (persona {persona})")),
        }
    }
}

/// The failures of all targets.
#[derive(Default)]
pub(crate) struct SpawnHealth {
    targets: BTreeMap<SpawnTarget, TargetHealth>,
    /// The last output of the last reviewer that failed.
    pub(crate) last_words: Vec<String>,
}

#[derive(Default)]
struct TargetHealth {
    breaker: CircuitBreaker,
    /// Why the last start failed, and when to try again.
    spawn_failure: Option<(String, Tick)>,
}

impl SpawnHealth {
    /// Records an exit. Returns the number of failures in a row if this exit opened the circuit breaker.
    pub(crate) fn record_exit(
        &mut self,
        target: &SpawnTarget,
        run: &RunResult,
        last_words: &[String],
        max_failures: u32,
        now: Tick,
    ) -> Option<u32> {
        let breaker = &mut self.targets.entry(target.clone()).or_default().breaker;
        let before = breaker.failures;
        let opened = breaker.record(run, max_failures, now);
        let failures = breaker.failures;
        if failures > before {
            self.last_words = last_words.to_vec();
        } else if failures == 0 && self.targets.values().all(|target| target.breaker.failures == 0) {
            self.last_words.clear();
        }
        opened.then_some(failures)
    }

    /// Records that a reviewer could not be started. Returns `true` if the reason is new, so that it is logged once.
    pub(crate) fn record_failure(
        &mut self,
        target: &SpawnTarget,
        why: String,
        retry_delay: Duration,
        now: Tick,
    ) -> bool {
        let failure = &mut self.targets.entry(target.clone()).or_default().spawn_failure;
        let is_new = failure.as_ref().is_none_or(|(before, _)| *before != why);
        *failure = Some((why, now.plus(retry_delay)));
        is_new
    }

    /// A reviewer was started, or the target has no waiting work any more.
    pub(crate) fn clear_failure(&mut self, target: &SpawnTarget) {
        if let Some(health) = self.targets.get_mut(target) {
            health.spawn_failure = None;
        }
    }

    /// Resets the circuit breakers of a project, for agents and all personas. Returns `true` if one was open.
    pub(crate) fn reset(&mut self, project: Option<&String>) -> bool {
        let mut was_open = false;
        for (_, health) in self.targets.iter_mut().filter(|(target, _)| target.project.as_ref() == project) {
            was_open |= health.breaker.is_open;
            health.breaker.clear();
        }
        was_open
    }

    /// No reviewer is started until an operator asks for one.
    pub(crate) fn is_open(&self, target: &SpawnTarget) -> bool {
        self.targets.get(target).is_some_and(|health| health.breaker.is_open)
    }

    /// No reviewer is started before this tick.
    pub(crate) fn hold_until(&self, target: &SpawnTarget) -> Option<Tick> {
        let health = self.targets.get(target)?;
        health.breaker.hold_until.max(health.spawn_failure.as_ref().map(|(_, retry_at)| *retry_at))
    }

    /// The worst state of any target, and what to do about it; `None` if none has failed.
    pub(crate) fn state(&self, now: Tick) -> Option<(PoolState, String)> {
        let all = || self.targets.values();
        let open: Vec<_> = self.targets.iter().filter(|(_, health)| health.breaker.is_open).collect();
        if let Some(failures) = open.iter().map(|(_, health)| health.breaker.failures).max() {
            let projects: Vec<_> = open.iter().filter_map(|(target, _)| target.label()).collect();
            let projects = if projects.is_empty() { String::new() } else { format!(" in {}", projects.join(", ")) };
            let reviewers = if failures == 1 { "reviewer" } else { "reviewers" };
            let message = format!(
                "{failures} {reviewers} failed in a row{projects}; read last_words and the reviewer logs, fix the cause, \
                 then run spawn_reviewer (`countersign reviewer spawn`)"
            );
            return Some((PoolState::CrashLoop, message));
        }
        if let Some((why, _)) = all().find_map(|health| health.spawn_failure.clone()) {
            return Some((PoolState::Unavailable, why));
        }
        let holds = all().filter_map(|health| health.breaker.hold_until);
        let wait_ms = holds.filter_map(|at| u64::try_from(at.0 - now.0).ok()).max().filter(|ms| *ms > 0)?;
        Some((PoolState::BackingOff, format!("the last reviewer failed; the next one starts in {wait_ms} ms")))
    }
}
