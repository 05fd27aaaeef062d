//! The rules of Countersign. No IO, no async, no clock, no randomness: time and ids are arguments, so every rule can be
//! tested as a table.
//!
//! - [`review`]: the state of a review, its commands and events, and [`review::transition`], the only function that
//!   changes a review
//! - [`consensus`]: how votes lead to an outcome
//! - [`content`]: the request that creates a proposal, the content of a round, and the hash that an approval is bound to
//! - [`verdict`]: verdicts, and the request that submits one with its findings
//! - [`diff`]: a unified diff as files and warnings
//! - [`git_engine_mode`]: whether the broker or git checks diffs
//! - [`finding`]: issues and suggestions of reviewers, over their lifetime
//! - [`persona`], [`default_panel`], [`glob`]: who reviews, and which personas a proposal gets if it names none
//! - [`runtime`], [`reviewer_prompt`]: the client that a reviewer process runs, and its prompt
//! - [`reviewer_pool`]: when reviewer processes are started and stopped, and their events
//! - [`credential`]: what a token lets its holder do
//! - [`event_kind`]: the kinds of events in the log, and the topics subscribers filter by
//! - [`query_types`], [`stats`]: arguments of queries over the event log and of statistics, and what they return
//! - [`waiting_on`]: who must act next in a review, and why
//! - [`text`]: escaping and shortening of text that others wrote
//! - [`priority`], [`ids`], [`time`]: basic types

pub mod approvals;
pub mod consensus;
pub mod content;
pub mod credential;
pub mod default_panel;
pub mod diff;
pub mod event_kind;
pub mod figures;
pub mod finding;
pub mod git_engine_mode;
pub mod glob;
pub mod homoglyphs;
pub mod identity;
pub mod ids;
pub mod persona;
pub mod priority;
pub mod query_types;
pub mod review;
pub mod reviewer_pool;
pub mod reviewer_prompt;
pub mod runtime;
pub mod search;
pub mod size_limits;
pub mod stats;
pub mod text;
pub mod time;
pub mod verdict;
pub mod vote_signature;
pub mod waiting_on;

/// An enum whose variants have names, made by `string_enum!`.
pub trait StringEnum: Copy + Send + Sync + 'static {
    const NAMES: &'static [&'static str];

    /// The variant with this name or alias.
    fn parse(name: &str) -> Option<Self>;
}

/// Defines an enum whose variants are spelled the same in the database, JSON, tool arguments and messages.
///
/// `Variant = "name" | "alias"`: aliases are accepted as input and never written.
macro_rules! string_enum {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal $(| $alias:literal)*),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $text $(, alias = $alias)*)] $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The variant with this name or alias.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text $(| $alias)* => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::StringEnum for $name {
            const NAMES: &'static [&'static str] = &[$($text),+];

            fn parse(name: &str) -> Option<Self> {
                Self::parse(name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($text),+] })
            }
        }
    };
}
pub(crate) use string_enum;
