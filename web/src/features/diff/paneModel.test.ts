import { expect, it } from "vitest";
import { contextSize, expanded, type FileContext, NO_CONTEXT, sectionsOf, splitLines } from "./context";
import { type DiffNote, placeNotes } from "./notes";
import { type PaneDiff, paneAnnotations, paneDiff } from "./paneModel";
import { fromPane, toPane } from "./paneSelection";
import { type ParsedPatch, parsePatch } from "./patch";
import { buildRows } from "./rows";
import { TEST_FILE, TEST_PATCH } from "./testPatch";

const patch = parsePatch(TEST_PATCH);
const ready: FileContext = { state: "ready", lines: splitLines(TEST_FILE), shown: {} };

function diffOf(context: FileContext, index = 0, of: ParsedPatch = patch): PaneDiff {
  const file = of.files[index];
  if (file === undefined) throw new Error("no file");
  return paneDiff(file, sectionsOf(file, context, contextSize(of)), context, "key");
}

/** The lines that the viewer shows, with the numbers that it gives them. */
function shown(diff: PaneDiff): string[] {
  return diff.hunks.flatMap((hunk) => {
    let [old, fresh] = [hunk.deletionStart, hunk.additionStart];
    const lines = hunk.hunkContent.flatMap((content) => {
      if (content.type === "context")
        return Array.from({ length: content.lines }, (_, at) => {
          const text = diff.additionLines[content.additionLineIndex + at];
          expect(diff.deletionLines[content.deletionLineIndex + at]).toBe(text);
          return `${old++} ${fresh++} ${text}`;
        });
      return [
        ...Array.from(
          { length: content.deletions },
          (_, at) => `${old++} . ${diff.deletionLines[content.deletionLineIndex + at]}`,
        ),
        ...Array.from(
          { length: content.additions },
          (_, at) => `. ${fresh++} ${diff.additionLines[content.additionLineIndex + at]}`,
        ),
      ];
    });
    return [
      ...(hunk.collapsedBefore > 0 ? [`gap ${hunk.collapsedBefore}`] : []),
      ...lines.map((line) => line.trimEnd()),
    ];
  });
}

const PLAIN = [
  "gap 2",
  "3 3 use a;",
  "4 . let limit = 10;",
  ". 4 let limit = 20;",
  ". 5 let extra = 1;",
  "5 6 use c;",
  "6 7 use d;",
  "gap 13",
  "20 21 one",
  "21 . two",
  ". 22 zwei",
  "22 23 three",
];

it("shows the same lines as the table, with and without the whole file", () => {
  expect(shown(diffOf(NO_CONTEXT))).toEqual(PLAIN);
  expect(shown(diffOf(ready))).toEqual(PLAIN);
  const more = shown(diffOf(expanded(ready, 1, "end", 2)));
  expect(more.slice(7, 10)).toEqual(["gap 11", "18 19 line 19", "19 20 line 20"]);
});

it("places every line at its number, so that the viewer can open gaps", () => {
  for (const diff of [diffOf(NO_CONTEXT), diffOf(ready), diffOf(NO_CONTEXT, 1)])
    for (const hunk of diff.hunks) {
      expect(hunk.additionLineIndex).toBe(hunk.additionStart - 1);
      if (hunk.deletionCount > 0) expect(hunk.deletionLineIndex).toBe(hunk.deletionStart - 1);
    }
  // The rest of the file is as long on both sides, or the viewer refuses it.
  const diff = diffOf(ready);
  expect(diff.additionLines).toHaveLength(30);
  expect(diff.deletionLines).toHaveLength(29);
  expect(diff.unifiedLineCount).toBe(2 + 6 + 13 + 4 + 7);
});

it("writes hidden characters out and cuts very long lines with a word", () => {
  const hostile = TEST_PATCH.replace("fn added() {}", "a\u202eb").replace("// end", "x".repeat(5_000));
  const [first, second] = diffOf(NO_CONTEXT, 1, parsePatch(hostile)).additionLines;
  expect(first).toBe("a‹U+202E›b\n");
  expect(second).toContain("… 3,000 more characters: see the table view");
});

it("does not fill memory for line numbers that no file has", () => {
  const far = diffOf(NO_CONTEXT, 0, parsePatch(TEST_PATCH.replace("-20,3 +21,3", "-900000020,3 +900000021,3")));
  expect(far.isPartial).toBe(true);
  expect(far.additionLines).toHaveLength(8);
});

it("takes a diff that contradicts itself for what it shows", () => {
  const odd = diffOf(NO_CONTEXT, 0, parsePatch(TEST_PATCH.replace("-20,3 +21,3", "-20,3 +2,3")));
  expect(odd.isPartial).toBe(true);
  expect(shown(odd)).toContain(". 3 zwei");
});

it("keeps the place of an annotation in the list while others come and go", () => {
  const file = patch.files[0];
  const sections = patch.files.map((each) => sectionsOf(each, NO_CONTEXT, contextSize(patch)));
  if (file === undefined || sections[0] === undefined) throw new Error("no file");
  const note = (id: string, start: number | null): DiffNote => ({
    id,
    path: "src/exec.rs",
    side: "new",
    start,
    end: start,
    rank: 0,
  });
  const place = (notes: DiffNote[], previous: ReturnType<typeof paneAnnotations>) => {
    const own = placeNotes(patch.files, sections, notes).files[0];
    return own === undefined || sections[0] === undefined ? [] : paneAnnotations(file, sections[0], own, previous);
  };
  const one = place([note("late", 22)], []);
  const two = place([note("early", 3), note("late", 22), note("same", 22), note("head", null)], one);
  expect(two.map(({ lineNumber, metadata }) => [lineNumber, metadata.ids])).toEqual([
    [22, ["late", "same"]],
    [0, ["head"]],
    [3, ["early"]],
  ]);
  const three = place([note("early", 3)], two);
  expect(three.map(({ metadata }) => metadata.ids)).toEqual([[], [], ["early"]]);
});

it("translates selections, also over both sides", () => {
  const sections = patch.files.map((each) => sectionsOf(each, NO_CONTEXT, contextSize(patch)));
  const notes = placeNotes(patch.files, sections, []);
  const rows = buildRows({ files: patch.files, sections, notes, folded: new Set(), layout: "unified" });
  const range = { path: "src/exec.rs", side: "new" as const, start: 4, end: 6 };
  const selection = toPane(range, rows, patch.files);
  expect(selection?.range).toEqual({ start: 4, end: 6, side: "additions", endSide: "additions" });
  expect(selection === null ? null : fromPane(selection, rows, patch.files)).toEqual(range);
  const id = selection?.id ?? "";
  const mixed = { id, range: { start: 4, end: 5, side: "deletions" as const, endSide: "additions" as const } };
  expect(fromPane(mixed, rows, patch.files)).toEqual({ ...range, start: 4, end: 5 });
});
