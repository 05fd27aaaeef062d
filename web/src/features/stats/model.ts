/** Statistics as the page shows them: periods, days without gaps, changes against the period before. */
import type { Answer } from "../../api/client";
import { duration } from "../../time";
import type { PeriodName } from "./search";

export type Stats = Answer<"get_review_stats">;
export type Daily = Answer<"get_daily_stats">;
export type Day = Daily["days"][number];

/** Charts say little about fewer reviews. */
export const CHARTS_FROM = 5;

/** The broker names no more days. */
const MAX_DAYS = 100;
const DAY_MS = 86_400_000;

const LENGTHS: Record<PeriodName, number | null> = { "7d": 7, "30d": 30, "90d": 90, all: null };

export interface Period {
  since?: string;
  until?: string;
}

/** A day in UTC, such as 2026-11-18. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Whole days, today included: the broker has their sums ready. */
export function periodFrom(name: PeriodName, nowMs: number): Period {
  const length = LENGTHS[name];
  return length === null ? {} : { since: dayOf(nowMs - (length - 1) * DAY_MS) };
}

/** The period of the same length before. `null`: there is none. */
export function periodBefore(name: PeriodName, nowMs: number): Period | null {
  const length = LENGTHS[name];
  if (length === null) return null;
  return { since: dayOf(nowMs - (2 * length - 1) * DAY_MS), until: dayOf(nowMs - (length - 1) * DAY_MS) };
}

/** Every day of the period up to today, with its figures if there are some. All time ends with the last review. */
export function everyDay(name: PeriodName, daily: Daily, nowMs: number): { day: string; figures: Day | null }[] {
  const first = daily.days[0]?.day ?? dayOf(nowMs);
  const since = periodFrom(name, nowMs).since ?? first;
  const known = new Map(daily.days.map((day) => [day.day, day]));
  const days: { day: string; figures: Day | null }[] = [];
  const newest = daily.days.at(-1)?.day ?? since;
  const last = name === "all" ? Date.parse(newest) : Math.max(Date.parse(dayOf(nowMs)), Date.parse(newest));
  const begin = Math.max(Date.parse(since), last - (MAX_DAYS - 1) * DAY_MS);
  for (let at = begin; at <= last; at += DAY_MS) {
    const day = dayOf(at);
    days.push({ day, figures: known.get(day) ?? null });
  }
  return days;
}

export function percent(rate: number | null | undefined): string {
  return rate === null || rate === undefined ? "—" : `${Math.round(rate * 100)} %`;
}

export function time(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "—";
  return ms > 0 && ms < 1_000 ? "under 1 s" : duration(ms);
}

export function money(usd: number | null | undefined): string {
  return usd === null || usd === undefined ? "—" : `$${usd.toFixed(usd < 100 ? 2 : 0)}`;
}

export const count = (number: number): string => number.toLocaleString("en");

/** How a number changed, in percent of the one before. `null`: it cannot be said. */
export function change(now: number | null | undefined, before: number | null | undefined): string | null {
  if (now === null || now === undefined || before === null || before === undefined || before === 0) return null;
  return signed(Math.round(((now - before) / before) * 100), "%");
}

/** How a rate changed, in points. */
export function changeOfRate(now: number | null | undefined, before: number | null | undefined): string | null {
  if (now === null || now === undefined || before === null || before === undefined) return null;
  return signed(Math.round((now - before) * 100), "points");
}

function signed(difference: number, unit: string): string {
  if (difference === 0) return "unchanged";
  return `${difference > 0 ? "+" : "−"}${Math.abs(difference)} ${unit}`;
}

export interface Tile {
  label: string;
  value: string;
  /** More about the value. */
  details?: string;
  change: string | null;
}

/** The figures of a period, with their changes against the one before. */
export function tilesOf(now: Stats, before: Stats | null): Tile[] {
  const { reviews, work, issues } = now;
  const old = before?.reviews;
  const spread = (times: { p90_ms?: number; p95_ms?: number }) =>
    `90 % in ${time(times.p90_ms)}, 95 % in ${time(times.p95_ms)}`;
  const { total, upheld, rejected } = issues.disputes;
  return [
    {
      label: "Reviews",
      value: count(reviews.total),
      details: `${count(reviews.escalated)} escalated`,
      change: change(reviews.total, old?.total),
    },
    {
      label: "Approval rate",
      value: percent(reviews.approval_rate),
      details: `${count(reviews.approved)} approved, ${count(reviews.rejected)} rejected, ${count(reviews.cancelled)} cancelled`,
      change: changeOfRate(reviews.approval_rate, old?.approval_rate),
    },
    {
      label: "Approved in the first round",
      value: percent(reviews.first_round_rate),
      details: `${reviews.rounds.mean.toFixed(1)} rounds on average, ${reviews.rounds.max} at most`,
      change: changeOfRate(reviews.first_round_rate, old?.first_round_rate),
    },
    {
      label: "Time to the first verdict",
      value: time(reviews.time_to_verdict.p50_ms),
      details: spread(reviews.time_to_verdict),
      change: change(reviews.time_to_verdict.p50_ms, old?.time_to_verdict.p50_ms),
    },
    {
      label: "Time to the decision",
      value: time(reviews.time_to_decision.p50_ms),
      details: spread(reviews.time_to_decision),
      change: change(reviews.time_to_decision.p50_ms, old?.time_to_decision.p50_ms),
    },
    {
      label: "Issues",
      value: count(issues.total),
      details: issues.suggestions === 1 ? "1 suggestion" : `${count(issues.suggestions)} suggestions`,
      change: change(issues.total, before?.issues.total),
    },
    {
      label: "Disputes upheld",
      value: percent(issues.disputes.upheld_rate),
      details: `${count(total)} disputed: ${count(upheld)} upheld, ${count(rejected)} rejected`,
      change: changeOfRate(issues.disputes.upheld_rate, before?.issues.disputes.upheld_rate),
    },
    {
      label: "Cost",
      value: money(work.cost_usd),
      details: costDetails(now),
      change: change(work.cost_usd, before?.work.cost_usd),
    },
  ];
}

function costDetails({ work, cost_per_approval_usd }: Stats): string {
  if (work.cost_usd === undefined) return "No verdict reports a cost.";
  const known =
    work.verdicts_with_cost === work.verdicts
      ? ""
      : `, from ${count(work.verdicts_with_cost)} of ${count(work.verdicts)} verdicts`;
  return `${money(cost_per_approval_usd)} for each approval${known}`;
}
