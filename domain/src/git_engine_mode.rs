//! The setting `git.engine`: whether the broker's own process or git answers questions about a repository.

use crate::string_enum;

string_enum! {
    /// The setting `git.engine`.
    EngineMode {
        /// The broker's own engine answers, and git if the engine declines.
        Auto = "auto",
        /// Git answers everything.
        Git = "git",
        /// Both answer, the answers are compared, and that of git is used.
        Both = "both",
    }
}
