/** What the charts show: numbers by day, and numbers by row. */
import { SEVERITIES } from "../../ui/Status";
import { count, type Daily, type Day, everyDay, money, type Stats, time } from "./model";
import type { PeriodName } from "./search";

/** The looks of the parts of a chart: the colour, and the mark in the legend. */
export type Look = "ok" | "bad" | "accent" | "warn" | "dim";

export interface Series {
  name: string;
  look: Look;
  /** One value for each day. `null`: unknown. */
  values: (number | null)[];
}

export interface DayFigures {
  title: string;
  kind: "stacked" | "lines";
  days: string[];
  series: Series[];
  /** A value in words. */
  format: (value: number) => string;
}

/** Numbers of each day, in the order of the page. */
export function dayFigures(name: PeriodName, daily: Daily, nowMs: number): DayFigures[] {
  const all = everyDay(name, daily, nowMs);
  const days = all.map(({ day }) => day);
  const counted = (of: (day: Day) => number) => all.map(({ figures }) => (figures === null ? 0 : of(figures)));
  const known = (of: (day: Day) => number | undefined) =>
    all.map(({ figures }) => (figures === null ? null : (of(figures) ?? null)));
  const open = (day: Day) => day.reviews - day.approved - day.rejected - day.cancelled;
  const issues = (names: readonly string[]) => (day: Day) =>
    names.reduce((sum, severity) => sum + (day.issues_by_severity[severity] ?? 0), 0);
  return [
    {
      title: "Reviews by outcome",
      kind: "stacked",
      days,
      format: count,
      series: [
        { name: "approved", look: "ok", values: counted((day) => day.approved) },
        { name: "rejected", look: "bad", values: counted((day) => day.rejected) },
        { name: "cancelled", look: "dim", values: counted((day) => day.cancelled) },
        { name: "not decided", look: "accent", values: counted(open) },
      ],
    },
    {
      title: "Time to the decision",
      kind: "lines",
      days,
      format: time,
      series: [
        { name: "median", look: "accent", values: known((day) => day.time_to_decision.p50_ms) },
        { name: "90 %", look: "warn", values: known((day) => day.time_to_decision.p90_ms) },
        { name: "95 %", look: "dim", values: known((day) => day.time_to_decision.p95_ms) },
      ],
    },
    {
      title: "Time to the first verdict",
      kind: "lines",
      days,
      format: time,
      series: [
        { name: "median", look: "accent", values: known((day) => day.time_to_verdict.p50_ms) },
        { name: "90 %", look: "warn", values: known((day) => day.time_to_verdict.p90_ms) },
        { name: "95 %", look: "dim", values: known((day) => day.time_to_verdict.p95_ms) },
      ],
    },
    {
      title: "Issues by severity",
      kind: "stacked",
      days,
      format: count,
      series: [
        { name: "critical and high", look: "bad", values: counted(issues(["critical", "high"])) },
        { name: "medium", look: "warn", values: counted(issues(["medium"])) },
        { name: "low", look: "dim", values: counted(issues(["low"])) },
      ],
    },
    {
      title: "Cost",
      kind: "stacked",
      days,
      format: money,
      series: [{ name: "cost", look: "accent", values: known((day) => day.cost_usd) }],
    },
  ];
}

/** The verdicts of each persona, by day. */
export function personaFigures(name: PeriodName, daily: Daily, nowMs: number): DayFigures[] {
  const all = everyDay(name, daily, nowMs);
  const of = (day: Day | null, persona: string) =>
    day?.personas?.find((each) => each.persona === persona)?.verdicts ?? 0;
  return (daily.personas ?? []).map((persona) => ({
    title: persona,
    kind: "stacked",
    days: all.map(({ day }) => day),
    format: count,
    series: [{ name: "verdicts", look: "accent", values: all.map(({ figures }) => of(figures, persona)) }],
  }));
}

export const FATES = ["fixed", "wont_fix", "disputed", "duplicate", "open"] as const;

export const FATE_WORDS: Record<(typeof FATES)[number], readonly [name: string, look: Look]> = {
  fixed: ["fixed", "ok"],
  wont_fix: ["won't fix", "dim"],
  disputed: ["disputed", "warn"],
  duplicate: ["duplicate", "accent"],
  open: ["open", "bad"],
};

/** For each severity that has issues: what has become of them, in the order of [FATES]. */
export function fateRows(issues: Stats["issues"]) {
  return SEVERITIES.map((severity) => ({
    severity,
    counts: FATES.map((fate) => issues.fates[severity]?.[fate] ?? 0),
  })).filter(({ counts }) => counts.some((each) => each > 0));
}

/** "18 Nov", the same in every time zone. */
export function dayWords(day: string): string {
  return new Date(day).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** The values of one day in words. */
export function dayText(figures: DayFigures, index: number): string {
  const values = figures.series.map(({ name, values: all }) => {
    const value = all[index];
    return `${name} ${value === null || value === undefined ? "—" : figures.format(value)}`;
  });
  return `${dayWords(figures.days[index] ?? "")}: ${values.join(", ")}`;
}

/** The largest number that a chart has to show. */
export function topOf({ kind, days, series }: DayFigures): number {
  const heights = days.flatMap((_, index) => {
    const values = series.map((each) => each.values[index] ?? 0);
    return kind === "stacked" ? [values.reduce((sum, value) => sum + value, 0)] : values;
  });
  return Math.max(0, ...heights);
}
