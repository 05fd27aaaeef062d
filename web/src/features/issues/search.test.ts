import { expect, test } from "vitest";
import { cliOptions, filterOf, hasFilters, parseIssuesSearch, shownFilterOf } from "./search";

test("an address is read as a person writes it", () => {
  const search = parseIssuesSearch({ status: "wont_fix, open", severity: "low", q: 12, group: "file", blocks: "yes" });
  expect(search).toEqual({ status: "open,wont_fix", severity: "low", q: "12", group: "file", blocks: "yes" });
  expect(filterOf(search)).toEqual({
    statuses: ["open", "wont_fix"],
    severities: ["low"],
    blocks: true,
    open_reviews: true,
    q: "12",
  });
});

test("junk in the address is left out and never throws", () => {
  for (const value of [null, undefined, {}, [], [[["open"]]], Number.NaN, () => 1, "", "  ", Symbol("x"), 1n]) {
    const all = ["status", "severity", "type", "blocks", "reviews", "group"].map((name) => [name, value]);
    expect(parseIssuesSearch(Object.fromEntries(all))).toEqual({});
  }
});

test("open issues of open reviews are shown first, and low ones are folded until severities are chosen", () => {
  expect(shownFilterOf({})).toEqual({
    statuses: ["open"],
    open_reviews: true,
    severities: ["critical", "high", "medium"],
  });
  expect(filterOf({})).not.toHaveProperty("severities");
  expect(shownFilterOf({ severity: "low", status: "any", reviews: "all" })).toEqual({ severities: ["low"] });
  expect(hasFilters({ group: "file" })).toBe(false);
});

test("the command lists the same", () => {
  expect(cliOptions({ severity: "high", blocks: "yes", file: "a b.rs" })).toEqual([
    ["--status", "open"],
    ["--severity", "high"],
    ["--blocking"],
    ["--open-reviews"],
    ["--file", "a b.rs"],
    ["--by-urgency"],
  ]);
  expect(cliOptions({ group: "review" }).at(-1)).toEqual(["--group-by", "review"]);
});
