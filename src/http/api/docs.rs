//! A page to read and try the API with. It needs nothing from elsewhere, and may not have it.

use crate::http::problem::with_text;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Asset {
    Page,
    Script,
    Style,
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) fn serve(asset: Asset) -> Response {
    let (kind, text) = match asset {
        Asset::Page => ("text/html; charset=utf-8", include_str!("docs/page.html")),
        Asset::Script => ("text/javascript; charset=utf-8", include_str!("docs/page.js")),
        Asset::Style => ("text/css; charset=utf-8", include_str!("docs/page.css")),
    };
    let mut response = with_text(StatusCode::OK, kind, text);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
