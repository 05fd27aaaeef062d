/** The rows of a diff, flat over all files, for one line or two lines side by side. Pure: both kinds of rows are tested here. */
import type { FileSections, Gap, PlacedLine } from "./context";
import { emptyWords, problemWords } from "./describe";
import type { DiffNote, LineRange, PlacedNotes, Side } from "./notes";
import type { DiffLine, PatchFile } from "./patch";

/** A part of a line that differs from the line beside it. */
export type Emphasis = readonly [from: number, to: number] | null;

export interface Cell {
  line: DiffLine;
  emphasis: Emphasis;
}

interface RowBase {
  /** Stays the same while other rows come and go. */
  key: string;
  /** Index of the file; -1 below the last file. */
  file: number;
}

export type Row = RowBase &
  (
    | { type: "head" }
    | { type: "text"; text: string; isProblem: boolean }
    | { type: "note"; note: DiffNote; isInHead: boolean }
    | { type: "gap"; gap: Gap }
    | { type: "line"; cell: Cell; isExtra: boolean }
    | { type: "pair"; old: Cell | null; new: Cell | null; isExtra: boolean }
    | { type: "raw"; number: number; text: string }
    | { type: "elsewhere"; notes: readonly DiffNote[] }
  );

export type LineRow = Extract<Row, { type: "line" | "pair" }>;

export interface RowsInput {
  files: readonly PatchFile[];
  sections: readonly FileSections[];
  notes: PlacedNotes;
  /** Files that show nothing but their head. */
  folded: ReadonlySet<number>;
  layout: "unified" | "split";
}

export function buildRows({ files, sections, notes, folded, layout }: RowsInput): Row[] {
  const rows: Row[] = [];
  for (const file of files) {
    const { index } = file;
    rows.push({ type: "head", key: `${index}`, file: index });
    if (folded.has(index)) continue;
    pushText(rows, file);
    const own = notes.files[index];
    for (const note of own?.head ?? [])
      rows.push({ type: "note", key: `note ${note.id}`, file: index, note, isInHead: true });
    const shown = sections[index];
    for (const section of shown?.sections ?? []) {
      if (section.gap !== null) rows.push(gapRow(index, section.gap));
      const lines =
        layoutOf(file, layout) === "unified" ? unifiedRows(index, section.lines) : splitRows(index, section.lines);
      for (const [row, keys] of lines) {
        rows.push(row);
        if (own === undefined || own.byLine.size === 0) continue;
        for (const key of keys)
          for (const note of own.byLine.get(key) ?? [])
            rows.push({ type: "note", key: `note ${note.id}`, file: index, note, isInHead: false });
      }
    }
    if (shown !== undefined && shown.tail !== null) rows.push(gapRow(index, shown.tail));
  }
  if (notes.elsewhere.length > 0) rows.push({ type: "elsewhere", key: "elsewhere", file: -1, notes: notes.elsewhere });
  return rows;
}

/** A file with one side needs no second column. */
export function layoutOf(file: PatchFile, layout: "unified" | "split"): "unified" | "split" {
  return file.change === "added" || file.change === "deleted" ? "unified" : layout;
}

function pushText(rows: Row[], file: PatchFile): void {
  const { index } = file;
  const problem = problemWords(file);
  const empty = emptyWords(file);
  if (problem !== null)
    rows.push({ type: "text", key: `${index} problem`, file: index, text: problem, isProblem: file.problem !== "" });
  if (empty !== null) rows.push({ type: "text", key: `${index} empty`, file: index, text: empty, isProblem: false });
  if (file.kind !== "unreadable") return;
  const lines = file.text.endsWith("\n") ? file.text.slice(0, -1).split("\n") : file.text.split("\n");
  for (const [at, text] of lines.entries())
    rows.push({ type: "raw", key: `${index} raw ${at}`, file: index, number: file.firstLine + at, text });
}

const gapRow = (file: number, gap: Gap): Row => ({ type: "gap", key: `${file} gap ${gap.index}`, file, gap });

type KeyedRow = [row: Row, lineKeys: string[]];

function unifiedRows(file: number, lines: readonly PlacedLine[]): KeyedRow[] {
  return withEmphasis(lines).map(([{ key, line, isExtra }, emphasis]) => [
    { type: "line", key: `${file}:${key}`, file, cell: { line, emphasis }, isExtra },
    [key],
  ]);
}

function splitRows(file: number, lines: readonly PlacedLine[]): KeyedRow[] {
  const rows: KeyedRow[] = [];
  const all = withEmphasis(lines);
  for (let at = 0; at < all.length; ) {
    const entry = all[at];
    if (entry === undefined) break;
    const [{ key, line, isExtra }, emphasis] = entry;
    if (line.kind === "context") {
      const cell = { line, emphasis };
      rows.push([{ type: "pair", key: `${file}:${key}`, file, old: cell, new: cell, isExtra }, [key]]);
      at += 1;
      continue;
    }
    const removed = all.slice(at, runEnd(all, at, "removed"));
    const added = all.slice(at + removed.length, runEnd(all, at + removed.length, "added"));
    for (let pair = 0; pair < Math.max(removed.length, added.length); pair += 1) {
      const [left, right] = [removed[pair], added[pair]];
      const keys = [left, right].flatMap((side) => (side === undefined ? [] : [side[0].key]));
      rows.push([
        {
          type: "pair",
          key: `${file}:${keys[0]}`,
          file,
          old: left === undefined ? null : { line: left[0].line, emphasis: left[1] },
          new: right === undefined ? null : { line: right[0].line, emphasis: right[1] },
          isExtra: false,
        },
        keys,
      ]);
    }
    at += removed.length + added.length;
  }
  return rows;
}

