//! Webhooks, for operators: who is told, how far, what is dead, and what becomes of that.

use super::{Api, Asked, arguments::malformed, routes::OfHooks};
use crate::{
    mcp::{Answer, Failure, Refused, Who, Whose, moment},
    webhooks::HookView,
};
use actors::{BrokerError, credentials::Scope};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::{DeadDelivery, DeliverySelector};

const ROWS: u32 = 50;
const MAX_ROWS: u32 = 200;
const MAX_SEQS: usize = 1000;

/// Who is told of events by POST.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Webhooks")]
pub(super) struct Hooks {
    webhooks: Vec<HookView>,
}

/// Events that a webhook could not be told.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeadDeliveries")]
pub(super) struct Dead {
    dead: Vec<DeadRow>,
    /// There are more: give it as cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DeadRow {
    /// The event's place in the log.
    seq: u64,
    kind: String,
    /// The review it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<String>,
    attempts: u32,
    last_error: String,
    at: String,
    /// It will be tried again.
    waiting: bool,
}

impl From<DeadDelivery> for DeadRow {
    fn from(dead: DeadDelivery) -> Self {
        Self {
            seq: dead.seq,
            kind: dead.kind,
            number: dead.review.map(|number| number.to_string()),
            attempts: dead.attempts,
            last_error: dead.error,
            at: moment(dead.died_at),
            waiting: dead.again,
        }
    }
}

/// What became of dead deliveries.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeadDeliveriesDone")]
pub(super) struct Done {
    webhook: String,
    /// How many it concerns.
    count: u64,
}

impl Api {
    pub(super) async fn hooks(&self, asked: &Asked, act: OfHooks) -> Result<Answer, Failure> {
        let who = self.who(asked);
        who.may_use(asked.operation.id, Whose::Operators).map_err(Failure::Refused)?;
        let arguments = &asked.arguments;
        let answer = match act {
            OfHooks::List => Answer::of(&self.list_hooks(arguments, who).await?),
            OfHooks::Dead => Answer::of(&self.list_dead(arguments, who).await?),
            OfHooks::Redeliver | OfHooks::Drop => Answer::of(&self.change_dead(arguments, act, who).await?),
        };
        answer.map_err(|_| Failure::Internal)
    }

    /// A token that is good for one project sees the hooks of that project.
    async fn list_hooks(&self, arguments: &JsonObject, who: Who<'_>) -> Result<Hooks, Failure> {
        if let Some(name) = arguments.keys().next() {
            return Err(bad(name, "unknown field; there are none"));
        }
        let mut webhooks = self.webhooks.list().await.map_err(refused)?;
        if let Some(scope @ Scope::Project(_)) = who.scope() {
            webhooks.retain(|hook| hook.project.is_some() && scope.allows(hook.project.as_deref()));
        }
        Ok(Hooks { webhooks })
    }

    async fn list_dead(&self, arguments: &JsonObject, who: Who<'_>) -> Result<Dead, Failure> {
        let (mut name, mut after, mut limit) = ("", 0, ROWS);
        for (field, value) in arguments {
            let value = value.as_str().ok_or_else(|| bad(field, "expected one value"))?;
            match field.as_str() {
                "webhook" => name = value,
                "cursor" => after = value.parse().map_err(|_| refused(BrokerError::BadCursor))?,
                "limit" => {
                    let number = value.parse().ok().filter(|rows| (1..=MAX_ROWS).contains(rows));
                    limit = number.ok_or_else(|| bad("limit", &format!("expected 1 to {MAX_ROWS}")))?;
                }
                other => return Err(bad(other, "unknown field; there are limit and cursor")),
            }
        }
        self.known_hook(name, who).await?;
        let mut rows = self.webhooks.dead(name, after, limit + 1).await.map_err(refused)?;
        let has_more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = rows.last().filter(|_| has_more).map(|last| last.seq.to_string());
        Ok(Dead { dead: rows.into_iter().map(DeadRow::from).collect(), next_cursor })
    }

    async fn change_dead(&self, arguments: &JsonObject, act: OfHooks, who: Who<'_>) -> Result<Done, Failure> {
        let (name, which) = chosen(arguments)?;
        let is_configured = self.known_hook(&name, who).await?;
        let count = if act == OfHooks::Drop {
            self.webhooks.drop_dead(&name, which).await
        } else if is_configured {
            self.webhooks.redeliver(&name, which).await
        } else {
            let error = format!("{name:?} is not configured any more; drop what it has left, or configure it again");
            return Err(Failure::Refused(Refused::invalid("webhook", &error)));
        };
        Ok(Done { webhook: name, count: count.map_err(refused)? })
    }

    /// Whether it is still configured; refused where there is none, or the caller may not see it.
    async fn known_hook(&self, name: &str, who: Who<'_>) -> Result<bool, Failure> {
        let is_bound = matches!(who.scope(), Some(Scope::Project(_)));
        if let Some(project) = self.webhooks.project_of(name) {
            // One for all projects tells of others, too.
            return match (is_bound, project) {
                (true, None) => Err(unknown(name, &[])),
                (true, project) => who.may_touch_project(project).map(|()| true).map_err(Failure::Refused),
                (false, _) => Ok(true),
            };
        }
        let known: Vec<_> = self.webhooks.list().await.map_err(refused)?.into_iter().map(|hook| hook.name).collect();
        match !is_bound && known.iter().any(|other| other == name) {
            true => Ok(false),
            false => Err(unknown(name, if is_bound { &[] } else { &known })),
        }
    }
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let name = domain::text::truncate(name, 80);
    let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Failure::Refused(Refused::new("unknown_webhook", format!("no webhook {name:?}; there are: {there}")))
}

/// The hook, and which of its dead: one of two ways to say it, so that nobody drops all by leaving something out.
fn chosen(arguments: &JsonObject) -> Result<(String, DeliverySelector), Failure> {
    let (mut name, mut which) = (String::new(), None);
    for (field, value) in arguments {
        let chosen = match field.as_str() {
            "webhook" => {
                name = value.as_str().unwrap_or_default().to_owned();
                continue;
            }
            "all" if *value == Value::Bool(true) => DeliverySelector::All,
            "all" => return Err(bad("all", "expected true, or seqs instead of it")),
            "seqs" => DeliverySelector::Seqs(seqs(value).ok_or_else(|| {
                bad("seqs", &format!("expected a list of 1 to {MAX_SEQS} places in the log, such as [12, 15]"))
            })?),
            other => return Err(bad(other, "unknown field; there are seqs and all")),
        };
        if which.replace(chosen).is_some() {
            return Err(bad("seqs", "give either seqs or all"));
        }
    }
    let which = which.ok_or_else(|| bad("seqs", "missing; give seqs, or all = true"))?;
    Ok((name, which))
}

fn seqs(value: &Value) -> Option<Vec<u64>> {
    let seqs = value.as_array().filter(|list| (1..=MAX_SEQS).contains(&list.len()))?;
    // What no row can have would not go into a query.
    seqs.iter().map(|seq| seq.as_u64().filter(|seq| i64::try_from(*seq).is_ok())).collect()
}

fn bad(field: &str, problem: &str) -> Failure {
    Failure::Malformed(malformed(field, problem))
}

fn refused(error: BrokerError) -> Failure {
    Failure::Refused(error.into())
}
