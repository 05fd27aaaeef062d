/** Moves the selected lines by keys and by mouse. Both views use it, so that keys mean the same in both. */
import type { LineRange, Side } from "./notes";
import type { PatchFile } from "./patch";
import { findRow, isInRange, isLineRow, type LineRow, lineOn, type Row, rangeOf, sideOf } from "./rows";

export interface Cursor {
  range: LineRange;
  /** The end that Shift and an arrow move. */
  active: "start" | "end";
}

interface Place {
  rows: readonly Row[];
  files: readonly PatchFile[];
}

/** The row that the cursor stands on; -1 if it is not shown. */
export function cursorRow({ rows, files }: Place, cursor: Cursor): number {
  return findRow(rows, files, cursor.range, cursor.active);
}

/** The next line row from `from`, in the direction of `step`. */
export function nextLineRow(
  rows: readonly Row[],
  from: number,
  step: 1 | -1,
  isWanted: (row: LineRow) => boolean,
): number {
  for (let at = from + step; at >= 0 && at < rows.length; at += step) {
    const row = rows[at];
    if (isLineRow(row) && isWanted(row)) return at;
  }
  return -1;
}

/** One line up or down. `side` is preferred where a row has two. */
export function moved(place: Place, from: number, step: 1 | -1, side: Side | null): Cursor | null {
  return atRow(
    place,
    nextLineRow(place.rows, from, step, () => true),
    side,
  );
}

export function atRow({ rows, files }: Place, index: number, side: Side | null): Cursor | null {
  const row = rows[index];
  if (!isLineRow(row)) return null;
  const own = row.type === "pair" && side !== null && lineOn(row, side) !== null ? side : sideOf(row);
  const range = rangeOf(row, files, own);
  return range === null ? null : { range, active: "end" };
}

/** The other side of a row with two lines. */
export function toSide(place: Place, index: number, side: Side): Cursor | null {
  const row = place.rows[index];
  return row?.type === "pair" && lineOn(row, side) !== null ? atRow(place, index, side) : null;
}

/** Extends or shrinks the range by one line of its side. It never leaves the file. */
export function extended(place: Place, cursor: Cursor, step: 1 | -1): Cursor | null {
  const { range } = cursor;
  const from = cursorRow(place, cursor);
  const file = place.rows[from]?.file;
  const next = nextLineRow(place.rows, from, step, (row) => lineOn(row, range.side) !== null);
  const row = place.rows[next];
  if (from === -1 || row === undefined || row.file !== file) return null;
  return extendedTo(place, cursor, next);
}

/** The range from the resting end of the cursor to a row, as Shift and a click make it. */
export function extendedTo({ rows, files }: Place, cursor: Cursor, index: number): Cursor | null {
  const row = rows[index];
  const { range } = cursor;
  const number = row === undefined ? null : (lineOn(row, range.side)?.[range.side] ?? null);
  if (row === undefined || number === null) return null;
  if (!isInRange(row, files, { ...range, start: number, end: number })) return null;
  const resting = cursor.active === "end" ? range.start : range.end;
  return number >= resting
    ? { range: { ...range, start: resting, end: number }, active: "end" }
    : { range: { ...range, start: number, end: resting }, active: "start" };
}

/** The cursor of a selection that came from outside, keeping its moving end if it is the same. */
export function cursorOf(selection: LineRange | null, known: Cursor | null): Cursor | null {
  if (selection === null) return null;
  const isSame =
    known !== null &&
    known.range.path === selection.path &&
    known.range.side === selection.side &&
    known.range.start === selection.start &&
    known.range.end === selection.end;
  return isSame ? known : { range: selection, active: "end" };
}

/** The first lines of changes: where a changed line follows a row that is not one. Notes do not part a change. */
export function isChangeStart(rows: readonly Row[], index: number): boolean {
  let above = index - 1;
  while (rows[above]?.type === "note") above -= 1;
  return isChanged(rows[index]) && !isChanged(rows[above]);
}

function isChanged(row: Row | undefined): boolean {
  if (row?.type === "line") return row.cell.line.kind !== "context";
  return row?.type === "pair" && (row.old?.line.kind === "removed" || row.new?.line.kind === "added");
}

export type KeyAction = { do: "select"; cursor: Cursor } | { do: "comment"; range: LineRange } | { do: "clear" };

interface KeyInput {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** What a key does to the selected lines. `here` is the row of the cursor, or the first one in sight. */
export function actionOfKey(
  place: Place,
  event: KeyInput,
  here: number,
  { cursor, side, areKeysOn }: { cursor: Cursor | null; side: Side | null; areKeysOn: boolean },
): KeyAction | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const current = cursor ?? atRow(place, here, side);
  const select = (next: Cursor | null): KeyAction | null => (next === null ? null : { do: "select", cursor: next });
  switch (event.key) {
    case "ArrowDown":
    case "ArrowUp": {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (event.shiftKey) return select(current === null ? null : extended(place, current, step));
      return select(moved(place, here, step, side));
    }
    case "ArrowLeft":
      return select(toSide(place, here, "old"));
    case "ArrowRight":
      return select(toSide(place, here, "new"));
    case "c":
      return areKeysOn && !event.shiftKey && current !== null ? { do: "comment", range: current.range } : null;
    case "Enter":
      return current === null ? null : { do: "comment", range: current.range };
    case "Escape":
      return cursor === null ? null : { do: "clear" };
    default:
      return null;
  }
}

/** The lines between two places that may lie on different sides: those of the new file if there are any. */
export function between(place: Place, from: number, to: number): LineRange | null {
  const rows = place.rows.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const side of ["new", "old"] as const) {
    const numbers = rows.flatMap((row) => lineOn(row, side)?.[side] ?? []);
    const first = rows.find((row): row is LineRow => isLineRow(row) && lineOn(row, side) !== null);
    const range = first === undefined ? null : rangeOf(first, place.files, side);
    if (range !== null) return { ...range, start: Math.min(...numbers), end: Math.max(...numbers) };
  }
  return null;
}
