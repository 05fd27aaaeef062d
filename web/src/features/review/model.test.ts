import { describe, expect, test } from "vitest";
import type { Turn } from "../../api/generated";
import {
  changesBetween,
  freeSeats,
  partyTurns,
  permissions,
  recipients,
  reviewName,
  ruleWords,
  seatChoices,
} from "./model";
import { ann, bob, builder, review, seat } from "./sample";

const turn = (more: Partial<Turn>): Turn => ({
  who: "reviewer",
  why: "reviewing",
  tool: "submit_verdict",
  since: "2026-11-18T08:00:00Z",
  ...more,
});

test("whose turn it is, in words, one entry for each party", () => {
  const words = (...turns: Turn[]) => partyTurns(turns).map(({ who, tasks }) => `${who}: ${tasks.join(", ")}`);
  expect(words(turn({ name: "bob", seat: "security" }))).toEqual(["bob: vote for security"]);
  expect(words(turn({ why: "unclaimed", seat: "tests", tool: "claim_review" }))).toEqual([
    "a reviewer: take the seat tests",
  ]);
  expect(words(turn({ why: "message", seat: "tests", tool: "claim_review" }))).toEqual([
    "a reviewer: take the seat tests",
  ]);
  expect(
    words(
      turn({ who: "proposer", name: "builder", why: "counter_patch_offered", seat: "a", tool: "accept_counter_patch" }),
      turn({ who: "operator", why: "escalated", tool: "add_message" }),
      turn({ who: "proposer", name: "builder", why: "message", tool: "add_message" }),
    ),
  ).toEqual(["builder: accept or reject the counter-patch of a, answer a message", "an operator: decide how to go on"]);
});

test("a party waits since its first turn", () => {
  const early = turn({ name: "bob", since: "2026-11-18T07:00:00Z", why: "message", tool: "add_message" });
  expect(partyTurns([turn({ name: "bob" }), early])[0]?.since).toBe("2026-11-18T07:00:00Z");
});

describe("seats", () => {
  test("reserved seats and those of others by name are not free", () => {
    const seats = [seat("a", { claimed_by: "x" }), seat("b", { reserved_for: "x" }), seat("@x"), seat("c")];
    expect(freeSeats(review({ seats }), ann).map(({ persona }) => persona)).toEqual(["c"]);
    expect(freeSeats(review({ seats: [...seats, seat("@ann")] }), ann).map(({ persona }) => persona)).toEqual(["@ann"]);
  });

  test("a vote takes the own seat, else a free one, else an operator takes one over or adds one", () => {
    const how = (of: ReturnType<typeof review>, who = ann) =>
      seatChoices(of, who).map((one) => `${one.how} ${one.persona}`);
    expect(how(review({ seats: [seat("a", { claimed_by: "ann" }), seat("b")] }))).toEqual(["mine a"]);
    const half = review({ status: "in_review", seats: [seat("a", { claimed_by: "x" }), seat("b")] });
    expect(how(half)).toEqual(["claim b", "take_over a", "add @ann"]);
    expect(how(half, bob)).toEqual(["claim b"]);
    expect(how(half, builder)).toEqual([]);
    expect(how(review({ status: "changes_requested", seats: [seat("a", { claimed_by: "x" })] }))).toEqual([
      "take_over a",
    ]);
    expect(how(review({ status: "approved", seats: [seat("a", { claimed_by: "x" })] }))).toEqual(["add @ann"]);
    expect(how(review({ status: "closed" }))).toEqual([]);
  });
});

describe("permissions", () => {
  const allowed = (...args: Parameters<typeof permissions>) =>
    Object.entries(permissions(...args))
      .filter(([, why]) => why === null)
      .map(([act]) => act);

  test("a person without a token may act for both sides", () => {
    expect(allowed(review(), ann)).toEqual([
      "vote",
      "comment",
      "take_seat",
      "add_seat",
      "message",
      "resubmit",
      "cancel",
    ]);
  });

  test("a reviewer with a seat votes and gives it back, until it has voted", () => {
    const held = review({ status: "claimed", seats: [seat("general", { claimed_by: "bob" })] });
    expect(allowed(held, bob)).toEqual(["vote", "comment", "release", "message"]);
    const voted = review({ status: "approved", seats: [seat("general", { claimed_by: "bob", verdict: "approved" })] });
    expect(allowed(voted, bob)).toEqual(["vote", "comment", "message"]);
  });

  test("a proposer does not review", () => {
    expect(allowed(review(), builder)).toEqual(["add_seat", "message", "resubmit", "cancel"]);
    expect(permissions(review(), builder).vote).toMatch(/You proposed it/);
    const approved = review({ status: "approved" });
    expect(allowed(approved, builder)).toContain("close");
    const patched = review({ status: "changes_requested", seats: [seat("a", { has_counter_patch: true })] });
    expect(allowed(patched, builder)).toContain("decide_patch");
  });

  test("a refusal says who may", () => {
    expect(permissions(review(), bob).cancel).toMatch(/builder/);
    const full = review({ status: "in_review", seats: [seat("a", { claimed_by: "x" })] });
    expect(permissions(full, bob).vote).toMatch(/taken \(x\)/);
    expect(permissions(review({ status: "closed" }), ann).message).not.toBeNull();
  });
});

test("whom a person can write to", () => {
  const keysOf = (...args: Parameters<typeof recipients>) => recipients(...args).map(({ key }) => key);
  const two = review({ seats: [seat("a", { claimed_by: "bob" }), seat("b")] });
  expect(keysOf(two, bob)).toEqual(["seat"]);
  expect(keysOf(two, builder)).toEqual(["reviewers", "proposer-a", "proposer-b"]);
  expect(keysOf(two, ann)).toEqual(["everyone", "to-proposer", "to-reviewers", "operator-a", "operator-b"]);
  expect(keysOf(review({ status: "rejected" }), ann)).toContain("everyone");
  expect(keysOf(review({ status: "closed" }), ann)).toEqual([]);
});

test("what changed while a form was open", () => {
  const before = review({ status: "claimed", seats: [seat("general", { claimed_by: "ann", claim_generation: 2 })] });
  const revised = review({
    ...before,
    current_round: 2,
    content_hash: "cccc",
    status: "pending",
    seats: [seat("general")],
    message_count: 2,
  });
  expect(changesBetween(before, revised, ann)).toEqual([
    "Round 2 has replaced round 1.",
    "The review is now pending; it was claimed.",
    "The seat general is free; you had it.",
    "2 messages were added.",
  ]);
  const taken = review({
    ...before,
    seats: [seat("general", { claimed_by: "olga", claim_generation: 3 }), seat("tests")],
  });
  expect(changesBetween(before, taken, ann)).toEqual([
    "The seat general belongs to olga now; you had it.",
    "The seat tests was added.",
  ]);
  expect(changesBetween(before, before, ann)).toEqual([]);
});

test("the rule in words", () => {
  const { policy } = review();
  expect(ruleWords(policy, 1)).toBe("Its one seat has to approve and no critical issue may be open.");
  expect(ruleWords({ ...policy, block_on_critical: false, rule: "majority" }, 3)).toBe(
    "More than half of 3 seats have to approve.",
  );
  expect(ruleWords({ ...policy, rule: "min_approvals", min_approvals: 2 }, 3)).toMatch(/^2 of 3 seats/);
});

test("a bare number names a review", () => {
  expect(reviewName("12")).toBe("R-12");
  expect(reviewName("R-12")).toBe("R-12");
  expect(reviewName("0b6f12aa")).toBe("0b6f12aa");
});
