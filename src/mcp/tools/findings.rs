//! Issues: raised with a verdict, listed, and settled.

use super::{Call, Done, Stop};
use crate::mcp::{
    args::{FindingArgs, ListIssues, Malformed, UpdateIssue},
    present::{Answer, FindingRow, IssueUpdated, Issues},
    refusal::Refused,
};
use actors::{credentials::Authority, requests::FindingQuery};
use domain::{
    finding::{BadFinding, FindingNumber, FindingStatus, NewFinding, RawFinding, RequestedStatus, Severity},
    review::{Role, UpdateFinding},
};
use store::FindingFilter;

/// What a verdict brings, read and checked for what needs no look at the files.
pub(super) fn read(
    issues: Option<Vec<FindingArgs>>,
    suggestions: Option<Vec<FindingArgs>>,
) -> Result<Vec<NewFinding>, Stop> {
    let issues = issues.unwrap_or_default().into_iter().enumerate().map(|(n, args)| finding(args, true, "issues", n));
    let suggestions = suggestions.unwrap_or_default().into_iter().enumerate();
    let suggestions = suggestions.map(|(n, args)| finding(args, false, "suggestions", n));
    issues.chain(suggestions).collect()
}

fn finding(args: FindingArgs, is_issue: bool, list: &str, n: usize) -> Result<NewFinding, Stop> {
    let FindingArgs { kind, severity, file, line_start, line_end, title, description, .. } = args;
    let FindingArgs { code_snippet, suggestion, rule_ref, confidence, .. } = args;
    let told = RawFinding {
        kind,
        severity,
        file,
        line_start,
        line_end,
        title,
        description,
        code_snippet,
        suggestion,
        rule_ref,
        confidence,
    };
    let refused = |bad: BadFinding| {
        let field = format!("{list}[{n}].{}", bad.field);
        let refused = Refused::new(bad.code, format!("{field}: {}", bad.problem)).with("field", field);
        if bad.allowed.is_empty() { refused } else { refused.with("allowed", bad.allowed) }
    };
    Ok(told.read(is_issue).map_err(refused)?)
}

fn severity(field: &str, word: &str) -> Result<Severity, Refused> {
    Severity::parse(word).ok_or_else(|| {
        let allowed: Vec<_> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
        Refused::unknown_word("unknown_severity", field, word, &allowed)
    })
}

pub(super) async fn list(args: ListIssues, call: &Call<'_>) -> Done {
    let status = args.status.as_deref().map(|word| {
        FindingStatus::parse(word).ok_or_else(|| {
            let allowed: Vec<_> = FindingStatus::ALL.iter().map(|status| status.as_str()).collect();
            Refused::unknown_word("unknown_status", "status", word, &allowed)
        })
    });
    let review = match &args.review_id {
        Some(given) => Some(call.resolve(given).await?),
        None => None,
    };
    let filter = FindingFilter {
        review: None,
        status: status.transpose()?,
        severity: args.severity.as_deref().map(|word| severity("severity", word)).transpose()?,
        file: args.file,
        persona: args.persona,
        suggestions: args.include_suggestions.unwrap_or(false),
        project: call.who.own_project(),
    };
    let mut query = FindingQuery { review, filter, limit: args.limit, cursor: args.cursor };
    loop {
        let page = call.server.broker.findings(query.clone()).await?;
        let answer = Answer::of(&Issues {
            issues: page.items.iter().map(FindingRow::of_any).collect(),
            next_cursor: page.next_cursor.as_deref(),
        })?;
        let (rows, chars, room) = (page.items.len(), answer.text.chars().count(), call.server.settings.page_chars);
        if chars <= room || rows <= 1 {
            return Ok(answer);
        }
        // An answer no client cuts: where rows are long, fewer of them.
        query.limit = u32::try_from((rows * room / chars).clamp(1, rows - 1)).ok();
    }
}

pub(super) async fn update(args: UpdateIssue, call: &Call<'_>) -> Done {
    let wish = RequestedStatus::parse(&args.status).ok_or_else(|| {
        let allowed: Vec<_> = RequestedStatus::ALL.iter().map(|wish| wish.as_str()).collect();
        Refused::unknown_word("unknown_status", "status", &args.status, &allowed)
    })?;
    let number = number("issue_id", &args.issue_id)?;
    let duplicate_of = args.duplicate_of.as_deref().map(|given| self::number("duplicate_of", given)).transpose()?;
    let role = capacity(call, args.role.as_deref())?;
    let by = call.who.speaks_as("caller_id", args.caller_id)?;
    if role == Authority::Operator && by.is_none() && call.who.authority().is_none() {
        return Err(Malformed::missing("caller_id", "an operator without a token has to say who it is").into());
    }
    let id = call.resolve(&args.review_id).await?;
    let update = UpdateFinding { number, role, by, wish, duplicate_of, note: args.note };
    let review = call.server.broker.update_finding(id, update).await?;
    Ok(Answer::of(&IssueUpdated::of(&review, number))?)
}

fn number(field: &str, given: &str) -> Result<FindingNumber, Refused> {
    let bad =
        || Refused::invalid(field, &format!("{:?} is no issue; expected I-41", domain::text::truncate(given, 40)));
    FindingNumber::parse(given.trim()).ok_or_else(bad)
}

/// In which capacity the caller speaks: an operator where it says so and may, else one of the two sides.
fn capacity(call: &Call<'_>, given: Option<&str>) -> Result<Authority, Stop> {
    let authority = call.who.authority();
    let is_operator = match given {
        Some(word) => word == Authority::Operator.as_str(),
        None => authority == Some(Authority::Operator) && call.server.endpoint.role().is_none(),
    };
    if let Some(word) = given.filter(|word| Authority::parse(word).is_none()) {
        let allowed: Vec<_> = Authority::ALL.iter().map(|authority| authority.as_str()).collect();
        return Err(Refused::unknown_word("unknown_role", "role", word, &allowed).into());
    }
    if !is_operator {
        return Ok(match call.role("role", given)? {
            Role::Proposer => Authority::Proposer,
            Role::Reviewer => Authority::Reviewer,
        });
    }
    let own = match (call.server.endpoint.role(), authority) {
        (None, None | Some(Authority::Operator)) => return Ok(Authority::Operator),
        (Some(role), _) => role.as_str(),
        (None, Some(authority)) => authority.as_str(),
    };
    let error = format!("role: here you speak only as the {own}, not as an operator");
    Err(Refused::new("wrong_role", error).with("field", "role").with("allowed", vec![own]).into())
}
