import { describe, expect, it } from "vitest";
import {
  contextSize,
  expanded,
  expandedAround,
  expandedFully,
  type FileContext,
  matches,
  NO_CONTEXT,
  sectionsOf,
  splitLines,
} from "./context";
import { atRow, extended, extendedTo, isChangeStart, moved, toSide } from "./cursor";
import { type DiffNote, placeNotes } from "./notes";
import { parsePatch } from "./patch";
import { buildRows, differing, findRow, isInRange, type Row } from "./rows";
import { TEST_FILE, TEST_PATCH } from "./testPatch";

const patch = parsePatch(TEST_PATCH);
const { files } = patch;
const usual = contextSize(patch);
const ready: FileContext = { state: "ready", lines: splitLines(TEST_FILE), shown: {} };

const note = (id: string, place: Partial<DiffNote>): DiffNote => ({
  id,
  path: "src/exec.rs",
  side: "new",
  start: null,
  end: null,
  rank: 0,
  ...place,
});

function rowsOf(
  options: { notes?: DiffNote[]; layout?: "unified" | "split"; context?: FileContext; folded?: number[] } = {},
) {
  const sections = files.map((file, index) =>
    sectionsOf(file, index === 0 ? (options.context ?? NO_CONTEXT) : NO_CONTEXT, usual),
  );
  const notes = placeNotes(files, sections, options.notes ?? []);
  return buildRows({
    files,
    sections,
    notes,
    folded: new Set(options.folded ?? []),
    layout: options.layout ?? "unified",
  });
}

/** A row in a few characters. */
function short(row: Row): string {
  switch (row.type) {
    case "head":
      return `# ${files[row.file]?.path}`;
    case "line":
      return `${row.cell.line.old ?? "."} ${row.cell.line.new ?? "."} ${row.cell.line.text}`;
    case "pair":
      return `${row.old?.line.text ?? "–"} | ${row.new?.line.text ?? "–"}`;
    case "gap":
      return `gap ${row.gap.hidden ?? "?"}`;
    case "note":
      return `note ${row.note.id}${row.isInHead ? " in the head" : ""}`;
    case "elsewhere":
      return `elsewhere ${row.notes.map(({ id }) => id).join(" ")}`;
    default:
      return row.text;
  }
}

describe("rows", () => {
  it("lists files, gaps and lines", () => {
    expect(rowsOf().map(short)).toEqual([
      "# src/exec.rs",
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
      "# src/new.rs",
      ". 1 fn added() {}",
      ". 2 // end",
      "# new/name.rs",
      "Renamed without changes.",
    ]);
  });

  it("puts removed and added lines side by side, but not in a file with one side", () => {
    const rows = rowsOf({ layout: "split" }).map(short);
    expect(rows).toContain("let limit = 10; | let limit = 20;");
    expect(rows).toContain("– | let extra = 1;");
    expect(rows).toContain(". 1 fn added() {}");
  });

  it("shows only the head of a folded file", () => {
    expect(
      rowsOf({ folded: [0] })
        .map(short)
        .slice(0, 2),
    ).toEqual(["# src/exec.rs", "# src/new.rs"]);
  });

  it("gives every row a key of its own that notes do not change", () => {
    const plain = rowsOf().map((row) => row.key);
    const noted = rowsOf({ notes: [note("n", { start: 4, end: 4 })] }).map((row) => row.key);
    expect(new Set(noted).size).toBe(noted.length);
    expect(noted.filter((key) => key !== "note n")).toEqual(plain);
  });

  it("marks what differs within a changed line", () => {
    expect(differing("let limit = 10;", "let limit = 20;")).toEqual([
      [12, 14],
      [12, 14],
    ]);
    expect(differing("a", "b")).toEqual([null, null]);
    expect(differing("same text here", "same text here too")).toEqual([null, [14, 18]]);
    expect(differing("smile 😀 end of line", "smile 😁 end of line")).toEqual([
      [6, 8],
      [6, 8],
    ]);
    expect(differing("completely other", "nothing alike!!!")).toEqual([null, null]);
  });
});

