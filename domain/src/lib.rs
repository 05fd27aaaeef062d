//! The rules of a review. No IO, no async, no clock, no randomness: time and ids arrive as
//! arguments, so a rule can be decided on paper and tested as a table.
//!
//! - [`review`]: the state, its commands and events, and [`review::transition`], the only place
//!   where a status changes
//! - [`consensus`]: several votes, one outcome
//! - [`content`]: what is proposed, and the hash an approval is bound to
//! - [`diff`]: a unified diff as files and warnings
//! - [`finding`]: what reviewers find, and what becomes of it
//! - [`panel`], [`globs`]: who is to sign where nobody is named
//! - [`pool`]: when reviewer processes are started and stopped, and their events
//! - [`credential`]: what a token lets its holder do
//! - [`topic`]: under which name a subscriber hears of an event
//! - [`priority`], [`ids`], [`time`], [`verdict`]: the small words the rest is written in

pub mod consensus;
pub mod content;
pub mod credential;
pub mod diff;
pub mod finding;
pub mod globs;
pub mod history;
pub mod ids;
pub mod panel;
pub mod pool;
pub mod priority;
pub mod review;
pub mod time;
pub mod topic;
pub mod verdict;

/// An enum whose variants have one spelling everywhere: database, JSON, tool arguments, messages.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The variant with exactly this spelling.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
