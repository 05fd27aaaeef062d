//! Command-line options for the name under which a command acts, and the function that connects to the broker under it.

use crate::{
    CliError,
    client::{BrokerArgs, Client, discovery::given_token},
};
use anyhow::anyhow;
use api::{
    operation::GetReviewStatus,
    reviews::{ReviewStatusRequest, ReviewStatusResponse, SeatState},
};
use domain::credential::Authority;
use domain::identity::is_same_identity;
use git::UserRepo;
use std::path::{Path, PathBuf};

/// Options for the broker and the name to act under.
#[derive(Debug, Clone, clap::Args)]
pub struct IdentityArgs {
    /// Act under this name [default: the token's, else git user.name, else $USER]
    #[arg(long = "as", value_name = "NAME", env = "COUNTERSIGN_NAME", hide_env_values = true)]
    name: Option<String>,
    #[command(flatten)]
    pub(crate) broker: BrokerArgs,
}

pub(crate) struct Caller {
    pub(crate) client: Client,
    /// `None` with a token: only the broker knows its name.
    name: Option<String>,
    has_token: bool,
    /// Whether the name was given explicitly. An agent's shell has the name of its user but is not that user.
    pub(crate) is_named: bool,
    /// The folder that the command works in.
    pub(crate) dir: PathBuf,
}

impl IdentityArgs {
    /// Finds the broker and the name to act under.
    pub(crate) async fn connect(&self) -> Result<Caller, CliError> {
        let dir = self.broker.dir()?;
        let client = self.broker.connect().await?;
        let has_token = given_token()?.is_some();
        let given = self.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let is_named = has_token || given.is_some();
        let name = match given {
            Some(name) => Some(name.to_owned()),
            None if has_token => None,
            None => local_name(&dir).await,
        };
        Ok(Caller { client, name, has_token, is_named, dir })
    }
}

/// The name from git or, without one, from the system.
pub async fn local_name(dir: &Path) -> Option<String> {
    let from_git = UserRepo::at(dir.to_owned()).try_git(["config", "user.name"]).await;
    let from_git = from_git.ok().filter(|output| output.success).map(|output| output.text());
    let from_system = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let name = from_git.into_iter().chain(from_system).find(|name| !name.trim().is_empty());
    name.map(|name| name.trim().to_owned())
}

impl Caller {
    /// The name to act under. `None`: the token's.
    pub(crate) fn acting_name(&self) -> Result<Option<String>, CliError> {
        if self.has_token { Ok(self.name.clone()) } else { self.name().map(Some) }
    }

    /// The name, or an error if it is unknown.
    pub(crate) fn name(&self) -> Result<String, CliError> {
        let unknown = || match self.has_token {
            true => anyhow!("the name of the token is unknown; pass it with --as"),
            false => anyhow!("no identity: pass --as NAME or set COUNTERSIGN_NAME"),
        };
        self.name.clone().ok_or_else(|| CliError::usage(unknown()))
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|own| is_same_identity(own, name))
    }

    /// The seat that the caller holds, or else that is reserved for it.
    pub(crate) fn seat<'a>(&self, review: &'a ReviewStatusResponse) -> Option<&'a SeatState> {
        let is_own = |name: &Option<String>| name.as_deref().is_some_and(|name| self.is(name));
        review.state.seats.iter().find(|seat| is_own(&seat.claimed_by) || is_own(&seat.reserved_for))
    }

    /// The name to read under, which renews a claim of that name. A token says the name itself.
    pub(crate) fn reading_name(&self) -> Option<String> {
        self.name.clone().filter(|_| !self.has_token)
    }

    pub(crate) async fn review(&self, review_id: String) -> Result<ReviewStatusResponse, CliError> {
        self.review_at(review_id, None).await
    }

    /// The review as it is, or as it was after the event `at`.
    pub(crate) async fn review_at(&self, review_id: String, at: Option<u64>) -> Result<ReviewStatusResponse, CliError> {
        let request = ReviewStatusRequest { review_id, at, caller_id: self.reading_name(), ..Default::default() };
        self.client.execute::<GetReviewStatus>(&request).await
    }

    /// The role of the caller in this review. A person who neither proposed it nor holds a seat writes as an operator.
    /// `None`: the role of the token, which only the broker knows.
    pub(crate) fn role(&self, review: &ReviewStatusResponse) -> Option<Authority> {
        if self.is(review.state.proposer.identity()) {
            Some(Authority::Proposer)
        } else if self.seat(review).is_some() {
            Some(Authority::Reviewer)
        } else {
            (!self.has_token).then_some(Authority::Operator)
        }
    }
}
