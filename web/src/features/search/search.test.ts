import { expect, test } from "vitest";
import { parseTextSearch } from "./search";

test("an address is read as a person writes it, and junk is left out", () => {
  expect(parseTextSearch({ q: 12, in: "message", project: "shop" })).toEqual({
    q: "12",
    in: "message",
    project: "shop",
  });
  for (const value of [null, undefined, {}, [], Number.NaN, () => 1, "", "  ", Symbol("x"), 1n]) {
    expect(parseTextSearch({ in: value, project: value })).not.toHaveProperty("in");
  }
  expect(parseTextSearch({ q: "x".repeat(600) }).q).toHaveLength(500);
});
