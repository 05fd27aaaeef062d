//! The HTTP client of the command line: finds the running broker, calls operations over REST and follows its events.

pub(crate) mod discovery;
pub(crate) mod event_stream;
pub(crate) mod log_stream;
pub(crate) mod pagination;

use crate::{
    CliError, NO_BROKER,
    config_overrides::{ConfigArgs, ResolvedConfig},
    terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    BROKER_PID_HEADER, ErrorBody, Operation,
    exports::Source,
    operation::RegisterProject,
    projects::{Project, RegisterProjectRequest},
    route::EncodedRequest,
};
use config::{DataDir, RunningBroker};
use discovery::{FoundBroker, Starter};
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
use std::{
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

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
    /// Do not start a broker if none runs (see server.auto_start)
    #[arg(long)]
    no_start: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

impl BrokerArgs {
    /// Whether the user has named a broker by its address.
    pub(crate) const fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// The working folder of the command.
    pub(crate) fn dir(&self) -> anyhow::Result<PathBuf> {
        match &self.config.repo {
            Some(dir) => Ok(dir.clone()),
            None => std::env::current_dir().context("the current folder is gone"),
        }
    }

    /// The data folder of the settings.
    pub(crate) fn data_dir(&self) -> Result<DataDir, CliError> {
        Ok(self.config.resolve(None)?.config.server.data_dir)
    }

    /// Whether the settings of the user ask for signed votes.
    pub(crate) fn signs_votes(&self) -> Result<bool, CliError> {
        Ok(self.config.resolve(None)?.config.gate.sign_votes)
    }

    /// Finds the broker, or starts it unless the user does not want that.
    pub(crate) async fn connect(&self) -> Result<Client, CliError> {
        self.connect_or_start(!self.no_start).await
    }

    /// The data folder, and a client of its broker if that runs.
    pub(crate) async fn connect_if_running(&self) -> Result<(DataDir, Option<Client>), CliError> {
        let data_dir = self.data_dir()?;
        let client = match self.connect_or_start(false).await {
            Ok(client) => Some(client),
            Err(failure) if failure.code == NO_BROKER => None,
            Err(failure) => return Err(failure),
        };
        Ok((data_dir, client))
    }

    async fn connect_or_start(&self, may_start: bool) -> Result<Client, CliError> {
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
                let ResolvedConfig { config, repo } = self.config.resolve(None)?;
                let data_dir = config.server.data_dir;
                let broker = match Broker::find(&http, &data_dir).await {
                    Err(failure) if failure.code == NO_BROKER && may_start && config.server.auto_start => {
                        let starter = Starter { config: self.config.clone(), data_dir: data_dir.clone(), repo };
                        self.start(&starter, &http).await?
                    }
                    found => found?,
                };
                (broker, Some(data_dir))
            }
        };
        Ok(Client { http, broker: RwLock::new(broker), data_dir, headers, json: self.json })
    }

    async fn start(&self, starter: &Starter, http: &reqwest::Client) -> Result<Broker, CliError> {
        let started = terminal::show_progress("starting a broker", starter.find_or_start(http)).await;
        let failed = |error: anyhow::Error| {
            let dir = starter.data_dir.display().to_string();
            CliError::new(NO_BROKER, anyhow!("no broker serves {dir}, and none could be started: {error:#}"))
        };
        let FoundBroker { note, is_new } = started.map_err(failed)?;
        if is_new && !self.json {
            terminal::remark(&format!("started a broker: {}/ (`countersign stop` ends it)", note.url));
        }
        Broker::announced(note, &starter.data_dir)
    }
}

pub(crate) struct Client {
    http: reqwest::Client,
    /// The broker that answered last.
    broker: RwLock<Broker>,
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
        // A token that cannot be used is the more useful error.
        discovery::given_token()?;
        let missing = || anyhow!("no broker serves {}; start one with `countersign serve`", data_dir.display());
        let found = discovery::find(http, data_dir).await.ok_or_else(|| CliError::new(NO_BROKER, missing()))?;
        Self::announced(found, data_dir)
    }

    fn announced(found: RunningBroker, data_dir: &DataDir) -> Result<Self, CliError> {
        let token = discovery::given_token()?.or_else(|| discovery::local_token(data_dir));
        Ok(Self { url: found.url, pid: Some(found.pid), token })
    }
}

