import { describe, expect, it } from "vitest";
import { contextSize, NO_CONTEXT, sectionsOf } from "./context";
import { findInDiff, MAX_MATCHES, matchFrom, queryPattern, spans } from "./find";
import { parsePatch } from "./patch";
import { TEST_PATCH } from "./testPatch";

const search = (text: string, query: string) => {
  const patch = parsePatch(text);
  return findInDiff(
    patch.files,
    patch.files.map((file) => sectionsOf(file, NO_CONTEXT, contextSize(patch))),
    query,
  );
};

describe("find", () => {
  it("finds every place in the order of the diff", () => {
    expect(search(TEST_PATCH, "limit").matches).toEqual([
      { file: 0, side: "old", line: 4, start: 4, end: 9 },
      { file: 0, side: "new", line: 4, start: 4, end: 9 },
    ]);
    expect(search(TEST_PATCH, "").matches).toEqual([]);
  });

  it("ignores case unless the query has an upper case letter", () => {
    expect(search(TEST_PATCH, "fn ADDED").matches).toHaveLength(0);
    expect(search(TEST_PATCH.replace("added()", "ADDED()"), "added").matches).toHaveLength(1);
  });

  it("takes signs for what they are", () => {
    expect(search(TEST_PATCH, "added()").matches).toHaveLength(1);
    expect(search(TEST_PATCH, ".*").matches).toHaveLength(0);
    expect(() => queryPattern("[/\\^$.*+?()[]{}|-]")).not.toThrow();
  });

  it("finds text that could not be read", () => {
    expect(search(`${TEST_PATCH}what is this\n`, "is this").matches).toEqual([
      { file: 3, side: "raw", line: 28, start: 5, end: 12 },
    ]);
  });

  it("stops at a limit and says so", () => {
    const body = `+${"a".repeat(MAX_MATCHES)}\n`;
    const found = search(
      `diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n${body}${body}`,
      "a",
    );
    expect([found.matches.length, found.isCut]).toEqual([MAX_MATCHES, true]);
  });

  it("starts at the place of the reader", () => {
    const { matches } = search(TEST_PATCH, "e");
    expect(matches[matchFrom(matches, 1, 0)]).toMatchObject({ file: 1, line: 1 });
    expect(matchFrom(matches, 9, 0)).toBe(0);
  });

  it("does not stop at a match of length zero", () => {
    expect(spans("ab", /x*/gu)).toHaveLength(3);
  });
});