describe("notes", () => {
  const place = (...notes: DiffNote[]) => rowsOf({ notes }).map(short);
  const above = (rows: string[], row: string) => rows[rows.indexOf(row) - 1];

  it("stand under the last line of their range, on their side", () => {
    expect(above(place(note("n", { start: 3, end: 5 })), "note n")).toBe(". 5 let extra = 1;");
    expect(above(place(note("n", { side: "old", start: 4, end: 4 })), "note n")).toBe("4 . let limit = 10;");
    expect(above(place(note("n", { start: 7, end: 12 })), "note n")).toBe("6 7 use d;");
    expect(above(rowsOf({ layout: "split", notes: [note("n", { start: 4, end: 4 })] }).map(short), "note n")).toBe(
      "let limit = 10; | let limit = 20;",
    );
  });

  it("stand in the head of the file without a line that is shown", () => {
    const rows = place(
      note("file", {}),
      note("hidden", { start: 12, end: 13 }),
      note("beyond", { start: 5_000_000_000, end: null }),
    );
    expect(rows.slice(1, 4)).toEqual(["note file in the head", "note hidden in the head", "note beyond in the head"]);
  });

  it("move to their line when it is shown", () => {
    const context = expandedAround(files[0] ?? never(), ready, "new", 12);
    const rows = rowsOf({ context, notes: [note("hidden", { start: 12, end: 12 })] }).map(short);
    expect(above(rows, "note hidden")).toBe("11 12 line 12");
  });

  it("are never dropped", () => {
    const notes = [
      note("no file", { path: null }),
      note("other file", { path: "not/here.rs", start: 1, end: 1 }),
      note("renamed", { path: "old/name.rs", start: 9, end: 9 }),
      note("backwards", { start: 7, end: 3 }),
      note("huge", { start: 1, end: Number.MAX_SAFE_INTEGER }),
      note("negative", { start: -5, end: -1 }),
    ];
    const rows = place(...notes);
    for (const { id } of notes)
      expect(rows.filter((row) => new RegExp(`(?:note|elsewhere).*${id}`).test(row))).toHaveLength(1);
    expect(rows.at(-1)).toBe("elsewhere no file other file");
    expect(rows).toContain("note renamed in the head");
    expect(above(rows, "note huge")).toBe("22 23 three");
  });

  it("count for the tree, with the worst", () => {
    const sections = files.map((file) => sectionsOf(file, NO_CONTEXT, usual));
    const { files: placed } = placeNotes(files, sections, [
      note("a", { rank: 1 }),
      note("b", { start: 4, end: 4, rank: 3 }),
    ]);
    expect(placed.map(({ count, worst }) => [count, worst])).toEqual([
      [2, 3],
      [0, 0],
      [0, 0],
    ]);
  });
});

describe("context", () => {
  const texts = (context: FileContext) =>
    rowsOf({ context })
      .map(short)
      .slice(
        0,
        rowsOf({ context }).findIndex((row) => row.file === 1),
      );

  it("knows the end of the file once it is loaded", () => {
    expect(texts(ready).at(-1)).toBe("gap 7");
  });

  it("shows more lines at either end of a gap and joins hunks without one", () => {
    const start = texts(expanded(ready, 1, "start", 5));
    expect(start).toContain("11 12 line 12");
    expect(start).toContain("gap 8");
    expect(texts(expanded(ready, 1, "end", 5))).toContain("15 16 line 16");
    const all = texts(expanded(ready, 1, "start", 1_000));
    expect(all.filter((row) => row.startsWith("gap"))).toEqual(["gap 2", "gap 7"]);
    const whole = texts(expandedFully(files[0] ?? never(), ready));
    expect(whole.filter((row) => row.startsWith("gap"))).toEqual([]);
    expect(whole.at(-1)).toBe("29 30 line 30");
    expect(whole[1]).toBe("1 1 line 1");
  });

  it("refuses a file that is not the one of the diff", () => {
    expect(matches(files[0] ?? never(), splitLines(TEST_FILE))).toBe(true);
    expect(matches(files[0] ?? never(), splitLines(TEST_FILE.replace("zwei", "drei")))).toBe(false);
    expect(matches(files[0] ?? never(), [])).toBe(false);
  });

  it("shows no gap where the two sides contradict each other", () => {
    const odd = parsePatch(TEST_PATCH.replace("@@ -20,3 +21,3 @@", "@@ -20,3 +90,3 @@"));
    const sections = odd.files.map((file) => sectionsOf(file, NO_CONTEXT, usual));
    expect(sections[0]?.sections[1]?.gap).toBeNull();
    expect(sections[0]?.sections[1]?.lines.map(({ line }) => line.new)).toContain(91);
  });
});

