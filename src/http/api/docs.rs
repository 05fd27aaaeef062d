//! Serves the page to read and try the API. It loads nothing from other hosts.

use crate::http::problem::with_text;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

/// The page and the files it loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asset {
    Page,
    Script,
    Style,
}

impl Asset {
    pub(in crate::http) const ALL: [Self; 3] = [Self::Page, Self::Script, Self::Style];

    pub(in crate::http) const fn path(self) -> &'static str {
        match self {
            Self::Page => "/api/v1/docs",
            Self::Script => "/api/v1/docs.js",
            Self::Style => "/api/v1/docs.css",
        }
    }
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
