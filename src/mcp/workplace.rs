//! Where a caller works, as the stdio bridge tells it beside every message: a broker that was started
//! for another repository would else take a proposal without a project for its own.

use super::refusal::Refused;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use git::ClientRepo;
use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, path::PathBuf};

const NAME: HeaderName = HeaderName::from_static("countersign-workplace");

/// Paths are any bytes, so they travel as base64: `ROOT.OBJECTS`.
pub fn header(workplace: ClientRepo) -> Option<(HeaderName, HeaderValue)> {
    let encoded = |path: PathBuf| BASE64_STANDARD.encode(path.into_os_string().into_vec());
    let value = format!("{}.{}", encoded(workplace.root), encoded(workplace.objects));
    Some((NAME, HeaderValue::try_from(value).ok()?))
}

pub(super) fn read(headers: &HeaderMap) -> Result<Option<ClientRepo>, Refused> {
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let path = |text: &str| BASE64_STANDARD.decode(text).ok().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
    let parts = value.to_str().ok().and_then(|value| value.split_once('.'));
    let found = parts.and_then(|(root, objects)| Some(ClientRepo { root: path(root)?, objects: path(objects)? }));
    let unreadable = || Refused::invalid(NAME.as_str(), "expected two paths in base64, with a dot between them");
    found.map(Some).ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use super::{NAME, header, read};
    use axum::http::{HeaderMap, HeaderValue};
    use git::ClientRepo;
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

    #[test]
    fn any_path_survives_the_header() {
        let odd = OsString::from_vec(b"/home/\xff/b\xc3\xbccher\n.git".to_vec());
        let workplace = ClientRepo { root: odd.into(), objects: "/r/.git/objects".into() };
        let headers = HeaderMap::from_iter(header(workplace.clone()));
        assert_eq!(read(&headers).map_err(|refused| refused.code), Ok(Some(workplace)));
        assert_eq!(read(&HeaderMap::new()).map_err(|refused| refused.code), Ok(None));
        for bad in ["", "L3I=", "%.%", "L3I=.%"] {
            let headers = HeaderMap::from_iter([(NAME, HeaderValue::from_static(bad))]);
            assert_eq!(read(&headers).map_err(|refused| refused.code), Err("invalid_argument"), "{bad}");
        }
    }
}
