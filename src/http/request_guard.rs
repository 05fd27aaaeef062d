//! The request guard: HTTP middleware in front of every route.
//!
//! It rejects requests that another web site could make the user's browser send: with a foreign Host (DNS rebinding) or
//! Origin, a cross-site fetch, a form. Other sites may only link to the broker's own pages. It then authenticates the
//! caller by its token, or a browser by its cookie, and reads the body within limits.

use super::{
    Route,
    caller_quota::CallerQuota,
    connections::{Connection, Peer},
    problem_details::{problem, unavailable},
    sign_in,
    tokenless_callers::{self, TokenlessCallers},
    web_page,
};
use crate::{
    one_time_code::{CodeHolder, OneTimeCodes},
    trace_id::TraceId,
};
use actors::{
    Broker, Revocations,
    credentials::{Authority, Scope, SecretHash, ShownSecret},
};
use api::{BROKER_PID_HEADER, ErrorBody, ErrorCode, RequiredRole};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, uri},
    middleware::Next,
    response::Response,
};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use std::{net::IpAddr, sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};
use tracing::{field::display, info};

/// At most [`MAX_LARGE_BODIES`] bodies above this size are held in memory at the same time.
const LARGE_BODY_BYTES: usize = 256 << 10;
const MAX_LARGE_BODIES: usize = 16;

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A body that is too large is read and discarded up to this multiple of the limit, so that the client sees the response.
const DISCARD_FACTOR: usize = 16;

/// Marks a request whose connection needs a token for all pages that are not public.
#[derive(Debug, Clone, Copy)]
pub(super) struct NeedsToken;

pub struct RequestGuard {
    /// The broker's port. Host and Origin must name it.
    port: u16,
    /// Host names and addresses of the broker beside loopback.
    hosts: Vec<String>,
    /// Looks up tokens; without it every token is unknown.
    broker: Option<Broker>,
    tokenless: TokenlessCallers,
    tickets: OneTimeCodes,
    quota: CallerQuota,
    body_bytes: usize,
    body_timeout: Duration,
    large: Semaphore,
}

impl RequestGuard {
    pub fn new(port: u16, body_bytes: usize, body_timeout: Duration) -> Self {
        Self {
            port,
            hosts: Vec::new(),
            broker: None,
            tokenless: TokenlessCallers::default(),
            tickets: OneTimeCodes::default(),
            quota: CallerQuota::new(u64::MAX),
            body_bytes,
            body_timeout,
            large: Semaphore::new(MAX_LARGE_BODIES),
        }
    }

    /// Also accepts the address that the broker listens on, and these host names.
    #[must_use]
    pub fn with_hosts(mut self, address: IpAddr, hosts: &[String]) -> Self {
        // The unspecified address (0.0.0.0) must not be accepted: browsers resolve it to this machine.
        let own = (!address.is_unspecified()).then(|| address.to_string());
        self.hosts = own.into_iter().chain(hosts.iter().map(|host| normalize_host(host))).collect();
        self
    }

    /// Looks up tokens and sessions in `broker`. Only `tokenless` callers may omit the token.
    #[must_use]
    pub fn with_tokens(self, broker: Broker, tokenless: TokenlessCallers) -> Self {
        Self { broker: Some(broker), tokenless, ..self }
    }

    /// Accepts these tickets instead of a token when a WebSocket is opened.
    #[must_use]
    pub fn with_tickets(self, tickets: OneTimeCodes) -> Self {
        Self { tickets, ..self }
    }

    /// Each caller may send this many bytes within a minute.
    #[must_use]
    pub fn with_quota(self, bytes: u64) -> Self {
        Self { quota: CallerQuota::new(bytes), ..self }
    }

