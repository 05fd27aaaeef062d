/** Where the notes lie in the whole diff, for the strip beside it. */
import type { DiffNote } from "./notes";
import type { Row } from "./rows";

/** Notes that lie closer than this together are one mark. */
const STEP = 0.02;

export interface MinimapMark {
  /** The first note. */
  id: string;
  count: number;
  worst: DiffNote["rank"];
  /** From 0, the top of the diff, to 1. */
  at: number;
}

export function minimapMarks(rows: readonly Row[]): MinimapMark[] {
  const marks: MinimapMark[] = [];
  for (const [index, row] of rows.entries()) {
    if (row.type !== "note") continue;
    const { id, rank } = row.note;
    const at = index / rows.length;
    const last = marks.at(-1);
    if (last !== undefined && at - last.at < STEP) {
      marks[marks.length - 1] = {
        ...last,
        count: last.count + 1,
        worst: Math.max(last.worst, rank) as DiffNote["rank"],
      };
    } else marks.push({ id, count: 1, worst: rank, at });
  }
  return marks;
}
