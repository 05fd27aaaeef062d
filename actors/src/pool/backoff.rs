//! What keeps reviewers from being started, project by project: one whose folder is gone must not stop the
//! others. And persona by persona, where these have one-shot reviewers: each may have a client of its own.

use super::status::PoolState;
use domain::{
    pool::circuit_breaker::{Breaker, Ended},
    time::Tick,
};
use std::{collections::BTreeMap, time::Duration};

/// Where reviewers are wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Post {
    pub(super) project: Option<String>,
    /// `None`: agents, for whatever waits there.
    pub(super) persona: Option<String>,
}

impl Post {
    pub(super) fn of_agents(project: Option<&String>) -> Self {
        Self { project: project.cloned(), persona: None }
    }

    /// For people.
    fn name(&self) -> Option<String> {
        match (&self.project, &self.persona) {
            (project, None) => project.clone(),
            (None, Some(persona)) => Some(format!("persona {persona}")),
            (Some(project), Some(persona)) => Some(format!("{project} (persona {persona})")),
        }
    }
}

#[derive(Default)]
pub(super) struct Troubles {
    by_post: BTreeMap<Post, Trouble>,
    /// What the last one that failed said.
    last_words: Vec<String>,
}

#[derive(Default)]
struct Trouble {
    breaker: Breaker,
    /// Why none can be started at all, and when to try again.
    cannot: Option<(String, Tick)>,
}

impl Troubles {
    /// Takes note of an end. The number of failures in a row, if that was one too many.
    pub(super) fn ended(
        &mut self,
        post: &Post,
        ended: &Ended,
        last_words: &[String],
        max_failures: u32,
        now: Tick,
    ) -> Option<u32> {
        let breaker = &mut self.by_post.entry(post.clone()).or_default().breaker;
        let before = breaker.failures();
        let too_many = breaker.ended(ended, max_failures, now);
        let failures = breaker.failures();
        if failures > before {
            self.last_words = last_words.to_vec();
        } else if failures == 0 && self.by_post.values().all(|trouble| trouble.breaker.failures() == 0) {
            self.last_words.clear();
        }
        too_many.then_some(failures)
    }

    /// None could be started. `true` if that is new, so that it is said once, however often it is found.
    pub(super) fn cannot(&mut self, post: &Post, why: String, again: Duration, now: Tick) -> bool {
        let cannot = &mut self.by_post.entry(post.clone()).or_default().cannot;
        let is_new = cannot.as_ref().is_none_or(|(before, _)| *before != why);
        *cannot = Some((why, now.plus(again)));
        is_new
    }

    /// One was started, or nothing waits that it would be started for.
    pub(super) fn can(&mut self, post: &Post) {
        if let Some(trouble) = self.by_post.get_mut(post) {
            trouble.cannot = None;
        }
    }

    /// Somebody has looked and wants to try again, in all of the project. `true` if something would not have been
    /// started without.
    pub(super) fn clear(&mut self, project: Option<&String>) -> bool {
        let mut was_open = false;
        let here = self.by_post.iter_mut().filter(|(post, _)| post.project.as_ref() == project);
        for (_, trouble) in here {
            was_open |= trouble.breaker.is_open();
            trouble.breaker.clear();
        }
        was_open
    }

    /// Nothing is started until somebody asks for it.
    pub(super) fn is_open(&self, post: &Post) -> bool {
        self.by_post.get(post).is_some_and(|trouble| trouble.breaker.is_open())
    }

    pub(super) fn hold_until(&self, post: &Post) -> Option<Tick> {
        let trouble = self.by_post.get(post)?;
        trouble.breaker.hold_until().max(trouble.cannot.as_ref().map(|(_, again)| *again))
    }

    pub(super) fn last_words(&self) -> &[String] {
        &self.last_words
    }

    /// The worst of all.
    pub(super) fn state(&self, now: Tick) -> Option<PoolState> {
        let all = || self.by_post.values();
        let open: Vec<_> = self.by_post.iter().filter(|(_, trouble)| trouble.breaker.is_open()).collect();
        if let Some(failures) = open.iter().map(|(_, trouble)| trouble.breaker.failures()).max() {
            let projects = open.iter().filter_map(|(post, _)| post.name()).collect();
            return Some(PoolState::CrashLoop { failures, projects });
        }
        if let Some((why, _)) = all().find_map(|trouble| trouble.cannot.clone()) {
            return Some(PoolState::Unavailable { why });
        }
        let holds = all().filter_map(|trouble| trouble.breaker.hold_until());
        let wait = holds.filter_map(|at| u64::try_from(at.0 - now.0).ok()).max().filter(|ms| *ms > 0)?;
        Some(PoolState::BackingOff { ms: wait })
    }
}
