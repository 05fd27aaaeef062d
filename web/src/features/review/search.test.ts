import { expect, test } from "vitest";
import { parseReviewSearch } from "./search";

test("a full address is read", () => {
  const search = { tab: "findings", round: 3, since: 1, file: "src/a.rs", line: "12", side: "old", diff: "table" };
  expect(parseReviewSearch(search)).toEqual({ ...search, line: 12 });
  expect(parseReviewSearch({ finding: "i-41", patch: "security", at: "7" })).toEqual({
    finding: "I-41",
    patch: "security",
    at: 7,
  });
});

test("wrong values are left out", () => {
  const wrong = {
    tab: "x",
    round: -1,
    since: "a",
    file: "",
    line: 4,
    side: "new",
    finding: "41",
    diff: "pane",
    patch: [],
    at: 0,
  };
  expect(parseReviewSearch(wrong)).toEqual({});
  expect(parseReviewSearch({ round: 2, since: 2 })).toEqual({ round: 2 });
  expect(parseReviewSearch({ round: {}, since: null, tab: Symbol.iterator })).toEqual({});
  expect(parseReviewSearch({ file: 12, line: 1.5 })).toEqual({ file: "12" });
});
