//! The HTTP client of the command line: finds the running broker, calls operations over REST and follows its events.

pub(crate) mod discovery;
pub(crate) mod event_stream;
pub(crate) mod pagination;

use crate::{CliError, NO_BROKER, config_overrides::ConfigArgs, terminal};
use anyhow::{Context as _, anyhow};
use api::{BROKER_PID_HEADER, ErrorBody, Operation, route::EncodedRequest};
use config::DataDir;
use domain::{
    ids::ReviewNumber,
    text::{escape, truncate},
};
use git::ClientRepo;
use reqwest::{
    Method, Response, StatusCode,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{cell::RefCell, path::PathBuf};

/// Characters of an unreadable answer that an error quotes.
const QUOTED_CHARS: usize = 500;

/// Options for the broker and the output format.
#[derive(Debug, Clone, clap::Args)]
pub struct BrokerArgs {
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// The broker's address [default: the one that serves the data dir]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

impl BrokerArgs {
    /// The working folder of the command.
    pub(crate) fn dir(&self) -> anyhow::Result<PathBuf> {
        match &self.config.repo {
            Some(dir) => Ok(dir.clone()),
            None => std::env::current_dir().context("the current folder is gone"),
        }
    }

    /// Finds the broker.
    pub(crate) async fn connect(&self) -> Result<Client, CliError> {
        let http = discovery::client()?;
        let repo = self.dir().ok().and_then(|dir| ClientRepo::find(&dir));
        // A broker may serve many repositories, and the one it was started in need not be ours.
        let headers =
            repo.and_then(|repo| api::client_repo_header::header(&repo.root, &repo.objects)).into_iter().collect();
        let (broker, data_dir) = match &self.url {
            Some(url) => {
                let url = url.trim_end_matches('/').to_owned();
                (Broker { url, pid: None, token: discovery::given_token()? }, None)
            }
            None => {
                let data_dir = self.config.resolve(None)?.config.server.data_dir;
                (Broker::find(&http, &data_dir).await?, Some(data_dir))
            }
        };
        Ok(Client { http, broker: RefCell::new(broker), data_dir, headers, json: self.json })
    }
}

pub(crate) struct Client {
    http: reqwest::Client,
    /// The broker that answered last.
    broker: RefCell<Broker>,
    /// Where a restarted broker announces its new address. `None` if the address was given.
    data_dir: Option<DataDir>,
    /// Headers of every request.
    headers: HeaderMap,
    /// Whether to print JSON instead of text.
    pub(crate) json: bool,
}

#[derive(Clone)]
struct Broker {
    url: String,
    /// A request with a process id is refused by another broker that uses the port now.
    pid: Option<u32>,
    token: Option<HeaderValue>,
}

impl Broker {
    /// The broker that serves this data folder. Its local token is used unless the environment has one.
    async fn find(http: &reqwest::Client, data_dir: &DataDir) -> Result<Self, CliError> {
        let given = discovery::given_token()?;
        let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
        let found = discovery::find(http, data_dir).await.ok_or_else(|| CliError::new(NO_BROKER, missing()))?;
        let token = given.or_else(|| discovery::local_token(data_dir));
        Ok(Self { url: found.url, pid: Some(found.pid), token })
    }
}

impl Client {
    /// The broker that serves this data folder.
    pub(crate) async fn serving(data_dir: DataDir) -> Result<Self, CliError> {
        let http = discovery::client()?;
        let broker = RefCell::new(Broker::find(&http, &data_dir).await?);
        Ok(Self { http, broker, data_dir: Some(data_dir), headers: HeaderMap::new(), json: false })
    }

    /// The broker at this address.
    pub(crate) fn at(url: &str, token: Option<HeaderValue>) -> Result<Self, CliError> {
        let broker = RefCell::new(Broker { url: url.to_owned(), pid: None, token });
        Ok(Self { http: discovery::client()?, broker, data_dir: None, headers: HeaderMap::new(), json: false })
    }

    /// Calls an operation.
    pub(crate) async fn execute<O: Operation>(&self, request: &O::Request) -> Result<O::Response, CliError> {
        terminal::show_progress(O::ID.name(), self.execute_quietly::<O, _>(request)).await
    }

    /// Calls an operation without showing progress and reads the response as `T`.
    pub(crate) async fn execute_quietly<O: Operation, T: DeserializeOwned>(
        &self,
        request: &O::Request,
    ) -> Result<T, CliError> {
        self.read(&EncodedRequest::new::<O>(request)?).await
    }

    /// The text at a path that is not an operation.
    pub(crate) async fn get(&self, path: &str, query: &impl Serialize) -> Result<String, CliError> {
        Ok(self.open(&EncodedRequest::get(path, query)?).await?.text().await?)
    }

    /// Posts to a path that is not an operation.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: Map<String, Value>) -> Result<T, CliError> {
        let request = EncodedRequest { method: Method::POST, target: path.to_owned(), body: Some(body) };
        self.read(&request).await
    }

    /// The address of a path of the page.
    pub(crate) fn page_url(&self, path: &str) -> String {
        format!("{}{path}", self.broker.borrow().url)
    }

    /// Sends a request and reads its response as `T`.
    async fn read<T: DeserializeOwned>(&self, request: &EncodedRequest) -> Result<T, CliError> {
        let text = self.open(request).await?.text().await?;
        let unreadable = || format!("the broker's answer cannot be read: {}", quoted(&text));
        Ok(serde_json::from_str(&text).with_context(unreadable)?)
    }

    /// Sends a request and returns the response if it is a success.
    async fn open(&self, request: &EncodedRequest) -> Result<Response, CliError> {
        let response = self.send(request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await?;
        Err(match ErrorBody::from_problem(&text) {
            Some(body) => body.into(),
            None => anyhow!("the broker answered with HTTP {status}: {}", quoted(&text)).into(),
        })
    }

    /// Sends a request. If the broker does not answer at its last address, looks for it once.
    async fn send(&self, request: &EncodedRequest) -> Result<Response, CliError> {
        let sent = self.try_send(request).await;
        let not_received = match &sent {
            Ok(response) => response.status() == StatusCode::MISDIRECTED_REQUEST,
            Err(error) => error.is_connect(),
        };
        let sent = match &self.data_dir {
            Some(data_dir) if not_received => {
                let found = Broker::find(&self.http, data_dir).await?;
                self.broker.replace(found);
                self.try_send(request).await
            }
            Some(_) | None => sent,
        };
        let sent = sent.with_context(|| format!("no broker answers at {}", self.broker.borrow().url));
        sent.map_err(|error| CliError::new(NO_BROKER, error))
    }

    async fn try_send(&self, request: &EncodedRequest) -> reqwest::Result<Response> {
        let Broker { url, pid, token } = self.broker.borrow().clone();
        let mut headers = self.headers.clone();
        headers.extend(pid.map(|pid| (BROKER_PID_HEADER, HeaderValue::from(pid))));
        headers.extend(token.map(|token| (AUTHORIZATION, token)));
        let mut http = self.http.request(request.method.clone(), format!("{url}{}", request.target)).headers(headers);
        if let Some(body) = &request.body {
            http = http.json(body);
        }
        http.send().await
    }
}

/// The path of a review in the page.
pub(crate) fn review_path(number: ReviewNumber) -> String {
    format!("/r/{}", number.0)
}

fn quoted(text: &str) -> String {
    escape(truncate(text, QUOTED_CHARS)).into_owned()
}
