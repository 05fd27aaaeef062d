import { expect, test } from "vitest";
import { isSameView, isSavedViews, nameProblem, withView } from "./savedViewsModel";

const mine = { name: "mine", search: { turn: "me" } };
const sql = { name: "sql", search: { q: "sql", status: "pending" } };

test("a view is recognised by its filters in any order", () => {
  expect(isSameView(sql.search, { status: "pending", q: "sql" })).toBe(true);
  expect(isSameView(sql.search, { status: "pending" })).toBe(false);
  expect(isSameView({}, mine.search)).toBe(false);
});

test("a view of the same name is replaced in its place", () => {
  const other = { name: "mine", search: { q: "x" } };
  expect(withView([mine, sql], other)).toEqual([other, sql]);
  expect(withView([mine], sql)).toEqual([mine, sql]);
});

test("names are short and not empty, and stored values are checked", () => {
  expect(nameProblem("  ")).toBe("Give the view a name.");
  expect(nameProblem("x".repeat(41))).toContain("at most 40 characters");
  expect(nameProblem("Needs SQL")).toBeNull();
  expect(isSavedViews([mine, sql])).toBe(true);
  for (const wrong of [
    null,
    {},
    [null],
    [{ name: "", search: {} }],
    [{ name: "x", search: { q: 3 } }],
    [{ name: "x" }],
  ]) {
    expect(isSavedViews(wrong)).toBe(false);
  }
});