describe("cursor", () => {
  const rows = rowsOf();
  const place = { rows, files };
  const start = findRow(rows, files, { path: "src/exec.rs", side: "new", start: 3, end: 3 }, "start");

  it("moves line by line over removed and added lines, gaps and files", () => {
    const seen: string[] = [];
    for (let at = start - 1, cursor = moved(place, at, 1, null); cursor !== null; cursor = moved(place, at, 1, null)) {
      seen.push(`${cursor.range.side} ${cursor.range.start}`);
      at = findRow(rows, files, cursor.range, "end");
    }
    expect(seen).toEqual([
      "new 3",
      "old 4",
      "new 4",
      "new 5",
      "new 6",
      "new 7",
      "new 21",
      "old 21",
      "new 22",
      "new 23",
      "new 1",
      "new 2",
    ]);
    expect(moved(place, start, -1, null)).toBeNull();
  });

  it("extends and shrinks on one side, within the file", () => {
    const first = atRow(place, start, null) ?? never();
    const two = extended(place, first, 1) ?? never();
    expect(two.range).toMatchObject({ side: "new", start: 3, end: 4 });
    const back = extended(place, two, -1) ?? never();
    expect(back.range).toMatchObject({ start: 3, end: 3 });
    const last =
      atRow(place, findRow(rows, files, { path: "src/exec.rs", side: "new", start: 23, end: 23 }, "start"), null) ??
      never();
    expect(extended(place, last, 1)).toBeNull();
    const up = extended(place, last, -1) ?? never();
    expect(up).toMatchObject({ active: "start", range: { start: 22, end: 23 } });
    expect(extendedTo(place, first, rows.length - 1)).toBeNull();
  });

  it("changes the side of a pair", () => {
    const split = { rows: rowsOf({ layout: "split" }), files };
    const pair = split.rows.findIndex((row) => row.type === "pair" && row.new?.line.text === "zwei");
    expect(toSide(split, pair, "old")?.range).toMatchObject({ side: "old", start: 21 });
    expect(atRow(split, pair, "new")?.range).toMatchObject({ side: "new", start: 22 });
  });

  it("knows where changes begin", () => {
    expect(rows.flatMap((row, index) => (isChangeStart(rows, index) ? [short(row)] : []))).toEqual([
      "4 . let limit = 10;",
      "21 . two",
      ". 1 fn added() {}",
    ]);
  });

  it("does not take a note for the end of a change", () => {
    const noted = rowsOf({ notes: [note("n", { start: 4, end: 4 })] });
    const starts = noted.filter((_, index) => isChangeStart(noted, index)).map(short);
    expect(starts).toEqual(["4 . let limit = 10;", "21 . two", ". 1 fn added() {}"]);
  });

  it("finds the rows of a range", () => {
    const range = { path: "src/exec.rs", side: "new" as const, start: 4, end: 6 };
    expect(rows.filter((row) => isInRange(row, files, range)).map(short)).toEqual([
      ". 4 let limit = 20;",
      ". 5 let extra = 1;",
      "5 6 use c;",
    ]);
  });
});

function never(): never {
  throw new Error("missing");
}
