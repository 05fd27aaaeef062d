//! Writes the table of the files in `dist/`, with their ETags and the build id. `cargo xtask web` makes `dist/`; this
//! script never runs Node.

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Hex digits of an ETag and of the build id.
const DIGITS: usize = 16;

fn main() -> anyhow::Result<()> {
    let dist = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("CARGO_MANIFEST_DIR is not set")?).join("dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut names = Vec::new();
    list(&dist, "", &mut names).with_context(|| format!("cannot read {}", dist.display()))?;
    // The order is part of the build id.
    names.sort();
    anyhow::ensure!(
        names.iter().any(|name| name == "index.html"),
        "ui/dist/index.html is missing; run `cargo xtask web`"
    );

    let (mut build, mut table) = (Sha256::new(), String::new());
    for name in &names {
        let path = dist.join(name);
        let hash = Sha256::digest(fs::read(&path).with_context(|| path.display().to_string())?);
        build.update(name);
        build.update([0]);
        build.update(hash);
        writeln!(
            table,
            "File {{ name: {name:?}, etag: \"\\\"{}\\\"\", bytes: include_bytes!({path:?}) }},",
            short(&hash)
        )?;
    }
    let build = short(&build.finalize());
    let out = PathBuf::from(env::var_os("OUT_DIR").context("OUT_DIR is not set")?).join("files.rs");
    fs::write(out, format!("{}pub static FILES: &[File] = &[\n{table}];\n", constants(&build)))?;
    Ok(())
}

/// Adds the names of all files below `folder`, with `/` between folders. Hidden files are left out: an editor or the
/// operating system may have made them.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| anyhow::anyhow!("{name:?} is not UTF-8"))?;
        if name.starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{prefix}{name}/"), names)?;
        } else {
            names.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

fn constants(build: &str) -> String {
    let build_doc = "/// Changes with every change of a file.";
    let etag_doc = "/// The ETag of [`index_html`], with its quotation marks.";
    format!(
        "{build_doc}\npub const BUILD: &str = {build:?};\n{etag_doc}\npub const INDEX_ETAG: &str = \"\\\"{build}\\\"\";\n\
         /// Every embedded file, by name.\n"
    )
}

fn short(hash: &[u8]) -> String {
    let hex = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    hex[..DIGITS].to_owned()
}
