//! Limits which files a process and all its children may use, with Landlock: a security module of Linux that needs no
//! privileges.
//!
//! A [`Sandbox`] lists folders. Everything else is closed, also what other programs of this user keep in `/proc`: a process
//! in a sandbox cannot inspect processes outside of it. The network stays open.

#[cfg(target_os = "linux")]
mod allowed_paths;
#[cfg(target_os = "linux")]
mod landlock_rules;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The files that a process may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Folders of others to read and run, beside those of the system.
    pub shared: Vec<PathBuf>,
    /// What stays closed in shared folders and those of the system.
    pub hidden: Vec<PathBuf>,
    /// Its own files and folders, to read and run.
    pub readable: Vec<PathBuf>,
    /// Its own files and folders, also to change.
    pub writable: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("this system has no Landlock")]
    Unsupported,
    #[cfg(target_os = "linux")]
    #[error("cannot set up Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("cannot give up the privileges of this process: {0}")]
    Capabilities(std::io::Error),
}

/// What the system can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Nothing, with the reason.
    None(&'static str),
    /// The use of files, but not what is listed.
    Partial(Vec<&'static str>),
    Full,
}

impl Support {
    /// What this system can enforce.
    pub fn of_this_system() -> Self {
        #[cfg(target_os = "linux")]
        {
            landlock_rules::support()
        }
        #[cfg(not(target_os = "linux"))]
        {
            Self::None("only Linux has Landlock")
        }
    }

    /// Why reviewers cannot be confined; `None` if they can.
    pub fn missing(&self) -> Option<&'static str> {
        match self {
            Self::None(why) => Some(why),
            Self::Partial(_) | Self::Full => None,
        }
    }
}

impl Sandbox {
    /// Confines this thread and every process that it starts from now on. There is no way back.
    pub fn enter(&self) -> Result<(), SandboxError> {
        #[cfg(target_os = "linux")]
        {
            landlock_rules::enter(self)
        }
        #[cfg(not(target_os = "linux"))]
        {
            Err(SandboxError::Unsupported)
        }
    }
}
