//! Who may come in. Whatever a web page in the user's browser can send is refused here, before any
//! route sees it: a foreign Host (DNS rebinding), a foreign Origin, a cross-site fetch, a form. Then who
//! it is, where a token says so.

use super::{
    Route, TraceId,
    answer::problem,
    events::{Tickets, ticket::Holder},
};
use actors::{Broker, BrokerError, Caller, credentials};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, uri::Authority},
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
use tracing::info;

/// A body from here on counts as large, and only some large ones are held at once.
const LARGE_BODY_BYTES: usize = 256 << 10;
const LARGE_BODIES: usize = 16;

/// How many times the allowed size is read before a sender is cut off.
const DRAINED: usize = 16;

/// The process that a request is meant for, where its sender knows: ports change hands.
pub const BROKER: HeaderName = HeaderName::from_static("countersign-broker");

/// What a caller must show where tokens are required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Token,
    Operator,
    /// An operator's of all projects: what is shown is everybody's.
    AllProjects,
}

pub struct Door {
    /// The port we listen on: Host and Origin must name it.
    port: u16,
    /// What we are called beside loopback.
    names: Vec<String>,
    /// Who knows the tokens; without one, none is.
    tokens: Option<Broker>,
    token_required: bool,
    tickets: Tickets,
    body_bytes: usize,
    body_timeout: Duration,
    large: Semaphore,
}

impl Door {
    pub fn new(port: u16, body_bytes: usize, body_timeout: Duration) -> Self {
        Self {
            port,
            names: Vec::new(),
            tokens: None,
            token_required: false,
            tickets: Tickets::default(),
            body_bytes,
            body_timeout,
            large: Semaphore::new(LARGE_BODIES),
        }
    }

    /// Answers also to the address it listens on, and to these names.
    #[must_use]
    pub fn with_names(mut self, address: IpAddr, names: &[String]) -> Self {
        // "Any address" is nobody's name, but browsers take it for one of this machine.
        let own = (!address.is_unspecified()).then(|| address.to_string());
        self.names = own.into_iter().chain(names.iter().map(|name| normal(name))).collect();
        self
    }

    /// Asks `broker` whose a token is, and lets nobody in without one if `required`.
    #[must_use]
    pub fn with_tokens(self, broker: Broker, required: bool) -> Self {
        Self { tokens: Some(broker), token_required: required, ..self }
    }

    /// Takes these in place of a token where a WebSocket is opened.
    #[must_use]
    pub fn with_tickets(self, tickets: Tickets) -> Self {
        Self { tickets, ..self }
    }

    fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Shut> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().map_err(|_| Shut::Host)?,
            (None, _) => return Err(Shut::NoHost),
            (Some(_), Some(_)) => return Err(Shut::Host),
        };
        let names_us = |authority: &str| authority.parse().is_ok_and(|authority| self.is_ours(&authority));
        if !names_us(host) || uri.authority().is_some_and(|authority| !self.is_ours(authority)) {
            return Err(Shut::Host);
        }
        let is_us = |pid: &str| pid.parse() == Ok(std::process::id());
        if headers.get(BROKER).is_some_and(|pid| !pid.to_str().is_ok_and(is_us)) {
            return Err(Shut::OtherBroker);
        }
        for origin in headers.get_all(header::ORIGIN) {
            let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            if !authority.is_some_and(names_us) {
                return Err(Shut::Origin);
            }
        }
        for site in headers.get_all("sec-fetch-site") {
            if site != "same-origin" && site != "none" {
                return Err(Shut::CrossSite);
            }
        }
        if carries_body(method) && !is_json(headers) {
            return Err(Shut::ContentType);
        }
        Ok(())
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_loopback =
            bare.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        let is_name = is_loopback || (!self.names.is_empty() && self.names.contains(&normal(bare)));
        let has_user = authority.as_str().contains('@');
        is_name && !has_user && authority.port_u16().unwrap_or(80) == self.port
    }

    /// Whose token the request shows. One that is not known is refused also where none is needed: its
    /// holder believes to be somebody.
    async fn identify(&self, uri: &Uri, headers: &HeaderMap) -> Result<Holder, Shut> {
        let path = uri.path();
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let holder = match (shown.next(), shown.next(), &self.tokens) {
            (None, _, _) => match ticket(uri) {
                Some(ticket) => self.tickets.redeem(ticket).ok_or(Shut::UnknownTicket)?,
                None => Holder { caller: None, secret: None },
            },
            (Some(header), None, Some(broker)) => {
                let secret = secret(header).ok_or(Shut::UnknownToken)?;
                let found = broker.identify(secret).await.map_err(|error| Shut::unreadable(&error))?;
                let caller = found.ok_or(Shut::UnknownToken)?;
                Holder { caller: Some(caller), secret: Some(credentials::SecretHash::of(secret)) }
            }
            (Some(_), _, _) => return Err(Shut::UnknownToken),
        };
        let needs = Route::all().find(|route| route.path() == path).map_or(Needs::Token, Route::needs);
        let is_operator = |caller: &Caller| caller.authority == credentials::Authority::Operator;
        match (needs, &holder.caller) {
            (Needs::Token | Needs::Operator | Needs::AllProjects, None) if self.token_required => Err(Shut::NoToken),
            (Needs::Operator | Needs::AllProjects, Some(caller)) if !is_operator(caller) => Err(Shut::NotOperator),
            (Needs::AllProjects, Some(caller)) if caller.scope != credentials::Scope::All => Err(Shut::OneProject),
            (Needs::Nothing | Needs::Token | Needs::Operator | Needs::AllProjects, _) => Ok(holder),
        }
    }

    async fn read(&self, body: Body) -> Result<Read<'_>, Shut> {
        let until = Instant::now() + self.body_timeout;
        match timeout_at(until, self.collect(body, until)).await {
            Ok(read) => read,
            Err(_) => Err(Shut::TooSlow),
        }
    }

    /// Too much is read on for a while and dropped: a client that is still sending when the
    /// connection closes sees a broken pipe instead of the answer.
    async fn collect(&self, mut body: Body, until: Instant) -> Result<Read<'_>, Shut> {
        let (mut first, mut whole, mut size, mut place) = (Bytes::new(), BytesMut::new(), 0_usize, None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Shut::Broken)?.into_data() else { continue };
            size = size.saturating_add(data.len());
            if size > self.body_bytes.saturating_mul(DRAINED) {
                break;
            }
            if size > self.body_bytes {
                (first, whole, place) = (Bytes::new(), BytesMut::new(), None);
                continue;
            }
            // Not before: who announces much and sends little must not take a place from others.
            if size > LARGE_BODY_BYTES && place.is_none() {
                place = timeout_at(until, self.large.acquire()).await.map_err(|_| Shut::Busy)?.ok();
            }
            if first.is_empty() {
                first = data;
            } else {
                // Most bodies come in one piece and need not be copied.
                if whole.is_empty() {
                    whole.extend_from_slice(&first);
                }
                whole.extend_from_slice(&data);
            }
        }
        if size > self.body_bytes {
            return Err(Shut::TooLarge { limit: self.body_bytes });
        }
        Ok(Read { bytes: if whole.is_empty() { first } else { whole.freeze() }, place })
    }

    /// Bodies are read here, whole, so that size and time are limited for every route alike.
    async fn let_in(&self, mut request: Request, next: Next) -> Response {
        if let Err(shut) = self.admit(request.method(), request.uri(), request.headers()) {
            return shut.answer();
        }
        match self.identify(request.uri(), request.headers()).await {
            Ok(Holder { caller, secret }) => {
                caller.map(|caller| request.extensions_mut().insert(caller));
                secret.map(|secret| request.extensions_mut().insert(secret));
            }
            Err(shut) => return shut.answer(),
        }
        // Nobody further in needs the secret, so nobody there can log it.
        request.headers_mut().remove(header::AUTHORIZATION);
        if !carries_body(request.method()) {
            return next.run(request).await;
        }
        let (parts, body) = request.into_parts();
        match self.read(body).await {
            Ok(Read { bytes, place }) => {
                let answer = next.run(Request::from_parts(parts, Body::from(bytes))).await;
                // Not before the call is answered, since its content lives that long.
                drop(place);
                answer
            }
            Err(shut) => shut.answer(),
        }
    }
}

/// A whole body and, if it is large, its place among those held at once.
struct Read<'a> {
    bytes: Bytes,
    place: Option<SemaphorePermit<'a>>,
}