    fn check_headers(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorBody> {
        let wrong_host = || {
            let error = "Host must be localhost, a loopback address, the address that the broker listens on or one of \
                         server.hosts, with the broker's port";
            ErrorBody::new(ErrorCode::HostNotAllowed, error)
        };
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().map_err(|_| wrong_host())?,
            (None, _) => return Err(ErrorBody::new(ErrorCode::HostMissing, "the Host header is missing")),
            (Some(_), Some(_)) => return Err(wrong_host()),
        };
        let is_own = |authority: &str| authority.parse().is_ok_and(|authority| self.is_own_authority(&authority));
        if !is_own(host) || uri.authority().is_some_and(|authority| !self.is_own_authority(authority)) {
            return Err(wrong_host());
        }
        let is_own_pid = |pid: &str| pid.parse() == Ok(std::process::id());
        if headers.get(BROKER_PID_HEADER).is_some_and(|pid| !pid.to_str().is_ok_and(is_own_pid)) {
            let error = "the request is meant for another broker process";
            return Err(ErrorBody::new(ErrorCode::AnotherBroker, error));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            if !authority.is_some_and(is_own) {
                let error = "Origin, if present, must be the broker's own";
                return Err(ErrorBody::new(ErrorCode::OriginNotAllowed, error));
            }
        }
        let opens_page =
            || web_page::is_page_request(method, uri.path(), headers) && web_page::is_navigation(method, headers);
        for site in headers.get_all("sec-fetch-site") {
            if site != "same-origin" && site != "none" && !opens_page() {
                return Err(ErrorBody::new(ErrorCode::CrossSite, "requests from other sites are not allowed"));
            }
        }
        if carries_body(method) && !is_json(headers) {
            let error = "Content-Type must be application/json";
            return Err(ErrorBody::new(ErrorCode::UnsupportedMediaType, error));
        }
        Ok(())
    }

    fn is_own_authority(&self, authority: &uri::Authority) -> bool {
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_loopback =
            bare.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        let is_known = is_loopback || (!self.hosts.is_empty() && self.hosts.contains(&normalize_host(bare)));
        let has_user = authority.as_str().contains('@');
        is_known && !has_user && authority.port_u16().unwrap_or(80) == self.port
    }