type Emphasized = [placed: PlacedLine, emphasis: Emphasis];

/** Marks what differs where as many lines were added as removed. */
function withEmphasis(lines: readonly PlacedLine[]): Emphasized[] {
  const all = lines.map((placed): Emphasized => [placed, null]);
  for (let at = 0; at < all.length; ) {
    if (all[at]?.[0].line.kind !== "removed") {
      at += 1;
      continue;
    }
    const middle = runEnd(all, at, "removed");
    const end = runEnd(all, middle, "added");
    for (let pair = at; end - middle === middle - at && pair < middle; pair += 1) {
      const [old, fresh] = [all[pair], all[pair + middle - at]];
      if (old === undefined || fresh === undefined) continue;
      [old[1], fresh[1]] = differing(old[0].line.text, fresh[0].line.text);
    }
    at = Math.max(end, at + 1);
  }
  return all;
}

function runEnd(all: readonly Emphasized[], from: number, kind: DiffLine["kind"]): number {
  let end = from;
  while (all[end]?.[0].line.kind === kind) end += 1;
  return end;
}

const MAX_EMPHASIS_LENGTH = 500;
const isWord = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/** What is left of two lines without their common beginning and end, widened to whole words. */
export function differing(old: string, fresh: string): [Emphasis, Emphasis] {
  const shorter = Math.min(old.length, fresh.length);
  if (old === fresh || Math.max(old.length, fresh.length) > MAX_EMPHASIS_LENGTH) return [null, null];
  let start = 0;
  while (start < shorter && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  while (start > 0 && isWord(old[start - 1]) && (isWord(old[start]) || isWord(fresh[start]))) start -= 1;
  while (end > 0 && isWord(old.at(-end)) && (isWord(old.at(-end - 1)) || isWord(fresh.at(-end - 1)))) end -= 1;
  // Half a surrogate pair is not a character.
  if (/[\ud800-\udbff]/.test(old[start - 1] ?? "")) start -= 1;
  if (/[\udc00-\udfff]/.test(old.at(-end) ?? "") && end > 0) end -= 1;
  const common = old.slice(0, start).trim().length + (end > 0 ? old.slice(-end).trim().length : 0);
  // Lines with little in common are different lines, not a changed one.
  if (common * 3 < Math.min(old.trim().length, fresh.trim().length)) return [null, null];
  const part = (length: number): Emphasis => (length - end > start ? [start, length - end] : null);
  return [part(old.length), part(fresh.length)];
}

/** The line of a row on one side, if it has one there. */
export function lineOn(row: Row, side: Side): DiffLine | null {
  if (row.type === "line") return row.cell.line[side] === null ? null : row.cell.line;
  if (row.type === "pair") return row[side]?.line ?? null;
  return null;
}

export function isLineRow(row: Row | undefined): row is LineRow {
  return row?.type === "line" || row?.type === "pair";
}

/** The path by which a range names the file. */
export function pathOn(file: PatchFile, side: Side): string {
  return (side === "old" ? (file.oldPath ?? file.newPath) : (file.newPath ?? file.oldPath)) ?? file.path;
}

/** The side that a row is about if the reader does not say which: the new one, unless the line was removed. */
export function sideOf(row: LineRow): Side {
  return lineOn(row, "new") === null ? "old" : "new";
}

/** The range of one row. */
export function rangeOf(row: LineRow, files: readonly PatchFile[], side: Side = sideOf(row)): LineRange | null {
  const file = files[row.file];
  const number = lineOn(row, side)?.[side] ?? null;
  return file === undefined || number === null ? null : { path: pathOn(file, side), side, start: number, end: number };
}

/** Whether a row lies in a range, on the side of the range. */
export function isInRange(row: Row, files: readonly PatchFile[], range: LineRange | null): boolean {
  if (range === null) return false;
  const file = files[row.file];
  const number = lineOn(row, range.side)?.[range.side] ?? null;
  if (file === undefined || number === null || number < range.start || number > range.end) return false;
  return pathOn(file, range.side) === range.path;
}

/** The row of a line; -1 if it is not shown. */
export function findRow(
  rows: readonly Row[],
  files: readonly PatchFile[],
  range: LineRange,
  at: "start" | "end",
): number {
  const wanted: LineRange = { ...range, start: range[at], end: range[at] };
  return rows.findIndex((row) => isLineRow(row) && isInRange(row, files, wanted));
}
