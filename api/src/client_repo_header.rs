//! Encodes and decodes the HTTP header in which a client names the repository it works in.
//!
//! The stdio bridge and the command line send it with every request. Without it, a proposal that names no project would
//! go to the repository that the broker was started for.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue};
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

pub const HEADER: HeaderName = HeaderName::from_static("countersign-workplace");

/// The header for the top folder of a working tree and the folder of its git objects. Paths can hold any bytes, so they
/// are sent as base64.
pub fn header(root: &Path, objects: &Path) -> Option<(HeaderName, HeaderValue)> {
    let encode = |path: &Path| BASE64_STANDARD.encode(path.as_os_str().as_bytes());
    let value = HeaderValue::try_from(format!("{}.{}", encode(root), encode(objects))).ok()?;
    Some((HEADER, value))
}

/// Decodes the two paths; `None` if the value is malformed.
pub fn decode(value: &HeaderValue) -> Option<(PathBuf, PathBuf)> {
    let decode = |text: &str| BASE64_STANDARD.decode(text).ok().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
    let (root, objects) = value.to_str().ok()?.split_once('.')?;
    Some((decode(root)?, decode(objects)?))
}

#[cfg(test)]
mod tests {
    use super::{decode, header};
    use http::HeaderValue;
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, path::PathBuf};

    #[test]
    fn any_path_survives_the_header() {
        let root = PathBuf::from(OsString::from_vec(b"/home/\xff/b\xc3\xbccher\n.git".to_vec()));
        let objects = PathBuf::from("/r/.git/objects");
        let (_, value) = header(&root, &objects).expect("a header");
        assert_eq!(decode(&value), Some((root, objects)));
        for malformed in ["", "L3I=", "%.%", "L3I=.%"] {
            assert_eq!(decode(&HeaderValue::from_static(malformed)), None, "{malformed}");
        }
    }
}
