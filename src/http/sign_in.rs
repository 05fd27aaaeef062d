//! Signs browsers in and out: exchanges a one-time code or a token for a cookie, which the request guard accepts from the
//! page only.

use super::{problem_details::with_json, request_guard::NeedsToken};
use crate::{
    one_time_code::{CODE_LIFETIME, CodeHolder, OneTimeCodes},
    service::{CallError, Service},
};
use actors::{
    Caller,
    credentials::{SecretHash, ShownSecret},
};
use api::{
    ErrorBody, ErrorCode,
    decode::Malformed,
    sign_in::{CreateSessionRequest, SessionCode},
};
use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// What the routes of the session need.
pub struct SignIn {
    service: Service,
    codes: OneTimeCodes,
    cookie_name: String,
    lifetime: Duration,
}

impl SignIn {
    /// Sessions of the broker at `port`, which end after `lifetime`.
    pub fn new(service: Service, port: u16, lifetime: Duration) -> Self {
        Self { service, codes: OneTimeCodes::default(), cookie_name: cookie_name(port), lifetime }
    }

    /// The cookie is not for scripts and not for requests from other sites. It has no `Secure`: the broker speaks HTTP.
    fn cookie(&self, secret: &str, lifetime: Duration) -> String {
        let (name, seconds) = (&self.cookie_name, lifetime.as_secs());
        format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict")
    }

    /// Responds as whoami, and sets the cookie.
    async fn respond(&self, caller: Option<&Caller>, needs_token: bool, cookie: &str) -> Result<Response, CallError> {
        let whoami = self.service.whoami(caller, needs_token, caller.is_some()).await;
        let mut response = with_json(StatusCode::OK, &json!(whoami));
        let headers = response.headers_mut();
        headers.insert(header::SET_COOKIE, HeaderValue::try_from(cookie).map_err(|_| CallError::Internal)?);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// Browsers send a cookie to every port of a host. The port in the name keeps the cookies of two brokers apart.
fn cookie_name(port: u16) -> String {
    format!("countersign_session_{port}")
}

/// The session's secret in the cookies of a request to the broker at `port`.
pub(super) fn secret_in(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = cookie_name(port);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, secret)| secret)
}

/// `POST /api/v1/session`
pub(super) async fn create(
    State(sign_in): State<Arc<SignIn>>,
    shown: Option<Extension<ShownSecret>>,
    needs_token: Option<Extension<NeedsToken>>,
    body: Bytes,
) -> Result<Response, CallError> {
    let request: CreateSessionRequest =
        serde_json::from_slice(&body).map_err(|error| Malformed::new("body", error.to_string()))?;
    let (token, refusal) = match (request.code, request.token) {
        (Some(code), None) => {
            let holder = sign_in.codes.redeem(&code);
            (holder.and_then(|holder| holder.secret).map(|secret| secret.token().clone()), unknown_code())
        }
        (None, Some(token)) => (Some(SecretHash::from_secret(token.trim())), unknown_token()),
        (Some(_), Some(_)) | (None, None) => {
            return Err(Malformed::new("body", "give either code or token").into());
        }
    };
    let broker = sign_in.service.broker();
    let created = match token {
        Some(token) => broker.create_session(&token, sign_in.lifetime).await?,
        None => None,
    };
    let Some((caller, secret)) = created else { return Err(refusal.into()) };
    // The browser forgets the cookie that it had before.
    if let Some(Extension(ShownSecret::BrowserSession { hash, .. })) = shown {
        broker.end_session(hash).await?;
    }
    tracing::info!(caller = caller.identity, "a browser signed in");
    sign_in.respond(Some(&caller), needs_token.is_some(), &sign_in.cookie(&secret, sign_in.lifetime)).await
}

/// `DELETE /api/v1/session`
pub(super) async fn end(
    State(sign_in): State<Arc<SignIn>>,
    shown: Option<Extension<ShownSecret>>,
    needs_token: Option<Extension<NeedsToken>>,
) -> Result<Response, CallError> {
    if let Some(Extension(ShownSecret::BrowserSession { hash, .. })) = shown {
        sign_in.service.broker().end_session(hash).await?;
    }
    sign_in.respond(None, needs_token.is_some(), &sign_in.cookie("", Duration::ZERO)).await
}

/// `POST /api/v1/session-codes`. A session gets none, because it could live for ever by them.
pub(super) async fn issue_code(
    State(sign_in): State<Arc<SignIn>>,
    caller: Option<Extension<Caller>>,
    shown: Option<Extension<ShownSecret>>,
) -> Result<Response, CallError> {
    let (Some(Extension(caller)), Some(Extension(secret @ ShownSecret::Token(_)))) = (caller, shown) else {
        let error = "a code signs in the holder of a token; send one (Authorization: Bearer …)";
        return Err(ErrorBody::new(ErrorCode::TokenNeeded, error).into());
    };
    if caller.credential.is_some() {
        let error = "a reviewer of the pool cannot sign in; allowed: tokens of `countersign token create`";
        return Err(ErrorBody::new(ErrorCode::WrongRole, error).into());
    }
    let busy = || ErrorBody::new(ErrorCode::Busy, "too many unused codes; they expire within half a minute");
    let holder = CodeHolder { caller: Some(caller), secret: Some(secret) };
    let code = sign_in.codes.issue(holder).ok_or_else(busy)?;
    let code = SessionCode { code, expires_in_seconds: CODE_LIFETIME.as_secs() };
    let mut response = with_json(StatusCode::OK, &json!(code));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn unknown_code() -> ErrorBody {
    let error = "the code is unknown, used or expired; get another one with `countersign open`";
    ErrorBody::new(ErrorCode::UnknownCode, error)
}

fn unknown_token() -> ErrorBody {
    let error = "the token is unknown or revoked; create one with `countersign token create`";
    ErrorBody::new(ErrorCode::UnknownToken, error)
}

#[cfg(test)]
mod tests {
    use super::secret_in;
    use axum::http::{HeaderMap, HeaderValue, header::COOKIE};

    #[test]
    fn the_cookie_of_this_broker_is_found_among_others() {
        let headers = |values: &[&'static str]| {
            values.iter().map(|value| (COOKIE, HeaderValue::from_static(value))).collect::<HeaderMap>()
        };
        let find = |values| secret_in(&headers(values), 8321).map(str::to_owned);
        assert_eq!(find(&["a=b; countersign_session_8321=cs_1;c=d"]), Some("cs_1".into()));
        assert_eq!(find(&["a=b", "countersign_session_8321=cs_1"]), Some("cs_1".into()));
        assert_eq!(find(&["countersign_session_8322=cs_2"]), None);
        assert_eq!(find(&["xcountersign_session_8321=cs_2; countersign_session_8321"]), None);
        assert_eq!(find(&[]), None);
    }
}
