//! Reads the output of a dedicated reviewer while it runs: stores the id of its session, and stops a run that cannot
//! succeed.

use crate::{
    gateway::Reviews,
    reviewer_pool::reviewer_registry::SharedProgress,
    reviewer_process::session_output::{self, SessionLine},
};
use std::sync::{Arc, Mutex, PoisonError};
use store::ReviewerRow;
use tokio_util::sync::CancellationToken;

/// Why a run was aborted.
pub(super) enum SessionProblem {
    /// The client continues another session than it was asked to.
    WrongSession,
    /// The client has no connection to the broker.
    Disconnected,
}

/// Follows the stdout of a client, and makes the id of its session durable as soon as it is known.
pub(super) struct SessionFollower {
    pub(super) reviews: Reviews,
    pub(super) row: ReviewerRow,
    pub(super) progress: SharedProgress,
    /// The session that the client was asked to continue.
    pub(super) resumed: Option<String>,
    pub(super) problem: Arc<Mutex<Option<SessionProblem>>>,
    pub(super) abort: CancellationToken,
}

impl SessionFollower {
    pub(super) fn read_line(&self, line: &str) {
        for event in session_output::read_line(line) {
            match event {
                SessionLine::Began { id } if self.resumed.as_ref().is_some_and(|resumed| *resumed != id) => {
                    self.fail(SessionProblem::WrongSession);
                }
                SessionLine::Began { id } => self.update(Some(id), false),
                SessionLine::Recorded => self.update(None, true),
                SessionLine::Disconnected => self.fail(SessionProblem::Disconnected),
            }
        }
    }

    fn fail(&self, problem: SessionProblem) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
        self.abort.cancel();
    }

    /// Records the session if this changes it.
    fn update(&self, id: Option<String>, is_recorded: bool) {
        let mut row = self.row.clone();
        {
            let mut progress = self.progress.lock();
            let Some(session) = &mut progress.session else { return };
            let before = (session.id.clone(), session.resumable);
            session.id = id.or(session.id.take());
            session.resumable |= is_recorded && session.id.is_some();
            if before == (session.id.clone(), session.resumable) {
                return;
            }
            progress.write_to(&mut row);
        }
        let saved = self.reviews.record(self.reviews.shared.clock.now(), Some(row), None);
        tokio::spawn(async move {
            if let Err(error) = saved.await {
                tracing::error!(%error, "cannot record the session of a reviewer");
            }
        });
    }
}
