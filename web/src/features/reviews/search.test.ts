import { expect, test } from "vitest";
import { filterOf, parseReviewsSearch, statusesOf, withFilter, withStatuses } from "./search";

const ann = { name: "ann", isOperator: true };

test("an address is read as a person writes it", () => {
  expect(parseReviewsSearch({ status: "closed, pending", q: 12, project: "web", turn: "me" })).toEqual({
    status: "pending,closed",
    q: "12",
    project: "web",
    turn: "me",
  });
});

test("junk in the address is left out and never throws", () => {
  const junk: unknown[] = [
    null,
    undefined,
    {},
    [],
    [[["pending"]]],
    Number.NaN,
    () => 1,
    "",
    "  ",
    Symbol("x"),
    1n,
    true,
  ];
  for (const value of junk) {
    const search = parseReviewsSearch({
      status: value,
      proposer: value,
      persona: value,
      project: value,
      branch: value,
      category: value,
      turn: value,
      q: value,
      other: value,
    });
    expect(Object.values(search).every((kept) => typeof kept === "string" && kept !== "")).toBe(true);
  }
  expect(parseReviewsSearch({ status: "no,such", category: "x", turn: "you" })).toEqual({});
  expect(parseReviewsSearch({ q: "x".repeat(10_000) }).q).toHaveLength(200);
  expect(parseReviewsSearch({ __proto__: { q: "x" }, constructor: "y" })).not.toHaveProperty("constructor", "y");
});

test("all statuses are the same as none", () => {
  const all = withStatuses({ q: "x" }, [
    "approved",
    "pending",
    "claimed",
    "in_review",
    "changes_requested",
    "rejected",
  ]);
  expect(statusesOf(all)).toEqual(["pending", "claimed", "in_review", "changes_requested", "approved", "rejected"]);
  expect(withStatuses(all, [...statusesOf(all), "cancelled", "closed"])).toEqual({ q: "x" });
  expect(withStatuses(all, [])).toEqual({ q: "x" });
});

test("a filter is replaced or removed", () => {
  expect(withFilter({ q: "a" }, "branch", "main")).toEqual({ q: "a", branch: "main" });
  expect(withFilter({ q: "a", branch: "main" }, "q", "")).toEqual({ branch: "main" });
  expect(withFilter({ q: "a" }, "q", null)).toEqual({});
});

test("the broker is asked for statuses, never for what the person may claim", () => {
  expect(filterOf({ status: "pending", q: "x" }, ann)).toEqual({ statuses: ["pending"], q: "x", caller_id: "ann" });
  expect(filterOf({ turn: "me" }, ann)).toEqual({ my_turn: true, role: "operator", caller_id: "ann" });
  expect(filterOf({ turn: "me" }, { ...ann, isOperator: false })).toEqual({ my_turn: true, caller_id: "ann" });
});
