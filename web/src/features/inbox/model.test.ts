import { expect, test } from "vitest";
import type { ReviewRow, StatsResponse, Turn } from "../../api/generated";
import type { Pool } from "../../pool";
import { daySentence, doneMark, inboxOf, isDoneMarks, outcomeWords, startOfDay, withMark } from "./model";

const ann = { name: "ann", isOperator: true };
const noon = Date.parse("2026-01-02T12:00:00Z");
const midnight = Date.parse("2026-01-02T00:00:00Z");

const turn = (changes: Partial<Turn>): Turn => ({
  who: "reviewer",
  name: "ann",
  why: "reviewing",
  since: "2026-01-02T11:00:00Z",
  tool: "submit_verdict",
  ...changes,
});
const free: Turn = { who: "reviewer", why: "unclaimed", since: "2026-01-02T08:00:00Z", tool: "claim_review" };
const escalated: Turn = { who: "operator", why: "escalated", since: "2026-01-02T11:30:00Z", tool: "add_message" };

const row = (id: string, changes: Partial<ReviewRow> = {}): ReviewRow => ({
  id,
  review_id: id,
  number: `R-${id}`,
  intent: "Title",
  status: "in_review",
  version: 1,
  current_round: 1,
  agent_type: "claude-code",
  agent_role: "executor",
  phase: "work",
  priority: "normal",
  has_diff: true,
  has_counter_patch: false,
  message_count: 0,
  created_at: "2026-01-02T10:00:00Z",
  updated_at: "2026-01-02T11:00:00Z",
  waiting_on: [turn({})],
  ...changes,
});
const pool = (state: string) => ({ state }) as Pool;
const ids = (items: { row: ReviewRow }[]) => items.map((item) => item.row.review_id);
const inbox = (
  mine: ReviewRow[],
  changes: { pool?: Pool | null; marks?: Record<string, string>; open?: ReviewRow[] } = {},
) =>
  inboxOf({ mine, open: changes.open ?? mine, decided: [] }, ann, changes.pool ?? null, changes.marks ?? {}, midnight);

test("escalations come first, then what waits for this person by name, then free seats; the longest wait first", () => {
  const mine = [
    row("free", { waiting_on: [free] }),
    row("late", { waiting_on: [turn({ since: "2026-01-02T11:50:00Z" })] }),
    row("early", { waiting_on: [turn({ since: "2026-01-02T09:00:00Z" })] }),
    row("urgent", { priority: "critical" }),
    row("escalated", { waiting_on: [escalated] }),
  ];
  expect(ids(inbox(mine).needsMe)).toEqual(["escalated", "urgent", "early", "late", "free"]);
});

test("a free seat needs the person only while no reviewer of the broker takes it", () => {
  const mine = [row("1", { waiting_on: [free] })];
  for (const state of ["ready", "starting", "backing_off"]) {
    const { needsMe, running } = inbox(mine, { pool: pool(state) });
    expect([needsMe.length, ids(running)], state).toEqual([0, ["1"]]);
  }
  for (const state of ["disabled", "crash_loop", "unavailable"]) {
    expect(ids(inbox(mine, { pool: pool(state) }).needsMe), state).toEqual(["1"]);
  }
});

test("no review stands in two lists", () => {
  const both = [row("1"), row("2", { waiting_on: [turn({ name: "bob" })] })];
  const { needsMe, running } = inbox([row("1")], { open: both });
  expect([ids(needsMe), ids(running)]).toEqual([["1"], ["2"]]);
});

test("what is done stays away until something changes", () => {
  const before = row("1");
  const marks = withMark({}, "1", doneMark(before));
  expect(ids(inbox([before], { marks }).done)).toEqual(["1"]);
  expect(ids(inbox([before], { marks }).needsMe)).toEqual([]);
  // A reviewer that goes on reading moves the version, nothing else.
  expect(ids(inbox([{ ...before, version: 9 }], { marks }).done)).toEqual(["1"]);
  for (const changed of [
    { message_count: 1 },
    { current_round: 2 },
    { status: "changes_requested" as const },
    { waiting_on: [turn({ since: "2026-01-02T11:59:00Z" })] },
  ]) {
    expect(ids(inbox([{ ...before, ...changed }], { marks }).needsMe)).toEqual(["1"]);
  }
  expect(ids(inbox([before], { marks: withMark(marks, "1", null) }).needsMe)).toEqual(["1"]);
});

test("old marks are forgotten, and junk in the storage is refused", () => {
  let marks = {};
  for (let n = 0; n < 400; n += 1) marks = withMark(marks, `id-${n}`, "x");
  expect(Object.keys(marks)).toHaveLength(300);
  expect(marks).toHaveProperty("id-399");
  expect([null, 1, "x", { a: 1 }].map(isDoneMarks)).toEqual([false, false, false, false]);
  expect(isDoneMarks(marks)).toBe(true);
});

test("only what was decided today is listed", () => {
  const decided = [
    row("old", { status: "closed", updated_at: "2026-01-01T23:00:00Z" }),
    row("new", { status: "approved" }),
  ];
  const { decided: shown } = inboxOf({ mine: [], open: [], decided }, ann, null, {}, midnight);
  expect(ids(shown)).toEqual(["new"]);
  expect(startOfDay(noon)).toBeLessThanOrEqual(noon);
  expect(noon - startOfDay(noon)).toBeLessThan(86_400_000);
});

test("outcomes in words, by what was decided", () => {
  const items = [
    row("1", { status: "approved" }),
    row("2", { status: "closed", verdict: "approved" }),
    row("3", { status: "closed", verdict: "rejected" }),
    row("4", { status: "cancelled" }),
    row("5", { status: "closed" }),
  ].map((each) => ({ row: each, turns: [] }));
  expect(outcomeWords(items)).toBe("2 approved · 1 rejected · 1 cancelled · 1 closed");
});

const stats = (reviews: object, more: object = {}) =>
  ({
    reviews: { total: 0, approved: 0, rejected: 0, cancelled: 0, escalated: 0, time_to_decision: {}, ...reviews },
    issues: { total: 0 },
    work: { cost_usd: 0 },
    ...more,
  }) as StatsResponse;

test("the day in a sentence", () => {
  expect(daySentence(stats({}))).toBeNull();
  expect(daySentence(stats({ total: 1 }))).toBe("1 review in the last 24 hours.");
  expect(
    daySentence(
      stats(
        { total: 1_204, approved: 9, rejected: 2, first_round_rate: 7 / 9, time_to_decision: { p50_ms: 220_000 } },
        { issues: { total: 1 }, work: { cost_usd: 1.839 } },
      ),
    ),
  ).toBe(
    "1,204 reviews in the last 24 hours: 9 approved (7 in the first round), 2 rejected, 1 finding, $1.84. Half were decided within 3 min.",
  );
  expect(daySentence(stats({ total: 2, approved: 2, first_round_rate: 1 }))).toContain(
    "2 approved (all in the first round)",
  );
});
