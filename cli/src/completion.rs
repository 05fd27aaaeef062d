//! Completes commands, options and values in the user's shell. Ids come from the broker if one runs; a completion never
//! starts one.

use crate::{
    CliError,
    client::Client,
    commands::completions::{VARIABLE, public_commands},
    config_overrides::ConfigArgs,
};
use api::{
    issues::ListIssuesRequest,
    operation::{ListIssues, ListReviewers, ListReviews},
    review_lists::{ListReviewsRequest, ListReviewsResponse},
    reviewer_pool::ListReviewersRequest,
};
use clap_complete::{ArgValueCandidates, ArgValueCompleter, CompleteEnv, engine::CompletionCandidate};
use domain::{StringEnum, text::one_line};
use std::{ffi::OsStr, time::Duration};
use tokio::time::timeout;

/// A user who presses Tab does not wait longer for a broker.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// Newest reviews and findings that are offered.
const MAX_CANDIDATES: u32 = 100;

/// Answers a shell that asks for completions, and ends the process. Otherwise returns at once.
pub fn answer_shell(definition: fn() -> clap::Command) {
    CompleteEnv::with_factory(|| public_commands(&definition())).var(VARIABLE).complete();
}

/// Completes a review: `R-12`, or `12` after a digit.
pub(crate) fn reviews() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_string_lossy();
        // Those that are open; others after their number was typed.
        let open = review_candidates(&typed, true);
        if open.is_empty() && !typed.is_empty() { review_candidates(&typed, false) } else { open }
    })
}

fn review_candidates(typed: &str, open: bool) -> Vec<CompletionCandidate> {
    let request = ListReviewsRequest { open: open.then_some(true), limit: Some(MAX_CANDIDATES), ..Default::default() };
    let fetch = async |client: Client| client.execute_quietly::<ListReviews, ListReviewsResponse>(&request).await;
    let reviews = from_broker(fetch).map(|page| page.reviews).unwrap_or_default();
    let has_digit = typed.starts_with(|c: char| c.is_ascii_digit());
    let candidates = reviews.into_iter().map(|row| {
        let number = if has_digit { row.head.number.0.to_string() } else { row.head.number.to_string() };
        (number, format!("{}: {}", row.head.status, one_line(&row.intent)))
    });
    starting_with(typed, candidates)
}

/// Completes a finding: `I-41`.
pub(crate) fn issues() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let request = ListIssuesRequest { limit: Some(MAX_CANDIDATES), ..Default::default() };
        let fetch = async |client: Client| client.execute::<ListIssues>(&request).await;
        let issues = from_broker(fetch).map(|page| page.issues).unwrap_or_default();
        issues.into_iter().map(|issue| described(issue.issue_id.to_string(), &one_line(&issue.title))).collect()
    })
}

/// Completes a running reviewer of the pool.
pub(crate) fn reviewers() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let fetch = async |client: Client| client.execute::<ListReviewers>(&ListReviewersRequest::default()).await;
        let reviewers = from_broker(fetch).map(|page| page.reviewers).unwrap_or_default();
        reviewers.into_iter().map(|reviewer| CompletionCandidate::new(reviewer.name)).collect()
    })
}

/// Completes a registered project.
pub(crate) fn projects() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let projects = local_settings().and_then(|settings| Ok(settings.server.data_dir.registered_projects()?));
        projects.into_iter().flatten().map(|project| CompletionCandidate::new(project.name)).collect()
    })
}

/// Completes a persona of the settings, or a list of them with commas.
pub(crate) fn personas() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let before = typed.rfind(',').map_or("", |comma| &typed[..=comma]);
        let personas = local_settings().map(|settings| settings.personas).unwrap_or_default();
        let candidates = personas.values().map(|persona| (format!("{before}{}", persona.name), persona.focus.clone()));
        starting_with(&typed, candidates)
    })
}

/// Completes a name of an enum, such as a status.
pub(crate) fn names<T: StringEnum>() -> ArgValueCandidates {
    ArgValueCandidates::new(|| T::NAMES.iter().copied().map(CompletionCandidate::new).collect())
}

/// Completes the name of a setting.
pub(crate) fn setting_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| config::setting_names().map(CompletionCandidate::new).collect())
}

fn starting_with(typed: &str, candidates: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let fitting = candidates.filter(|(value, _)| value.to_lowercase().starts_with(&typed.to_lowercase()));
    fitting.map(|(value, help)| described(value, &help)).collect()
}

fn described(value: String, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_owned().into()))
}

/// The settings of the current folder. Options of the line, such as --data-dir, are not considered.
fn local_settings() -> Result<config::Config, CliError> {
    Ok(ConfigArgs::default().resolve(None)?.config)
}

/// What the running broker answers. `None` if none runs, if it refuses, or if it takes too long.
fn from_broker<T>(fetch: impl AsyncFnOnce(Client) -> Result<T, CliError>) -> Option<T> {
    let answer = async {
        let data_dir = local_settings()?.server.data_dir;
        fetch(Client::of_data_dir(&data_dir).await?).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let answer = runtime.block_on(async { timeout(TIME_LIMIT, answer).await });
    runtime.shutdown_background();
    answer.ok()?.ok()
}
