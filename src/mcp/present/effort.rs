//! What a review took: in all, and by reviewer and round.

use schemars::JsonSchema;
use serde::Serialize;
use store::ReviewCost;

const MAX_ROWS: usize = 50;

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct EffortTotals<'a> {
    pub verdicts: u64,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The latest of them, where there are very many.
    pub by_reviewer: Vec<EffortRow<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct EffortRow<'a> {
    pub round: u32,
    pub persona: &'a str,
    pub reviewer_id: &'a str,
    pub verdicts: u64,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl<'a> EffortTotals<'a> {
    /// `None` before the first verdict.
    pub(in crate::mcp) fn of(efforts: &'a [ReviewCost]) -> Option<Self> {
        let sum = |count: fn(&ReviewCost) -> u64| efforts.iter().map(count).fold(0, u64::saturating_add);
        let latest = efforts.len().saturating_sub(MAX_ROWS);
        (!efforts.is_empty()).then(|| Self {
            verdicts: sum(|effort| effort.verdicts),
            duration_ms: sum(|effort| effort.duration_ms),
            cost_usd: efforts.iter().map(|effort| effort.cost_usd).sum(),
            input_tokens: sum(|effort| effort.input_tokens),
            output_tokens: sum(|effort| effort.output_tokens),
            by_reviewer: efforts.iter().skip(latest).map(EffortRow::of).collect(),
        })
    }
}

impl<'a> EffortRow<'a> {
    fn of(effort: &'a ReviewCost) -> Self {
        Self {
            round: effort.round,
            persona: &effort.persona,
            reviewer_id: &effort.by,
            verdicts: effort.verdicts,
            duration_ms: effort.duration_ms,
            cost_usd: effort.cost_usd,
            input_tokens: effort.input_tokens,
            output_tokens: effort.output_tokens,
        }
    }
}
