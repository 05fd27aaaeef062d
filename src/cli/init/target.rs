//! What there is to install, and where.

use super::{atomic_write::FileMode, edit::Fragment};
use serde::Serialize;
use std::path::PathBuf;

/// Which of the options asked for it. Each file is of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Server,
    ClientHooks,
    GitHooks,
    Skills,
    Gsd,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Server, Self::ClientHooks, Self::GitHooks, Self::Skills, Self::Gsd];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::ClientHooks => "client_hooks",
            Self::GitHooks => "git_hooks",
            Self::Skills => "skills",
            Self::Gsd => "gsd",
        }
    }
}

/// A file, and what of it is ours.
#[derive(Debug, Clone)]
pub(super) struct InitTarget {
    pub path: PathBuf,
    pub kind: Kind,
    pub pieces: Vec<Fragment>,
    pub make: FileMode,
    /// Where the user's own file goes that is in the way.
    pub aside: Option<PathBuf>,
    /// Where the same may stand for all projects of the user.
    pub or_at: Option<PathBuf>,
}

impl InitTarget {
    pub(super) fn new(path: PathBuf, kind: Kind, pieces: Vec<Fragment>) -> Self {
        Self { path, kind, pieces, make: FileMode::Default, aside: None, or_at: None }
    }
}