    /// Finds the caller by the token, ticket or cookie of the request. An unknown token is rejected even if none is
    /// required: its holder expects to be identified. An unknown cookie is ignored: the browser sends it by itself.
    async fn authenticate(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<&Peer>,
    ) -> Result<CodeHolder, ErrorBody> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let holder = match (values.next(), values.next(), &self.broker) {
            (None, _, _) => match ticket(uri) {
                Some(ticket) => self.tickets.redeem(ticket).ok_or_else(|| {
                    ErrorBody::new(ErrorCode::UnknownTicket, "the ticket is unknown, used or expired")
                })?,
                None => self.find_session(headers).await?.unwrap_or_default(),
            },
            (Some(header), None, Some(broker)) => {
                let secret = SecretHash::from_secret(bearer_secret(header).ok_or_else(unknown_token)?);
                let found = broker.identify(&secret).await.map_err(|error| unavailable(&error))?;
                let secret = ShownSecret::Token(secret);
                CodeHolder { caller: Some(found.ok_or_else(unknown_token)?), secret: Some(secret) }
            }
            (Some(_), _, _) => return Err(unknown_token()),
        };
        let required = required_role(method, uri.path(), headers);
        if required == RequiredRole::Public {
            return Ok(holder);
        }
        if let (Some(broker), Some(peer)) = (&self.broker, peer) {
            tokenless_callers::refuse_reviewers(broker, peer, holder.caller.as_ref()).await?;
        }
        let is_operators = matches!(required, RequiredRole::Operator | RequiredRole::AllProjectsOperator);
        match &holder.caller {
            None => self.tokenless.token_needed(peer).map_or(Ok(holder), Err),
            Some(caller) if is_operators && caller.authority != Authority::Operator => {
                Err(ErrorBody::new(ErrorCode::WrongRole, "this page requires an operator token"))
            }
            Some(caller) if required == RequiredRole::AllProjectsOperator && caller.scope != Scope::All => {
                let error = "this page requires a token for all projects; yours is for one";
                Err(ErrorBody::new(ErrorCode::WrongProject, error))
            }
            Some(_) => Ok(holder),
        }
    }

    /// The caller by the session cookie of a request of the page.
    async fn find_session(&self, headers: &HeaderMap) -> Result<Option<CodeHolder>, ErrorBody> {
        let (Some(broker), Some(secret)) = (&self.broker, sign_in::secret_in(headers, self.port)) else {
            return Ok(None);
        };
        if !self.is_of_own_page(headers) {
            return Ok(None);
        }
        let found = broker.identify_session(&SecretHash::from_secret(secret)).await;
        let found = found.map_err(|error| unavailable(&error))?;
        Ok(found.map(|(caller, secret)| CodeHolder { caller: Some(caller), secret: Some(secret) }))
    }

    /// Whether a browser says that a page of the broker sent the request. Browsers send cookies also with requests of
    /// other pages on the same host, whatever their port. The other headers are checked already: an Origin is the own.
    fn is_of_own_page(&self, headers: &HeaderMap) -> bool {
        match headers.get("sec-fetch-site") {
            Some(site) => site == "same-origin",
            None if headers.contains_key(header::ORIGIN) => true,
            // At an address that is neither loopback nor HTTPS, a GET request has no other sign than this.
            None => headers.get(header::REFERER).is_some_and(|referrer| self.is_own_address(referrer)),
        }
    }

    fn is_own_address(&self, address: &HeaderValue) -> bool {
        let address = address.to_str().ok().and_then(|address| address.strip_prefix("http://"));
        let authority = address.and_then(|address| address.split(['/', '?', '#']).next());
        authority.is_some_and(|own| own.parse().is_ok_and(|own| self.is_own_authority(&own)))
    }

    async fn read_body(&self, body: Body) -> Result<ReadBody<'_>, ErrorBody> {
        let deadline = Instant::now() + self.body_timeout;
        let too_slow = |_| ErrorBody::new(ErrorCode::BodyTimeout, "the body did not arrive in time");
        timeout_at(deadline, self.collect(body, deadline)).await.map_err(too_slow)?
    }

    /// Bytes beyond the limit are read and discarded for a while: a client that is still sending when the connection
    /// closes sees a broken pipe instead of the response.
    async fn collect(&self, mut body: Body, deadline: Instant) -> Result<ReadBody<'_>, ErrorBody> {
        let broken = |_| ErrorBody::new(ErrorCode::BodyUnreadable, "the body ended early");
        let busy =
            |_| ErrorBody::new(ErrorCode::Busy, "too many large requests at the same time; try again in a moment");
        let (mut first, mut joined, mut size, mut permit) = (Bytes::new(), BytesMut::new(), 0_usize, None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            size = size.saturating_add(data.len());
            if size > self.body_bytes.saturating_mul(DISCARD_FACTOR) {
                break;
            }
            if size > self.body_bytes {
                (first, joined, permit) = (Bytes::new(), BytesMut::new(), None);
                continue;
            }
            // Taken only now, so that a client that announces a large body but sends little holds no permit.
            if size > LARGE_BODY_BYTES && permit.is_none() {
                permit = timeout_at(deadline, self.large.acquire()).await.map_err(busy)?.ok();
            }
            if first.is_empty() {
                first = data;
            } else {
                // Most bodies arrive in one piece and need no copy.
                if joined.is_empty() {
                    joined.extend_from_slice(&first);
                }
                joined.extend_from_slice(&data);
            }
        }
        if size > self.body_bytes {
            let error = format!("the body is too large; allowed: {} bytes", self.body_bytes);
            return Err(ErrorBody::new(ErrorCode::BodyTooLarge, error));
        }
        Ok(ReadBody { bytes: if joined.is_empty() { first } else { joined.freeze() }, permit })
    }

    /// Reads the whole body here, so that every route has the same limits of size and time.
    async fn handle(&self, mut request: Request, next: Next) -> Result<Response, ErrorBody> {
        self.check_headers(request.method(), request.uri(), request.headers())?;
        // Before the token is looked up, so that no revocation is missed.
        let revocations = self.broker.as_ref().map(Broker::revocations);
        let peer = request.extensions().get::<Connection>().map(|connection| Arc::clone(&connection.peer));
        let CodeHolder { caller, secret } =
            self.authenticate(request.method(), request.uri(), request.headers(), peer.as_deref()).await?;
        if self.tokenless.token_needed(peer.as_deref()).is_some() {
            request.extensions_mut().insert(NeedsToken);
        }
        caller.clone().map(|caller| request.extensions_mut().insert(caller));
        secret.clone().map(|secret| request.extensions_mut().insert(secret));
        // Handlers do not need the secret, and without it they cannot log it.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.headers_mut().remove(header::COOKIE);
        let (parts, body) = request.into_parts();
        let (body, permit) = if carries_body(&parts.method) {
            let ReadBody { bytes, permit } = self.read_body(body).await?;
            self.quota.charge(caller.as_ref(), bytes.len())?;
            (Body::from(bytes), permit)
        } else {
            (body, None)
        };
        // A pool reviewer gets its last answers, and a browser the answer to its signing out.
        let ends_by_itself =
            caller.is_some_and(|caller| caller.credential.is_some()) || parts.uri.path() == Route::Session.path();
        let checked = secret.filter(|_| !ends_by_itself);
        // While a call is noticed here, the database is read for it.
        let revocations = revocations.filter(|_| checked.is_some());
        let response = tokio::select! {
            biased;
            response = next.run(Request::from_parts(parts, body)) => response,
            () = revoked(revocations, checked) => return Err(unknown_token()),
        };
        // The call holds the content of the body until it has responded.
        drop(permit);
        Ok(response)
    }
}

