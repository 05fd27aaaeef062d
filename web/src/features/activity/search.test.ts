import { describe, expect, test } from "vitest";
import { filterOf, kindsOf, parseLogSearch, withFilter, withKind, withoutFilters, withView } from "./search";

describe("the address of the log", () => {
  test("keeps what it understands and leaves out the rest", () => {
    expect(
      parseLogSearch({
        view: "audit",
        kind: "closed,nonsense,proposed",
        actor: 12,
        review: " R-1 ",
        seq: "7",
        since: {},
      }),
    ).toEqual({ view: "audit", kind: "proposed,closed", actor: "12", review: "R-1", seq: 7 });
    for (const seq of ["-1", "x", "0", "1.5", "", null, [], "1e400"]) expect(parseLogSearch({ seq })).toEqual({});
    expect(parseLogSearch({ view: "x", kind: "", actor: "" })).toEqual({});
  });

  test("becomes the arguments of the broker", () => {
    expect(filterOf({ view: "audit", seq: 3, review: "R-1", kind: "claimed,closed", since: "7d" })).toEqual({
      review_id: "R-1",
      kind: ["claimed", "closed"],
      since: "7d",
    });
    expect(filterOf({})).toEqual({});
  });

  test("a change of a filter begins at the newest event again", () => {
    expect(withFilter({ seq: 3, actor: "ada" }, "actor", null)).toEqual({});
    expect(withKind({ seq: 3 }, "closed", true)).toEqual({ kind: "closed" });
    expect(withKind({ kind: "closed" }, "closed", false)).toEqual({});
    expect(withView({ seq: 3, view: "audit" }, "activity")).toEqual({ seq: 3 });
    expect(withoutFilters({ view: "audit", actor: "ada", seq: 3 })).toEqual({ view: "audit" });
    expect(kindsOf({ kind: "closed,proposed" })).toEqual(["proposed", "closed"]);
  });
});
