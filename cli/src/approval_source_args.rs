//! Where a gate finds approvals: the options, and the source that asks a broker. The other source is the database file.

use crate::{
    CliError, NO_BROKER,
    client::{Client, discovery},
    gate_settings::GateFailure,
    review_args,
};
use anyhow::{Context as _, anyhow};
use api::{
    ErrorBody, ErrorCode, Operation,
    approvals::{ApprovalRequest, ListApprovalsRequest},
    operation::{GetApproval, ListApprovals},
};
use domain::{
    approvals::{ApprovalFilter, ReviewFiles, ReviewedContent},
    ids::ReviewNumber,
};
use gate::{Answer, GateError, ReviewSource};
use std::{fs, path::PathBuf, time::Duration};
use tokio::time::timeout;

/// Longest wait for one answer. A push waits for the gate.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SourceArgs {
    /// Ask the broker at this address for approvals [default: read the database of the data dir]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// File with an operator's token for --url [default: COUNTERSIGN_TOKEN]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub token_file: Option<PathBuf>,
    /// Name under which the broker knows this repository [default: by its folder]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

impl SourceArgs {
    /// A client of the broker at the given address. `None` if no address was given.
    pub(crate) fn client(&self) -> Result<Option<Client>, CliError> {
        let Some(url) = &self.url else { return Ok(None) };
        let token = match &self.token_file {
            Some(file) => {
                let secret = fs::read_to_string(file).with_context(|| format!("--token-file {}", file.display()))?;
                let token = discovery::bearer(&secret);
                Some(token.ok_or_else(|| anyhow!("--token-file {}: not a valid token", file.display()))?)
            }
            None => discovery::given_token()?,
        };
        Ok(Some(Client::at(url.trim_end_matches('/'), token)?))
    }

    /// The broker as a source of approvals. `None` if no address was given.
    pub(crate) fn broker(&self) -> Result<Option<Box<dyn ReviewSource>>, GateFailure> {
        let client = self.client().map_err(|error| GateFailure::Unreadable(error.error))?;
        let project = self.project.clone();
        Ok(client.map(|client| Box::new(BrokerApprovals { client, project }) as _))
    }
}

/// A broker that is asked for approvals.
struct BrokerApprovals {
    client: Client,
    project: Option<String>,
}

impl BrokerApprovals {
    async fn call<O: Operation>(&self, request: &O::Request) -> Result<O::Response, GateError> {
        let answer = timeout(ANSWER_TIMEOUT, self.client.execute_quietly::<O, O::Response>(request)).await;
        match answer {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.code == NO_BROKER => Err(GateError::NoBroker(format!("{:#}", error.error))),
            Ok(Err(error)) => Err(GateError::BrokerRefused {
                is_unknown: is_unknown_review(&error),
                message: format!("{:#}", error.error),
            }),
            Err(_) => Err(GateError::NoBroker(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()))),
        }
    }

    async fn find(&self, name: String) -> Result<Option<ReviewedContent>, GateError> {
        match self.call::<GetApproval>(&ApprovalRequest { review_id: name }).await {
            Ok(content) => Ok(Some(content)),
            Err(GateError::BrokerRefused { is_unknown: true, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_unknown_review(error: &CliError) -> bool {
    error.error.downcast_ref::<ErrorBody>().is_some_and(|body| body.code == ErrorCode::UnknownReview)
}

impl ReviewSource for BrokerApprovals {
    fn list<'a>(&'a mut self, filter: &'a ApprovalFilter, limit: usize) -> Answer<'a, Vec<ReviewFiles>> {
        Box::pin(async move {
            let mut request = ListApprovalsRequest {
                project: filter.project.clone().or_else(|| self.project.clone()),
                patch_id: filter.patch_id.clone(),
                tree_id: filter.tree_id.clone(),
                content_hash: filter.content_hash.clone(),
                waiting: filter.open.then_some(true),
                limit: u32::try_from(limit).ok(),
                cursor: filter.before.map(|number| number.to_string()),
            };
            let mut reviews = Vec::new();
            loop {
                let page = self.call::<ListApprovals>(&request).await?;
                reviews.extend(page.reviews);
                request.cursor = page.next_cursor;
                if request.cursor.is_none() || reviews.len() >= limit {
                    return Ok(reviews);
                }
            }
        })
    }

    fn find(&mut self, number: ReviewNumber) -> Answer<'_, Option<ReviewedContent>> {
        Box::pin(async move { Self::find(self, number.to_string()).await })
    }

    fn find_by_name<'a>(&'a mut self, name: &'a str) -> Answer<'a, Vec<ReviewNumber>> {
        Box::pin(async move {
            let found = Self::find(self, review_args::id(name)).await?;
            Ok(found.into_iter().map(|review| review.number).collect())
        })
    }
}
