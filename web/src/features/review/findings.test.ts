import { expect, test } from "vitest";
import {
  anchorOfPlace,
  groupFindings,
  parsePlace,
  placeOf,
  placeOfAnchor,
  placeWords,
  settleChoices,
} from "./findings";
import { ann, bob, builder, issue, review, seat } from "./sample";

const current = { round: 2, isCurrent: true, since: null };

test("every finding is in one group, the most urgent first", () => {
  const issues = [
    issue("I-1", { severity: "low" }),
    issue("I-2", { severity: "medium" }),
    issue("I-3", { severity: "critical" }),
    issue("I-4", { severity: "high", status: "fixed" }),
    issue("I-5", { severity: "high", is_suggestion: true }),
    issue("I-6", { severity: "high", late: true }),
    issue("I-7", { severity: "critical", status: "wont_fix" }),
    issue("I-8", { severity: "high" }),
  ];
  const groups = groupFindings(issues, ["I-3"]);
  const ids = Object.fromEntries(Object.entries(groups).map(([name, list]) => [name, list.map((one) => one.issue_id)]));
  expect(ids).toEqual({
    blocking: ["I-3"],
    open: ["I-8", "I-2"],
    low: ["I-1"],
    suggestions: ["I-5", "I-6"],
    settled: ["I-7", "I-4"],
  });
  expect(Object.values(groups).flat()).toHaveLength(issues.length);
});

test("the place in the round on display", () => {
  const moved = issue("I-1", { file: "a.rs", line_start: 20, line_end: 22, anchor: "moved", raised_at: "a.rs:10-12" });
  expect(placeOf(moved, current)).toMatchObject({ path: "a.rs", start: 20, end: 22 });
  expect(placeOf(moved, { round: 1, isCurrent: false, since: null })).toMatchObject({ start: 10, end: 12 });
  const gone = issue("I-2", { file: "a.rs", line_start: 3, anchor: "gone" });
  expect(placeOf(gone, current)).toMatchObject({ path: "a.rs", start: null });
  const later = issue("I-3", { round: 2, file: "a.rs" });
  expect(placeOf(later, { round: 1, isCurrent: false, since: null })).toBeNull();
  expect(placeOf(moved, { round: 2, isCurrent: false, since: null })).toMatchObject({ path: "a.rs", start: null });
  const old = issue("I-4", { file: "a.rs", line_start: 3, side: "old" });
  expect(placeOf(old, current)).toMatchObject({ side: "old", start: 3 });
  expect(placeOf(old, { ...current, since: 1 })).toMatchObject({ side: "old", start: null });
  expect(placeOf(issue("I-5"), current)).toMatchObject({ path: null, start: null });
});

test("locations as the broker writes them", () => {
  expect(parsePlace("src/a.rs:10-12")).toEqual({ in: "diff", path: "src/a.rs", side: "new", start: 10, end: 12 });
  expect(parsePlace("old:src/a.rs:10")).toEqual({ in: "diff", path: "src/a.rs", side: "old", start: 10, end: 10 });
  expect(parsePlace("description:3")).toEqual({ in: "description", path: null, side: "new", start: 3, end: 3 });
  expect(parsePlace("a:b.rs")).toMatchObject({ path: "a:b.rs", start: null });
  expect(parsePlace("")).toBeNull();
});

test("anchors and places are the same thing", () => {
  for (const anchor of [
    { file: "a.rs", line_start: 3, line_end: 5, side: "old" as const },
    { file: "a.rs" },
    { in: "description" as const, line_start: 12 },
  ]) {
    const place = placeOfAnchor(anchor);
    expect(place && anchorOfPlace(place)).toEqual(anchor);
  }
  expect(placeOfAnchor({ issue: "I-41" })).toBeNull();
  expect(placeWords({ in: "description", path: null, side: "new", start: 3, end: 4 })).toBe(
    "lines 3-4 of the description",
  );
  expect(placeWords({ in: "diff", path: "a.rs", side: "old", start: 3, end: 3 })).toBe("a.rs:3 before the change");
});

test("who may say what about a finding", () => {
  const held = review({ status: "claimed", seats: [seat("general", { claimed_by: "bob" }), seat("tests")] });
  const says = (...args: Parameters<typeof settleChoices>) =>
    settleChoices(...args).map((one) => `${one.role} ${one.status}`);
  expect(says(issue("I-1"), held, bob)).toEqual(["reviewer fixed", "reviewer wont_fix", "reviewer duplicate"]);
  expect(says(issue("I-1", { persona: "tests" }), held, bob)).toEqual([]);
  expect(says(issue("I-1"), held, builder)).toEqual(["proposer fixed", "proposer wont_fix", "proposer disputed"]);
  expect(settleChoices(issue("I-1"), held, builder).map((one) => one.needsNote)).toEqual([false, true, true]);
  expect(says(issue("I-1", { status: "fixed" }), held, ann)).toEqual(["operator wont_fix", "operator open"]);
  const reply = { at: "", by: "builder", round: 1, says: "disputed" as const };
  expect(says(issue("I-1", { proposer_says: reply }), held, bob)).toContain("reviewer open");
  expect(says(issue("I-1", { status: "fixed" }), review({ status: "closed" }), ann)).toEqual(["operator wont_fix"]);
});