impl Client {
    /// The broker at this address.
    pub(crate) fn at(url: &str, token: Option<HeaderValue>) -> Result<Self, CliError> {
        let broker = RwLock::new(Broker { url: url.to_owned(), pid: None, token });
        Ok(Self { http: discovery::client()?, broker, data_dir: None, headers: HeaderMap::new(), json: false })
    }

    /// The running broker of this data folder.
    pub(crate) async fn of_data_dir(data_dir: &DataDir) -> Result<Self, CliError> {
        let http = discovery::client()?;
        let broker = RwLock::new(Broker::find(&http, data_dir).await?);
        Ok(Self { http, broker, data_dir: Some(data_dir.clone()), headers: HeaderMap::new(), json: false })
    }

    fn broker(&self) -> Broker {
        self.broker.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Acts with the rights of the broker's own user, also if a token was given. Without access to the data folder it
    /// stays as it is.
    pub(crate) fn into_local_operator(mut self) -> Self {
        if let Some(token) = self.data_dir.as_ref().and_then(discovery::local_token) {
            self.broker.get_mut().unwrap_or_else(PoisonError::into_inner).token = Some(token);
            // Looking for the broker again would bring the given token back.
            self.data_dir = None;
        }
        self
    }

    /// Registers the repository of `dir` with the broker, if there is one and this user runs the broker.
    pub(crate) async fn register_repository(&self, dir: &Path) -> Result<Option<Project>, CliError> {
        let Some(path) = ClientRepo::find(dir).and_then(|repo| repo.root.into_os_string().into_string().ok()) else {
            return Ok(None);
        };
        let Some(token) = self.data_dir.as_ref().and_then(discovery::local_token) else { return Ok(None) };
        let broker = RwLock::new(Broker { token: Some(token), ..self.broker() });
        let operator =
            Self { http: self.http.clone(), broker, data_dir: None, headers: HeaderMap::new(), json: self.json };
        let request = RegisterProjectRequest { path, name: None };
        Ok(Some(operator.execute_quietly::<RegisterProject, _>(&request).await?))
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

    /// Calls an operation whose response is a file, and hands its parts to `write` as they arrive.
    pub(crate) async fn download<O: Operation>(
        &self,
        request: &O::Request,
        mut write: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut response = self.open(&EncodedRequest::export::<O>(request)?).await?;
        while let Some(part) = response.chunk().await.context("the broker ended before the whole file was sent")? {
            write(&part)?;
        }
        Ok(())
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
        format!("{}{path}", self.broker().url)
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
            None => anyhow!(no_problem_body(status, &text)).into(),
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
                *self.broker.write().unwrap_or_else(PoisonError::into_inner) = found;
                self.try_send(request).await
            }
            Some(_) | None => sent,
        };
        let sent = sent.with_context(|| format!("no broker answers at {}", self.broker().url));
        sent.map_err(|error| CliError::new(NO_BROKER, error))
    }

    async fn try_send(&self, request: &EncodedRequest) -> reqwest::Result<Response> {
        let Broker { url, pid, token } = self.broker();
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

/// The message for a failure whose answer is not one of the API.
pub(crate) fn no_problem_body(status: StatusCode, text: &str) -> String {
    let is_page = text.trim_start().starts_with('<');
    let (shown, end) = if is_page { ("a web page".to_owned(), "") } else { (quoted(text), "; see its log") };
    match status.is_server_error() && !is_page {
        true => format!("the broker failed and gave no reason: {shown}{end}"),
        false => format!("another program answers at this address, not a broker: {shown}"),
    }
}

/// The path of a review in the page.
pub(crate) fn review_path(number: ReviewNumber) -> String {
    format!("/r/{}", number.0)
}

fn quoted(text: &str) -> String {
    escape(truncate(text, QUOTED_CHARS)).into_owned()
}

impl Source for Client {
    type Error = CliError;

    async fn execute<O: Operation>(&self, request: O::Request) -> Result<O::Response, CliError> {
        let encoded = EncodedRequest::new::<O>(&request)?;
        drop(request);
        self.read(&encoded).await
    }
}