/// The layer. No answer is taken by a browser for anything but what it says it is: much of it is agents' text.
pub(super) async fn pass(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let mut answer = door.let_in(request, next).await;
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// That in the address of a WebSocket; a ticket has no characters that would be written otherwise there.
fn ticket(uri: &Uri) -> Option<&str> {
    let pairs = uri.query().filter(|_| uri.path() == Route::WebSocket.path())?.split('&');
    pairs.filter_map(|pair| pair.strip_prefix("ticket=")).next()
}

/// The secret of `Authorization: Bearer …`.
fn secret(header: &HeaderValue) -> Option<&str> {
    let (scheme, secret) = header.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && secret.starts_with(store::SECRET_PREFIX)).then_some(secret)
}

/// Two spellings of one host are the same.
fn normal(host: &str) -> String {
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

/// Why a request stays outside.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shut {
    NoHost,
    Host,
    OtherBroker,
    Origin,
    CrossSite,
    ContentType,
    TooLarge {
        limit: usize,
    },
    TooSlow,
    Broken,
    Busy,
    NoToken,
    UnknownToken,
    UnknownTicket,
    NotOperator,
    OneProject,
    /// Whose the token is cannot be told now.
    Unreadable {
        code: &'static str,
        why: String,
    },
}

impl Shut {
    fn unreadable(error: &BrokerError) -> Self {
        Self::Unreadable { code: error.code(), why: error.to_string() }
    }

