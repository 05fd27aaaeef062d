import { describe, expect, it } from "vitest";
import { countLines, hashOf, type ParsedPatch, parsePatch } from "./patch";
import { unquote } from "./patchHeader";

const MODIFIED = `diff --git a/src/exec.rs b/src/exec.rs
index 1111111..2222222 100644
--- a/src/exec.rs
+++ b/src/exec.rs
@@ -3,4 +3,5 @@ use std::io;
 use a;
-use b;
+use c;
+use d;
 
 fn main() {}
`;

const joined = (patch: ParsedPatch) => patch.files.map((file) => file.text).join("");
const only = (text: string) => {
  const patch = parsePatch(text);
  expect(joined(patch)).toBe(text);
  expect(patch.files).toHaveLength(1);
  const file = patch.files[0];
  if (file === undefined) throw new Error("no file");
  return file;
};

describe("parsePatch", () => {
  it("numbers the lines of both sides", () => {
    const file = only(MODIFIED);
    expect(file).toMatchObject({ path: "src/exec.rs", kind: "modified", additions: 2, deletions: 1, problem: null });
    expect(file.hunks[0]).toMatchObject({
      oldStart: 3,
      oldCount: 4,
      newStart: 3,
      newCount: 5,
      section: "use std::io;",
    });
    expect(file.hunks[0]?.lines.map((line) => [line.kind, line.old, line.new, line.text])).toEqual([
      ["context", 3, 3, "use a;"],
      ["removed", 4, null, "use b;"],
      ["added", null, 4, "use c;"],
      ["added", null, 5, "use d;"],
      ["context", 5, 6, ""],
      ["context", 6, 7, "fn main() {}"],
    ]);
  });

  it.each([
    [
      "added",
      "new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n",
      { kind: "added", oldPath: null, newPath: "x" },
    ],
    [
      "deleted",
      "deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
      { kind: "deleted", path: "x", newPath: null },
    ],
    ["empty", "new file mode 100644\nindex 0000000..e69de29\n", { kind: "empty", change: "added", path: "x" }],
    ["mode", "old mode 100644\nnew mode 100755\n", { kind: "mode", oldMode: "100644", newMode: "100755" }],
    ["binary", "index 1..2 100644\nBinary files a/x and b/x differ\n", { kind: "binary", change: "modified" }],
    [
      "binary data",
      "index 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n",
      { kind: "binary", binarySizes: [3, 0] },
    ],
    [
      "submodule",
      "index 1111111..2222222 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
      { kind: "submodule" },
    ],
    ["no change", "index 1..2 100644\n", { kind: "empty", problem: "its header names no change" }],
  ])("reads a file of the kind %s", (_, rest, expected) => {
    expect(only(`diff --git a/x b/x\n${rest}`)).toMatchObject(expected);
  });

  it("reads renames and copies, with and without hunks", () => {
    const renamed =
      "diff --git a/old name b/dir/new name\nsimilarity index 92%\nrename from old name\nrename to dir/new name\n";
    expect(only(renamed)).toMatchObject({
      kind: "renamed",
      oldPath: "old name",
      newPath: "dir/new name",
      similarity: 92,
    });
    const copied =
      "diff --git a/a b/b\nsimilarity index 90%\ncopy from a\ncopy to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n";
    expect(only(copied)).toMatchObject({ kind: "copied", oldPath: "a", newPath: "b", additions: 1 });
  });

  it("reads quoted paths and paths with blanks", () => {
    const quoted = String.raw`diff --git "a/\303\244 \"x\".txt" "b/\303\244 \"x\".txt"
new file mode 100644
`;
    expect(only(quoted).path).toBe('ä "x".txt');
    expect(only("diff --git a/a b/c b/a b/c\nnew file mode 100644\n").path).toBe("a b/c");
    expect(only("diff --git a/x y b/x y\n--- a/x y\t\n+++ b/x y\t\n@@ -1 +1 @@\n-1\n+2\n").path).toBe("x y");
    expect(only("diff --git a/x a/x\n--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n").path).toBe("a/x");
  });

  it("reads a diff without git's header", () => {
    const file = only("--- a/x.c\t2024-01-01\n+++ b/x.c\t2024-01-02\n@@ -1 +1 @@\n-1\n+2\n");
    expect(file).toMatchObject({ path: "x.c", kind: "modified" });
  });

  it("takes lines that look like headers for what the counts say", () => {
    const file = only("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n diff --git a/y b/y\n");
    expect(file.hunks[0]?.lines.map((line) => line.text)).toEqual(["-- a/y", "++ b/y", "diff --git a/y b/y"]);
  });

  it("knows a missing line feed at the end of each side", () => {
    const file = only(
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n\\ Hidden words",
    );
    expect(file.hunks[0]?.lines.map((line) => line.endMarker)).toEqual(["No newline at end of file", "Hidden words"]);
  });

  it("keeps carriage returns", () => {
    const crlf = only("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-1\r\n \r\n");
    expect(crlf.isCrlf).toBe(true);
    const mixed = only("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\rb\n+a\r\n");
    expect(mixed.isCrlf).toBe(false);
    expect(mixed.hunks[0]?.lines[0]?.text).toBe("a\rb");
    const whole = only(MODIFIED.replaceAll("\n", "\r\n"));
    expect(whole).toMatchObject({ path: "src/exec.rs", isCrlf: true, additions: 2, problem: null });
  });

  it("shows text that git ignores as a part of its own", () => {
    const mail = `From ${"a".repeat(40)} Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n x | 1 +\n\n${MODIFIED}-- \n2.47\n\n`;
    const patch = parsePatch(mail + mail);
    expect(joined(patch)).toBe(mail + mail);
    expect(patch.files.map((file) => [file.kind, file.problem])).toEqual([
      ["unreadable", ""],
      ["modified", null],
      ["unreadable", ""],
      ["unreadable", ""],
      ["modified", null],
      ["unreadable", ""],
    ]);
    expect(patch.files.map((file) => file.index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(patch.files[1]?.firstLine).toBe(7);
  });

  it("says where a hunk does not keep its word, and goes on with the next file", () => {
    const long = MODIFIED.replace("+use d;\n", "+use d;\n+use e;\n");
    const patch = parsePatch(long + MODIFIED);
    expect(joined(patch)).toBe(long + MODIFIED);
    expect(patch.files.map((file) => [file.kind, file.problem, file.text.length > 0])).toEqual([
      ["modified", "a hunk is longer than its header says", true],
      ["unreadable", "a hunk is longer than its header says", true],
      ["modified", null, true],
    ]);
    const short = parsePatch(MODIFIED.replace("@@ -3,4 +3,5 @@", "@@ -3,9 +3,9 @@") + MODIFIED);
    expect(short.files.map((file) => file.problem)).toEqual(["a hunk is shorter than its header says", null]);
  });

  it("believes nothing of a contradictory header", () => {
    const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n";
    expect(only(text)).toMatchObject({ kind: "unreadable", problem: "its file names contradict each other" });
  });

  it.each([
    "",
    "\n\n",
    "no diff at all",
    "@@ -1 +1 @@\n-1\n+2\n",
    "diff --git ",
    "diff --git a/x b/x",
    "--- a\n+++ b\n",
    "\u0000\u202e\r",
  ])("loses nothing of %j", (text) => expect(joined(parsePatch(text))).toBe(text));

  it("loses nothing of broken input", () => {
    // A small generator with a fixed seed: cuts, doubles and swaps lines of a real patch.
    let seed = 7;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed % below;
    };
    const source = MODIFIED.repeat(3).split("\n");
    for (let round = 0; round < 500; round += 1) {
      const lines = [...source];
      for (let change = 0; change < 4; change += 1) {
        const [from, to] = [random(lines.length), random(lines.length)];
        const line = lines[from] ?? "";
        if (change % 2 === 0) lines.splice(from, 1);
        lines.splice(to, 0, random(3) === 0 ? line.slice(0, random(line.length + 1)) : line);
      }
      const text = lines.join("\n");
      expect(joined(parsePatch(text))).toBe(text);
    }
  });

  it("hashes what a reader sees of a file", () => {
    const other = MODIFIED.replace("1111111..2222222", "3333333..4444444");
    expect(only(other).hash).toBe(only(MODIFIED).hash);
    expect(only(MODIFIED.replace("+use d", "+use e")).hash).not.toBe(only(MODIFIED).hash);
    expect(hashOf("countersign")).toBe("b7863d26ec3cf0c5");
  });

  it("reads 10,000 lines in a few milliseconds, and one very long line", () => {
    const body = Array.from({ length: 10_000 }, (_, at) => `+line ${at} of a file with some words in it\n`).join("");
    const text = `diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,10000 @@\n${body}`;
    parsePatch(text);
    const start = performance.now();
    expect(parsePatch(text)).toMatchObject({ additions: 10_000, lineCount: 10_000 });
    expect(performance.now() - start).toBeLessThan(250);
    const long = "x".repeat(1_000_000);
    expect(
      parsePatch(`diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+${long}\n`)
        .additions,
    ).toBe(1);
    expect(joined(parsePatch(`diff --git ${"a/ b/".repeat(20_000)}\n`))).toHaveLength(100_012);
  });
});

it("decodes git's quoting", () => {
  expect(unquote('"a\\tb\\\\\\"" rest')).toEqual(['a\tb\\"', 10]);
  expect(unquote('"open')).toBeNull();
  expect(unquote('"\\q"')).toBeNull();
  expect(unquote("plain")).toBeNull();
  expect(unquote('"\\377"')?.[0]).toBe("\ufffd");
});

it("counts lines as an editor does", () => {
  expect(["", "a", "a\n", "a\nb", "\n\n"].map(countLines)).toEqual([0, 1, 1, 2, 2]);
});
