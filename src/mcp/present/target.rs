//! Where a diff was taken from.

use super::content::bounded;
use crate::mcp::schema;
use domain::review::{ReviewTarget, TargetCommit, TargetKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

const MAX_COMMITS_CHARS: usize = 8_000;

/// The branch, commit or range that was named, and the commits that meant.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct TargetRow<'a> {
    #[schemars(schema_with = "schema::target_kind")]
    pub kind: TargetKind,
    pub name: &'a str,
    /// The base that was named, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_name: Option<&'a str>,
    /// The commit the diff begins at; absent: the empty tree before a first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<&'a str>,
    /// The commit the diff leads to.
    pub head: &'a str,
    /// The newest of them. Their subjects are their authors' words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "commits")]
    pub commits: Vec<&'a TargetCommit>,
    /// How many head has and base has not.
    pub commits_total: u64,
}

impl<'a> TargetRow<'a> {
    pub(in crate::mcp) fn of(target: &'a ReviewTarget) -> Self {
        Self { commits: bounded(&target.commits, usize::MAX, MAX_COMMITS_CHARS), ..Self::brief(target) }
    }

    /// Without the commits one by one.
    pub(in crate::mcp) fn brief(target: &'a ReviewTarget) -> Self {
        Self {
            kind: target.kind,
            name: &target.name,
            base_name: target.base_name.as_deref(),
            base: target.base.as_deref(),
            head: &target.head,
            commits: Vec::new(),
            commits_total: target.commits_total,
        }
    }

    /// With the newest few, beside other things.
    pub(in crate::mcp) fn short(target: &'a ReviewTarget) -> Self {
        const FEW: usize = 20;
        Self { commits: bounded(&target.commits, FEW, MAX_COMMITS_CHARS), ..Self::brief(target) }
    }
}

fn commits(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": { "id": { "type": "string" }, "subject": { "type": "string" } },
            "required": ["id", "subject"],
        },
    })
}
