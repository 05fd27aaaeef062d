//! The caller: the broker that a command talks to, and the name it acts under.

use crate::{
    CliError,
    client::discovery::given_token,
    client::rest::{BrokerArgs, Remote},
};
use anyhow::anyhow;
use git::UserRepo;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Options for the broker and the name to act under.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IdentityArgs {
    /// Act under this name [default: the token's, else git user.name, else $USER]
    #[arg(long = "as", value_name = "NAME", env = "COUNTERSIGN_NAME", hide_env_values = true)]
    name: Option<String>,
    #[command(flatten)]
    pub(crate) at: BrokerArgs,
}

pub(crate) struct Caller {
    pub(crate) remote: Remote,
    /// `None` with a token: only the broker knows its name.
    name: Option<String>,
    has_token: bool,
    /// Whether the name was given explicitly and not guessed from git or the system.
    is_named: bool,
    /// The folder that the command works in.
    pub(crate) dir: PathBuf,
    pub(crate) json: bool,
}

impl IdentityArgs {
    /// Finds the broker and the name to act under.
    pub(crate) async fn begin(&self) -> Result<Caller, CliError> {
        let (dir, json) = (self.at.dir()?, self.at.json);
        let remote = Remote::find(self.at.clone()).await?;
        let has_token = given_token()?.is_some();
        let is_named = has_token || self.name.as_deref().is_some_and(|name| !name.trim().is_empty());
        let name = match self.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => Some(name.to_owned()),
            None if has_token => None,
            None => local_name(&dir).await,
        };
        Ok(Caller { remote, name, has_token, is_named, dir, json })
    }
}

/// The name from git or, without one, from the system.
async fn local_name(dir: &Path) -> Option<String> {
    let of_git = UserRepo::at(dir.to_owned()).try_git(["config", "user.name"]).await;
    let of_git = of_git.ok().filter(|said| said.success).map(|said| said.text());
    let of_system = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let name = of_git.into_iter().chain(of_system).find(|name| !name.trim().is_empty());
    name.map(|name| name.trim().to_owned())
}

impl Caller {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, CliError> {
        self.remote.call(tool, arguments).await
    }

    /// The name to act under. `None`: the token's.
    pub(crate) fn speaks_as(&self) -> Result<Option<&str>, CliError> {
        if self.has_token { Ok(self.name.as_deref()) } else { self.name().map(Some) }
    }

    /// The name, or an error if it is unknown.
    pub(crate) fn name(&self) -> Result<&str, CliError> {
        let unknown = || match self.has_token {
            true => anyhow!("the name of the token is unknown; pass it with --as"),
            false => anyhow!("no identity: pass --as NAME or set COUNTERSIGN_NAME"),
        };
        self.name.as_deref().ok_or_else(|| CliError::usage(unknown()))
    }

    /// Whether the name was given explicitly. An agent's shell has the name of its user but is not that user.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    pub(crate) fn is(&self, name: &Value) -> bool {
        self.name.is_some() && self.name.as_deref() == name.as_str()
    }

    /// Whether the caller made this proposal.
    pub(crate) fn has_proposed(&self, review: &Value) -> bool {
        self.is(proposer(review))
    }

    /// Whether the caller holds a seat of this review.
    pub(crate) fn holds(&self, review: &Value) -> bool {
        let seats = crate::render::rows(review, "seats");
        self.is(&review["claimed_by"]) || seats.iter().any(|seat| self.is(&seat["claimed_by"]))
    }

    /// The seat that the caller holds, or that is reserved for it.
    pub(crate) fn seat(&self, review: &Value) -> Option<String> {
        let seats = crate::render::rows(review, "seats");
        let own = seats.iter().find(|seat| self.is(&seat["claimed_by"]) || self.is(&seat["reserved_for"]))?;
        own["persona"].as_str().map(str::to_owned)
    }

    /// The review, if the caller may act for its proposer. These calls carry no name, so the broker would record them as
    /// the proposer's.
    pub(crate) async fn own(&self, which: &str) -> Result<Value, CliError> {
        let review = self.call("get_review_status", json!({ "review_id": which })).await?;
        let is_of_another_caller = self.name.is_some() && proposer(&review).is_string() && !self.has_proposed(&review);
        if !is_of_another_caller {
            return Ok(review);
        }
        let (number, owner) = (crate::render::text(&review, "number"), proposer(&review).as_str().unwrap_or_default());
        let words = format!("{number} was proposed by {owner}; to act in that name give --as {owner}");
        Err(CliError::refuse("not_the_proposer", words))
    }

    /// The role of the caller in this review, unless it is given.
    pub(crate) fn role(&self, review: &Value, given: Option<Side>) -> &'static str {
        match given {
            Some(side) => side.word(),
            None if self.has_proposed(review) => Side::Proposer.word(),
            None => Side::Reviewer.word(),
        }
    }
}

/// The proposer: its name, else its kind of agent.
pub(crate) fn proposer(review: &Value) -> &Value {
    if review["proposer_id"].is_string() { &review["proposer_id"] } else { &review["agent_type"] }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Side {
    Proposer,
    Reviewer,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Proposer => "proposer",
            Self::Reviewer => "reviewer",
        }
    }
}
