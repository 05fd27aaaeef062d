import { expect, test } from "vitest";
import { minimapMarks } from "./minimap";
import type { DiffNote } from "./notes";
import type { Row } from "./rows";

const line = (key: string): Row => ({ type: "head", key, file: 0 });
const note = (id: string, rank: DiffNote["rank"]): Row => ({
  type: "note",
  key: id,
  file: 0,
  isInHead: false,
  note: { id, path: "a", side: "new", start: 1, end: 1, rank },
});

test("notes stand where their rows are, and neighbours are one mark with the worst severity", () => {
  const rows = Array.from({ length: 200 }, (_, index) => line(`${index}`));
  rows[100] = note("a", 1);
  rows[101] = note("b", 4);
  rows[150] = note("c", 0);
  expect(minimapMarks(rows)).toEqual([
    { id: "a", count: 2, worst: 4, at: 0.5 },
    { id: "c", count: 1, worst: 0, at: 0.75 },
  ]);
  expect(minimapMarks([])).toEqual([]);
});
