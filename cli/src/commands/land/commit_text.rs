//! Composes the message, author and committer of the commit that `countersign land` makes.

use anyhow::{Context as _, anyhow};
use domain::text::is_hidden;
use gate::{ReviewedContent, Trailer};
use git::{Person, UserRepo};

/// The domain of authors without an address of their own. It never exists (RFC 2606).
const EMAIL_DOMAIN: &str = "countersign.invalid";
const UNNAMED: &str = "proposer";

/// The intent, the description and the trailer.
pub(super) fn message(review: &ReviewedContent, trailer: &Trailer) -> String {
    let intent = visible(&review.intent);
    let (subject, rest) = intent.trim().split_once('\n').unwrap_or((intent.trim(), ""));
    let description = visible(review.description.as_deref().unwrap_or_default());
    let parts = [subject, rest, &description, &trailer.to_line()].map(|part| part.trim().to_owned());
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n") + "\n"
}

/// Proposers write these texts, so what a reader of the log cannot see is left out.
fn visible(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_hidden(*c)).collect()
}

/// The proposer, with the committer's address if it has the committer's name.
pub(super) fn author(review: &ReviewedContent, committer: &Person) -> Person {
    let name: String =
        visible(review.proposer.identity()).chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\t')).collect();
    let name = name.trim().trim_matches(|c: char| c.is_ascii_punctuation()).trim();
    let name = if name.is_empty() { UNNAMED } else { name };
    if name == committer.name {
        return committer.clone();
    }
    let word = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    let account: String = name.to_lowercase().chars().map(word).collect();
    Person { name: name.to_owned(), email: format!("{account}@{EMAIL_DOMAIN}") }
}

/// The person that git would name in a commit.
pub(super) async fn committer(repo: &UserRepo) -> anyhow::Result<Person> {
    let line = repo.git(["var", "GIT_COMMITTER_IDENT"]).await;
    let line = line.context("git does not know who you are; set user.name and user.email (git config)")?;
    let person = line.split_once(" <").and_then(|(name, rest)| {
        let (email, _) = rest.split_once('>')?;
        Some(Person { name: name.to_owned(), email: email.to_owned() })
    });
    person.ok_or_else(|| anyhow!("git names no committer: {line:?}"))
}

#[cfg(test)]
#[path = "commit_text_tests.rs"]
mod tests;
