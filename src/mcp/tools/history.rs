//! The past: activity, the audit log, a review's story, figures.

use super::{Call, Done, Stop, moment};
use crate::mcp::{
    args::{GetActivityFeed, GetAuditLog, GetReviewStats, GetReviewTimeline},
    present::{Activity, ActivityRow, Answer, Audit, AuditRow, Figures, Timeline, TimelineStep},
    refusal::Refused,
};
use actors::requests::HistoryQuery;
use domain::{
    event_kind::EventKind,
    query::{EventOrder, GroupBy},
    time::Timestamp,
};
use store::{EventFilter, EventRecord, stats::Period};

/// Events of one page of a timeline, at most.
const MAX_STEPS: u32 = 200;

pub(super) async fn activity(args: GetActivityFeed, call: &Call<'_>) -> Done {
    let project = project(args.project, call)?;
    let filter = EventFilter { activity: true, project, ..EventFilter::default() };
    let (limit, cursor) = (args.limit, args.cursor);
    let query = HistoryQuery { review: None, filter, order: EventOrder::Newest, limit, cursor };
    fitted(query, call, |rows, next_cursor| {
        Answer::of(&Activity { entries: rows.iter().map(ActivityRow::of).collect(), next_cursor })
    })
    .await
}

pub(super) async fn audit(args: GetAuditLog, call: &Call<'_>) -> Done {
    let kind = args.kind.as_deref().map(|word| {
        let allowed: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        EventKind::parse(word).ok_or_else(|| Refused::unknown_word("unknown_kind", "kind", word, &allowed))
    });
    let order = args.order.as_deref().map(|word| {
        let allowed: Vec<_> = EventOrder::ALL.iter().map(|order| order.as_str()).collect();
        EventOrder::parse(word).ok_or_else(|| Refused::unknown_word("unknown_order", "order", word, &allowed))
    });
    let (kind, order) = (kind.transpose()?, order.transpose()?.unwrap_or(EventOrder::Newest));
    let (since, until) = period(args.since.as_deref(), args.until.as_deref(), now())?;
    let project = project(args.project, call)?;
    let review = match &args.review_id {
        Some(given) => Some(call.resolve(given).await?),
        None => None,
    };
    let filter = EventFilter { review: None, actor: args.actor, kind, activity: false, project, since, until };
    let query = HistoryQuery { review, filter, order, limit: args.limit, cursor: args.cursor };
    fitted(query, call, |rows, next_cursor| {
        Answer::of(&Audit { events: rows.iter().map(AuditRow::of).collect(), next_cursor })
    })
    .await
}

/// A page as an answer no client cuts: where rows are long, fewer of them.
async fn fitted(
    mut query: HistoryQuery,
    call: &Call<'_>,
    show: impl Fn(&[EventRecord], Option<&str>) -> Result<Answer, serde_json::Error>,
) -> Done {
    loop {
        let page = call.server.broker.history(query.clone()).await?;
        let answer = show(&page.items, page.next_cursor.as_deref())?;
        let (rows, chars, room) = (page.items.len(), answer.text.chars().count(), call.server.settings.page_chars);
        if chars <= room || rows <= 1 {
            return Ok(answer);
        }
        query.limit = u32::try_from((rows * room / chars).clamp(1, rows - 1)).ok();
    }
}

pub(super) async fn timeline(args: GetReviewTimeline, call: &Call<'_>) -> Done {
    let after = match args.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| Refused::bad_cursor("timeline"))?,
        None => 0,
    };
    let id = call.resolve(&args.review_id).await?;
    let broker = &call.server.broker;
    let review = broker.review(id).await?;
    let steps = broker.steps(id, after, MAX_STEPS).await?;
    let (mut room, mut shown) = (call.server.settings.page_chars, Vec::new());
    for step in &steps {
        let step = TimelineStep::of(step);
        let chars = serde_json::to_string(&step)?.chars().count();
        // The first is always shown, so that every page gets further.
        if chars > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(chars);
        shown.push(step);
    }
    let all = shown.len() == steps.len()
        && steps.last().and_then(|last| last.event.review()).is_none_or(|last| last.2 >= review.version);
    Ok(Answer::of(&Timeline::of(&review, shown, all))?)
}

pub(super) async fn stats(args: GetReviewStats, call: &Call<'_>) -> Done {
    let by = args.group_by.as_deref().map(|word| {
        let allowed: Vec<_> = GroupBy::ALL.iter().map(|by| by.as_str()).collect();
        GroupBy::parse(word).ok_or_else(|| Refused::unknown_word("unknown_group_by", "group_by", word, &allowed))
    });
    let (by, now) = (by.transpose()?.unwrap_or(GroupBy::None), now());
    let (since, until) = period(args.since.as_deref(), args.until.as_deref(), now)?;
    let period = Period { project: project(args.project, call)?, since, until, now };
    let mut stats = call.server.broker.stats(period.clone(), by).await?;
    loop {
        let answer = Answer::of(&Figures::of(&stats, &period, by))?;
        let (groups, chars, room) = (stats.groups.len(), answer.text.chars().count(), call.server.settings.page_chars);
        if chars <= room || groups == 0 {
            return Ok(answer);
        }
        // An answer no client cuts: the busiest of them, or the latest days.
        let kept = (groups * room / chars).min(groups - 1);
        stats.groups.truncate(kept);
        stats.more_groups += groups - kept;
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

fn period(
    since: Option<&str>,
    until: Option<&str>,
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>), Refused> {
    let since = since.map(|given| moment::read("since", given, now)).transpose()?;
    let until = until.map(|given| moment::read("until", given, now)).transpose()?;
    match (since, until) {
        (Some(since), Some(until)) if since >= until => {
            Err(Refused::invalid("until", "is not after since, so nothing lies between them"))
        }
        between => Ok(between),
    }
}

/// The project that is asked for, cut to what the caller's token is good for; `None`: all.
fn project(given: Option<String>, call: &Call<'_>) -> Result<Option<Option<String>>, Stop> {
    if let Some(project) = &given {
        call.who.may_read_project(project)?;
        call.server.broker.known_project(project)?;
        return Ok(Some(given));
    }
    Ok(call.who.own_project())
}
