//! The files of the web page, embedded at compile time. This package does not depend on the broker.
//!
//! [`index_html`] is the page. It loads its other files from `/assets/<build>/NAME`. The [`BUILD`] id changes with
//! every change of a file, so a browser may cache them indefinitely.

use std::sync::LazyLock;

/// The text in `index.html` that stands for the build id.
const PLACEHOLDER: &str = "%BUILD%";

/// The folder of `dist/` whose files are served as assets.
const ASSETS: &str = "assets/";

/// An embedded file.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// The path below `dist/`.
    pub name: &'static str,
    /// A strong ETag, with its quotation marks.
    pub etag: &'static str,
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

static INDEX: LazyLock<String> = LazyLock::new(|| {
    let bytes = find("index.html").map_or(&[][..], |file| file.bytes);
    String::from_utf8_lossy(bytes).replace(PLACEHOLDER, BUILD)
});

/// The page, with the build id in the addresses of its assets.
pub fn index_html() -> &'static str {
    &INDEX
}

/// The asset of this name: the path below `dist/assets/`.
pub fn find_asset(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name.strip_prefix(ASSETS) == Some(name))
}

fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    pub fn content_type(&self) -> &'static str {
        known_content_type(self.name).unwrap_or("application/octet-stream")
    }
}

fn known_content_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{BUILD, FILES, PLACEHOLDER, find_asset, index_html, known_content_type};
    use std::{fs, path::Path};

    #[test]
    fn the_committed_files_are_embedded() {
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
        for file in FILES {
            assert_eq!(fs::read(dist.join(file.name)).expect(file.name), file.bytes, "{}", file.name);
        }
    }

    #[test]
    fn every_file_has_a_content_type() {
        for file in FILES {
            assert!(known_content_type(file.name).is_some(), "add the content type of {}", file.name);
        }
    }

    #[test]
    fn the_page_names_the_build() {
        assert!(!BUILD.is_empty() && BUILD.bytes().all(|byte| byte.is_ascii_hexdigit()), "{BUILD}");
        assert!(!index_html().contains(PLACEHOLDER));
    }

    /// Every address in the page is an asset of this build or the request that it begins with, and the page has no inline
    /// script: the policy of the broker forbids others.
    #[test]
    fn the_page_refers_only_to_its_assets() {
        let html = index_html();
        for attribute in ["src=\"", "href=\""] {
            for address in html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                let name = address.strip_prefix(&format!("/assets/{BUILD}/"));
                let is_asset = name.is_some_and(|name| find_asset(name).is_some());
                assert!(is_asset || address == "/api/v1/whoami", "{address} is not an embedded asset");
            }
        }
        for script in html.split("<script").skip(1).filter_map(|rest| rest.split("</script>").next()) {
            let body = script.split_once('>').map_or("", |(_, body)| body);
            assert!(body.trim().is_empty(), "an inline script: {body}");
        }
    }
}