/// Resolves when the secret is revoked. Calls that wait end then, and others a little earlier than they would.
async fn revoked(revocations: Option<Revocations>, secret: Option<ShownSecret>) {
    match (revocations, secret) {
        (Some(mut revocations), Some(secret)) => revocations.revoked(&secret).await,
        (_, None) | (None, _) => std::future::pending().await,
    }
}

/// A complete body and, if it is large, its permit.
struct ReadBody<'a> {
    bytes: Bytes,
    permit: Option<SemaphorePermit<'a>>,
}

/// The middleware. Responses contain text written by agents, so browsers must not guess another content type.
pub(super) async fn check(State(guard): State<Arc<RequestGuard>>, request: Request, next: Next) -> Response {
    let mut response = guard.handle(request, next).await.unwrap_or_else(|body| {
        let (code, trace) = (body.code.as_str(), TraceId::current().map(display));
        info!(target: "countersign::guard", code, trace.id = trace, "refused");
        problem(body)
    });
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Browsers that send no Sec-Fetch-Site then still keep the response from other origins.
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// The role that a request needs. Paths with arguments have it from their operation: the service checks those.
fn required_role(method: &Method, path: &str, headers: &HeaderMap) -> RequiredRole {
    let is_public = web_page::is_page_request(method, path, headers) || path.starts_with(web_page::ASSETS_PREFIX);
    match Route::all().find(|route| route.path() == path) {
        Some(route) => route.required_role(),
        None if is_public => RequiredRole::Public,
        None => RequiredRole::Any,
    }
}

/// The `ticket` in the query of a WebSocket request. A ticket has no characters that need percent-encoding.
fn ticket(uri: &Uri) -> Option<&str> {
    let pairs = uri.query().filter(|_| uri.path() == Route::WebSocket.path())?.split('&');
    pairs.filter_map(|pair| pair.strip_prefix("ticket=")).next()
}

/// The secret of `Authorization: Bearer …`.
fn bearer_secret(header: &HeaderValue) -> Option<&str> {
    let (scheme, secret) = header.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && secret.starts_with(store::SECRET_PREFIX)).then_some(secret)
}

/// Makes different spellings of a host equal.
fn normalize_host(host: &str) -> String {
    host.parse().map_or_else(|_| host.to_ascii_lowercase(), |address: IpAddr| address.to_string())
}

fn carries_body(method: &Method) -> bool {
    method == Method::POST || method == Method::PUT || method == Method::PATCH
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next().and_then(|value| value.to_str().ok()), types.next()) {
        (Some(value), None) => {
            value.split(';').next().is_some_and(|mime| mime.trim().eq_ignore_ascii_case("application/json"))
        }
        (Some(_), Some(_)) | (None, _) => false,
    }
}

fn unknown_token() -> ErrorBody {
    ErrorBody::new(ErrorCode::UnknownToken, "the token is malformed, unknown or revoked")
}

#[cfg(test)]
#[path = "request_guard_tests.rs"]
mod tests;
