//! What most commands begin with: the broker that is meant, and who speaks to it.

use super::{
    Failure,
    locate::given_token,
    remote::{At, Remote},
    repo::Repo,
};
use anyhow::anyhow;
use serde_json::Value;
use std::path::PathBuf;

/// Which broker, and in whose name.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct By {
    /// Who speaks [default: whoever the token is of, else git's user.name, else $USER]
    #[arg(long = "as", value_name = "NAME", env = "COUNTERSIGN_NAME", hide_env_values = true)]
    name: Option<String>,
    #[command(flatten)]
    pub(super) at: At,
}

pub(super) struct Caller {
    pub(super) remote: Remote,
    /// `None`: as the token says, which the broker reads.
    pub(super) name: Option<String>,
    /// Where whoever types works.
    pub(super) dir: PathBuf,
    pub(super) json: bool,
}

impl By {
    /// Finds the broker, and who speaks.
    pub(super) async fn begin(&self) -> Result<Caller, Failure> {
        let (dir, json) = (self.at.dir()?, self.at.json);
        let remote = Remote::find(self.at.clone()).await?;
        let name = self.speaker().await?;
        Ok(Caller { remote, name, dir, json })
    }

    async fn speaker(&self) -> Result<Option<String>, Failure> {
        if let Some(name) = self.name.as_ref().filter(|name| !name.trim().is_empty()) {
            return Ok(Some(name.trim().to_owned()));
        }
        if given_token()?.is_some() {
            return Ok(None);
        }
        let of_git = Repo::at(self.at.dir()?).try_git(["config", "user.name"]).await;
        let of_git = of_git.ok().filter(|said| said.success).map(|said| said.text());
        let of_system = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
        let name = of_git.into_iter().chain(of_system).find(|name| !name.trim().is_empty());
        let nobody = || Failure::usage(anyhow!("nobody knows who you are: give --as NAME, or set COUNTERSIGN_NAME"));
        name.map(|name| Some(name.trim().to_owned())).ok_or_else(nobody)
    }
}

impl Caller {
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        self.remote.call(tool, arguments).await
    }

    /// The name, where there is no way without.
    pub(super) fn named(&self) -> Result<&str, Failure> {
        let unknown = || Failure::usage(anyhow!("whose? with COUNTERSIGN_TOKEN set, give the token's name with --as"));
        self.name.as_deref().ok_or_else(unknown)
    }

    pub(super) fn is(&self, name: &Value) -> bool {
        self.name.is_some() && self.name.as_deref() == name.as_str()
    }

    /// Whether the speaker made this proposal.
    pub(super) fn has_proposed(&self, review: &Value) -> bool {
        self.is(proposer(review))
    }

    /// Whether the speaker holds a seat of it.
    pub(super) fn holds(&self, review: &Value) -> bool {
        let seats = super::text::rows(review, "seats");
        self.is(&review["claimed_by"]) || seats.iter().any(|seat| self.is(&seat["claimed_by"]))
    }

    /// In which role the speaker speaks about it, unless it says otherwise.
    pub(super) fn role(&self, review: &Value, given: Option<Side>) -> &'static str {
        match given {
            Some(side) => side.word(),
            None if self.has_proposed(review) => Side::Proposer.word(),
            None => Side::Reviewer.word(),
        }
    }
}

/// Whose work it is: the name it gave, else what it is.
pub(super) fn proposer(review: &Value) -> &Value {
    if review["proposer_id"].is_string() { &review["proposer_id"] } else { &review["agent_type"] }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Side {
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
