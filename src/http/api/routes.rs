//! Every operation of the API, a line each. Names in a path are names of arguments.

use super::docs::Asset;
use crate::{
    http::guard::RequiredToken,
    mcp::Tool::{self, *},
};
use What::{Call, Diff, Docs, Hooks, Patch, Show};
use axum::http::Method;

#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    pub id: &'static str,
    pub method: Method,
    pub path: &'static str,
    pub(in crate::http) what: What,
    /// Arguments of the tool that have no place here.
    pub(super) without: &'static [&'static str],
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum What {
    /// A tool, with its rules and its answer.
    Call(Tool),
    /// What get_proposal shows, or the whole diff as text.
    Diff,
    /// The same diff as a mail that `git am` takes.
    Patch,
    Show(Page),
    Hooks(OfHooks),
    Docs(Asset),
}

/// What is no tool, because no agent needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Page {
    Personas,
    Config,
    Actors,
    Logs,
    OpenApi,
}

/// What operators do with webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum OfHooks {
    List,
    Dead,
    Redeliver,
    Drop,
}

macro_rules! operations {
    ($($method:ident $path:literal = $id:literal: $what:expr $(, without $without:expr)?;)+) => {
        pub(super) const ALL: &[Operation] = &[$(Operation {
            id: $id,
            method: Method::$method,
            path: concat!("/api/v1", $path),
            what: $what,
            without: operations!(@ $($without)?),
        }),+];
    };
    (@) => { &[] };
    (@ $without:expr) => { &$without };
}

operations! {
    GET "/reviews" = "list_reviews": Call(ListReviews);
    POST "/reviews" = "create_review": Call(CreateReview), without ["review_id"];
    GET "/reviews/{review_id}" = "get_review": Call(GetProposal);
    DELETE "/reviews/{review_id}" = "delete_review": Call(CancelReview);
    POST "/reviews/{review_id}/cancel" = "cancel_review": Call(CancelReview);
    POST "/reviews/{review_id}/resubmit" = "resubmit_review": Call(CreateReview), without FIXED;
    POST "/reviews/{review_id}/claim" = "claim_review": Call(ClaimReview);
    POST "/reviews/{review_id}/release" = "release_claim": Call(ReleaseClaim);
    POST "/reviews/{review_id}/verdict" = "submit_verdict": Call(SubmitVerdict);
    POST "/reviews/{review_id}/close" = "close_review": Call(CloseReview);
    GET "/reviews/{review_id}/status" = "get_review_status": Call(GetReviewStatus);
    GET "/reviews/{review_id}/messages" = "get_discussion": Call(GetDiscussion);
    POST "/reviews/{review_id}/messages" = "add_message": Call(AddMessage);
    POST "/reviews/{review_id}/counter-patch/accept" = "accept_counter_patch": Call(AcceptCounterPatch);
    POST "/reviews/{review_id}/counter-patch/reject" = "reject_counter_patch": Call(RejectCounterPatch);
    GET "/reviews/{review_id}/diff" = "get_diff": Diff;
    GET "/reviews/{review_id}/rounds/{round}/diff" = "get_round_diff": Diff;
    GET "/reviews/{review_id}/patch" = "get_patch": Patch, without ["since_round", "cursor"];
    GET "/reviews/{review_id}/issues" = "list_review_issues": Call(ListIssues);
    PATCH "/reviews/{review_id}/issues/{issue_id}" = "update_review_issue": Call(UpdateIssue);
    GET "/issues" = "list_issues": Call(ListIssues);
    GET "/reviews/{review_id}/timeline" = "get_review_timeline": Call(GetReviewTimeline);
    GET "/activity" = "get_activity_feed": Call(GetActivityFeed);
    GET "/audit" = "get_audit_log": Call(GetAuditLog);
    GET "/stats" = "get_review_stats": Call(GetReviewStats);
    PATCH "/issues/{issue_id}" = "update_issue": Call(UpdateIssue);
    GET "/reviewers" = "list_reviewers": Call(ListReviewers);
    POST "/reviewers" = "spawn_reviewer": Call(SpawnReviewer);
    DELETE "/reviewers/{reviewer_id}" = "kill_reviewer": Call(KillReviewer);
    GET "/reviewers/{reviewer_id}/logs" = "get_reviewer_logs": Show(Page::Logs);
    GET "/personas" = "list_personas": Show(Page::Personas);
    GET "/config" = "get_config": Show(Page::Config);
    GET "/actors" = "get_actors": Show(Page::Actors);
    GET "/webhooks" = "list_webhooks": Hooks(OfHooks::List);
    GET "/webhooks/{webhook}/dead" = "list_dead_deliveries": Hooks(OfHooks::Dead);
    POST "/webhooks/{webhook}/redeliver" = "redeliver": Hooks(OfHooks::Redeliver);
    POST "/webhooks/{webhook}/drop" = "drop_dead_deliveries": Hooks(OfHooks::Drop);
    GET "/openapi.json" = "get_openapi": Show(Page::OpenApi);
    GET "/docs" = "docs": Docs(Asset::Page);
    GET "/docs.js" = "docs_script": Docs(Asset::Script);
    GET "/docs.css" = "docs_style": Docs(Asset::Style);
}

/// What a revision cannot change.
const FIXED: [&str; 9] =
    ["agent_type", "agent_role", "phase", "plan", "task", "project", "category", "personas", "policy"];

impl Operation {
    /// Whether what it makes has an address of its own afterwards.
    pub(super) fn creates(&self) -> bool {
        self.method == Method::POST && !self.path.contains('{')
    }

    pub(super) fn takes_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PATCH
    }

    pub(super) fn changes(&self) -> bool {
        self.method != Method::GET
    }

    /// The names in its path.
    pub(super) fn places(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    pub(super) fn is_of_a_review(&self) -> bool {
        self.places().any(|name| name == "review_id")
    }

    /// What a caller must show at the door. What it then may do, the tool says.
    pub(in crate::http) const fn required_token(&self) -> RequiredToken {
        match self.what {
            // They say nothing of this broker, and a browser has no token yet when it opens a page.
            What::Docs(_) | What::Show(Page::OpenApi) => RequiredToken::None,
            What::Show(Page::Config | Page::Actors) => RequiredToken::AllProjects,
            What::Show(Page::Logs) | What::Hooks(_) => RequiredToken::Operator,
            What::Call(_) | What::Diff | What::Patch | What::Show(Page::Personas) => RequiredToken::Any,
        }
    }

    /// The tool behind it.
    pub(super) const fn tool(&self) -> Option<Tool> {
        match self.what {
            What::Call(tool) => Some(tool),
            What::Diff | What::Patch => Some(Tool::GetProposal),
            What::Show(_) | What::Hooks(_) | What::Docs(_) => None,
        }
    }
}
