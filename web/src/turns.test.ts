import { expect, test } from "vitest";
import type { Escalation, Turn, TurnReason } from "./api/generated";
import { escalationWords, isOpenToAll, myTurnWords, turnKey, turnsOf, waitingWords } from "./turns";

const turn = (changes: Partial<Turn>): Turn => ({
  who: "reviewer",
  why: "reviewing",
  since: "2026-01-01T12:00:00Z",
  tool: "submit_verdict",
  ...changes,
});
const review = (...waiting_on: Turn[]) => ({ waiting_on, agent_type: "claude-code", proposer_id: "builder" });
const ann = { name: "ann", isOperator: false };
const operator = { name: "ann", isOperator: true };

test("a turn with a name is that party's alone", () => {
  const mine = turn({ name: "ann" });
  const others = turn({ name: "bob" });
  expect(turnsOf(review(mine, others), ann)).toEqual([mine]);
});

test("the author cannot take a seat of its own review", () => {
  const free = turn({ why: "unclaimed" });
  expect(turnsOf(review(free), { ...ann, name: "builder" })).toEqual([]);
  expect(turnsOf({ ...review(free), proposer_id: undefined as never }, { ...ann, name: "claude-code" })).toEqual([]);
  expect(turnsOf(review(turn({ who: "proposer", name: "builder" })), { ...ann, name: "builder" })).toHaveLength(1);
});

test("a free seat is for those who hold none", () => {
  const free = turn({ why: "unclaimed" });
  expect(turnsOf(review(free), ann)).toEqual([free]);
  expect(isOpenToAll(free)).toBe(true);
  const holding = { ...review(free), seats: [{ persona: "security", claimed_by: "ann", has_counter_patch: false }] };
  expect(turnsOf(holding, ann)).toEqual([]);
  expect(isOpenToAll(turn({ why: "unclaimed", name: "ann" }))).toBe(false);
});

test("an escalation is for operators", () => {
  const escalated = turn({ who: "operator", why: "escalated" });
  expect(turnsOf(review(escalated), ann)).toEqual([]);
  expect(turnsOf(review(escalated), operator)).toEqual([escalated]);
});

test("a key changes only when the turn is another one", () => {
  expect(turnKey("id", turn({}))).toBe(turnKey("id", turn({})));
  expect(turnKey("id", turn({}))).not.toBe(turnKey("id", turn({ since: "2026-01-01T12:01:00Z" })));
  expect(turnKey("id", turn({}))).not.toBe(turnKey("other", turn({})));
});

const REASONS: TurnReason[] = [
  "unclaimed",
  "reviewing",
  "message",
  "issue_answered",
  "counter_patch_offered",
  "counter_patch_accepted",
  "counter_patch_rejected",
  "changes_requested",
  "diff_does_not_apply",
  "approved",
  "rejected",
  "cancelled",
  "escalated",
];
const ESCALATIONS: Escalation[] = [
  "max_rounds",
  "max_minutes",
  "max_cost_usd",
  "oscillating_findings",
  "max_exchanges",
  "could_not_review",
];

test("every reason has words, for the one who must act and for those who wait", () => {
  const mine = REASONS.map((why) => myTurnWords(turn({ why, name: "ann" }), {}));
  expect(new Set(mine).size).toBe(REASONS.length);
  for (const why of REASONS) {
    const words = waitingWords({ waiting_on: [turn({ why, name: "bob" })] });
    expect(words, why).not.toBe("");
    expect(words, why).not.toContain("undefined");
  }
  expect(new Set(ESCALATIONS.map(escalationWords)).size).toBe(ESCALATIONS.length);
});

test("the seat is named where there can be several", () => {
  expect(myTurnWords(turn({ name: "ann", seat: "security" }), {})).toBe("your vote is missing (security)");
  expect(myTurnWords(turn({ name: "ann", seat: "general" }), {})).toBe("your vote is missing");
});

test("a review that waits for many is described in a few words", () => {
  const turns = ["r1", "r2", "r3", "r4"].map((name) => turn({ name }));
  expect(waitingWords({ waiting_on: turns })).toBe("r1 reviews, r2 reviews +2");
  expect(waitingWords({ waiting_on: [turn({ why: "unclaimed" }), turn({ why: "unclaimed" })] })).toBe(
    "waits for a reviewer",
  );
  expect(waitingWords({ waiting_on: [] })).toBe("");
});