    fn answer(self) -> Response {
        let (status, code, error) = match self {
            Self::NoHost => (StatusCode::BAD_REQUEST, "host_missing", "a Host header is needed"),
            Self::Host => (
                StatusCode::FORBIDDEN,
                "host_not_allowed",
                "Host must be localhost, a loopback address, the address the broker listens on or one of \
                 server.hosts, with the broker's port",
            ),
            Self::OtherBroker => (
                StatusCode::MISDIRECTED_REQUEST,
                "another_broker",
                "this is not the broker that the request is meant for",
            ),
            Self::Origin => {
                (StatusCode::FORBIDDEN, "origin_not_allowed", "Origin, where there is one, must be the broker's own")
            }
            Self::CrossSite => (StatusCode::FORBIDDEN, "cross_site", "requests from other sites are refused"),
            Self::ContentType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "Content-Type must be application/json")
            }
            Self::TooLarge { limit } => {
                let code = "body_too_large";
                info!(target: "countersign::door", code, trace.id = TraceId::current().map(display), "refused");
                let error = format!("the body may have at most {limit} bytes");
                return problem(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", &error);
            }
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time"),
            Self::Broken => (StatusCode::BAD_REQUEST, "body_unreadable", "the body broke off"),
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "busy", "too many large requests at once; try again in a moment")
            }
            Self::NoToken => (
                StatusCode::UNAUTHORIZED,
                "token_needed",
                "this broker wants a token (Authorization: Bearer …); `countersign token create` makes one",
            ),
            Self::UnknownToken => {
                (StatusCode::UNAUTHORIZED, "unknown_token", "the token is malformed, unknown or revoked")
            }
            Self::UnknownTicket => {
                (StatusCode::UNAUTHORIZED, "unknown_ticket", "the ticket is unknown, was used or has expired")
            }
            Self::NotOperator => (StatusCode::FORBIDDEN, "wrong_role", "this page is only for an operator's token"),
            Self::OneProject => (
                StatusCode::FORBIDDEN,
                "wrong_project",
                "this page shows all projects, and your token is good for one only",
            ),
            Self::Unreadable { code, why } => {
                info!(target: "countersign::door", code, trace.id = TraceId::current().map(display), "refused");
                return problem(StatusCode::SERVICE_UNAVAILABLE, code, &why);
            }
        };
        info!(target: "countersign::door", code, trace.id = TraceId::current().map(display), "refused");
        let mut answer = problem(status, code, error);
        if status == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::{BROKER, Door, Shut, secret};
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header::HOST};
    use std::time::Duration;

    #[track_caller]
    fn check(method: Method, headers: &[(&str, &str)], expected: Result<(), Shut>) {
        let door = Door::new(8321, 1, Duration::from_secs(1));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).expect("a name"), HeaderValue::try_from(*value).expect("a value"));
        }
        assert_eq!(door.admit(&method, &Uri::from_static("/mcp"), &map), expected, "{headers:?}");
    }

    #[test]
    fn only_our_own_host_comes_in() {
        for host in ["127.0.0.1:8321", "localhost:8321", "LOCALHOST:8321", "[::1]:8321", "127.9.9.9:8321"] {
            check(Method::GET, &[("host", host)], Ok(()));
        }
        for host in [
            "evil.example:8321",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8321",
            "user@127.0.0.1:8321",
            "10.0.0.1:8321",
            "",
            "127.0.0.1:8321, evil.example",
        ] {
            check(Method::GET, &[("host", host)], Err(Shut::Host));
        }
        check(Method::GET, &[], Err(Shut::NoHost));
        check(Method::GET, &[("host", "127.0.0.1:8321"), ("host", "127.0.0.1:8321")], Err(Shut::Host));
    }

    #[test]
    fn a_door_has_the_names_it_was_given() {
        let host = |door: &Door, host: &'static str| {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            door.admit(&Method::GET, &Uri::from_static("/mcp"), &headers)
        };
        let names = ["Review.example".to_owned(), "fd00:0::1".to_owned()];
        let door = |address: &str, port| {
            Door::new(port, 1, Duration::from_secs(1)).with_names(address.parse().expect("an address"), &names)
        };
        let any = door("0.0.0.0", 8321);
        for name in ["127.0.0.1:8321", "localhost:8321", "review.EXAMPLE:8321", "[fd00::1]:8321"] {
            assert_eq!(host(&any, name), Ok(()), "{name}");
        }
        for name in ["0.0.0.0:8321", "192.168.0.9:8321", "review.example", "review.example:80", "x.review.example:8321"]
        {
            assert_eq!(host(&any, name), Err(Shut::Host), "{name}");
        }
        assert_eq!(host(&door("192.168.0.9", 8321), "192.168.0.9:8321"), Ok(()));
        assert_eq!(host(&door("192.168.0.9", 80), "review.example"), Ok(()));
    }

    #[test]
    fn a_secret_is_read_from_its_header() {
        let read = |text: &'static str| secret(&HeaderValue::from_static(text)).map(str::to_owned);
        assert_eq!(read("Bearer cs_1"), Some("cs_1".into()));
        assert_eq!(read("bearer  cs_1"), Some("cs_1".into()));
        for malformed in ["cs_1", "Bearer", "Bearer ", "Basic cs_1", "Bearer sk_1"] {
            assert_eq!(read(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn a_message_for_another_broker_stays_outside() {
        let host = ("host", "127.0.0.1:8321");
        let own = std::process::id().to_string();
        check(Method::GET, &[host, (BROKER.as_str(), &own)], Ok(()));
        check(Method::GET, &[host, (BROKER.as_str(), "1")], Err(Shut::OtherBroker));
    }

    #[test]
    fn a_foreign_page_stays_outside() {
        let host = ("host", "127.0.0.1:8321");
        check(Method::GET, &[host, ("origin", "http://localhost:8321")], Ok(()));
        for origin in ["null", "http://localhost:3000", "https://localhost:8321", "http://evil.example", "file://"] {
            check(Method::GET, &[host, ("origin", origin)], Err(Shut::Origin));
        }
        check(Method::GET, &[host, ("sec-fetch-site", "same-origin")], Ok(()));
        check(Method::GET, &[host, ("sec-fetch-site", "none")], Ok(()));
        check(Method::GET, &[host, ("sec-fetch-site", "cross-site")], Err(Shut::CrossSite));
        check(Method::GET, &[host, ("sec-fetch-site", "same-site")], Err(Shut::CrossSite));
    }

    #[test]
    fn a_form_is_not_json() {
        let host = ("host", "127.0.0.1:8321");
        check(Method::POST, &[host, ("content-type", "application/json; charset=utf-8")], Ok(()));
        check(Method::POST, &[host, ("content-type", "text/plain")], Err(Shut::ContentType));
        check(Method::POST, &[host, ("content-type", "application/jsonp")], Err(Shut::ContentType));
        check(Method::POST, &[host], Err(Shut::ContentType));
    }
}
