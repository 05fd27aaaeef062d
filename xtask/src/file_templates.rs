//! `cargo xtask migration` and `cargo xtask adr`: create a new migration or decision record from a template.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;

use crate::subprocess::root;

const MIGRATION: &str = "\
-- Why the schema changes, and what happens to existing rows. Tables are STRICT and repeat the rules as named CHECKs.
-- A released migration is never edited.
";

/// `cargo xtask migration create_reviews` → `migrations/20261116093000_create_reviews.sql`.
pub(crate) fn migration(arguments: &[OsString]) -> anyhow::Result<()> {
    let name = slug(&words(arguments, "migration NAME")?, '_');
    let (date, time) = utc(SystemTime::now());
    let file = format!("{}{time}_{name}.sql", date.replace('-', ""));
    write_new(&root().join("migrations"), &file, MIGRATION)
}

/// `cargo xtask adr "One writer"` → `docs/adr/0003-one-writer.md`.
pub(crate) fn adr(arguments: &[OsString]) -> anyhow::Result<()> {
    let title = words(arguments, "adr TITLE")?;
    let folder = root().join("docs/adr");
    let mut last = 0;
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    let number: u32 = last + 1;
    let template = fs::read_to_string(folder.join("template.md"))?;
    let (date, _) = utc(SystemTime::now());
    let text =
        template.replacen("NUMBER", &number.to_string(), 1).replacen("TITLE", &title, 1).replacen("DATE", &date, 1);
    write_new(&folder, &format!("{number:04}-{}.md", slug(&title, '-')), &text)
}

fn words(arguments: &[OsString], usage: &str) -> anyhow::Result<String> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let text = words.join(" ");
    let named = text.contains(|c: char| c.is_ascii_alphanumeric());
    anyhow::ensure!(named, "usage: cargo xtask {usage}");
    Ok(text)
}

fn slug(text: &str, gap: char) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(&gap.to_string())
}

/// Fails if the file exists.
fn write_new(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    let display = path.strip_prefix(root()).unwrap_or(&path).display();
    let file = File::create_new(&path).with_context(|| format!("cannot create {display}"));
    file?.write_all(text.as_bytes())?;
    eprintln!("xtask: wrote {display}");
    Ok(())
}

/// Date and time of day, as `2026-11-16` and `093000`.
fn utc(now: SystemTime) -> (String, String) {
    let now = jiff::Timestamp::try_from(now).unwrap_or_default();
    (now.strftime("%Y-%m-%d").to_string(), now.strftime("%H%M%S").to_string())
}

#[cfg(test)]
#[path = "file_templates_tests.rs"]
mod tests;
