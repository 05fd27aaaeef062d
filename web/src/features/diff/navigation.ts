/** Where "next change", "next note" and "next file" lead. */
import type { FileSections } from "./context";
import { isChangeStart } from "./cursor";
import type { LineRange, PlacedNotes } from "./notes";
import type { PatchFile } from "./patch";
import { isLineRow, lineOn, type Row, rangeOf } from "./rows";
import type { Place } from "./viewer";

/** The first line of the next change, seen from a row. */
export function nextChange(
  rows: readonly Row[],
  files: readonly PatchFile[],
  from: number,
  step: 1 | -1,
): { file: number; range: LineRange } | null {
  for (let at = from + step; at >= 0 && at < rows.length; at += step) {
    const row = rows[at];
    const range = isLineRow(row) && isChangeStart(rows, at) ? rangeOf(row, files) : null;
    if (row !== undefined && range !== null) return { file: row.file, range };
  }
  return null;
}

/** The row before a place, so that the next change may begin right there; -1 at the top. */
export function rowBefore(rows: readonly Row[], { file, side, line }: Place): number {
  const at = rows.findIndex((row) => row.file === file && (line === null || lineOn(row, side)?.[side] === line));
  return Math.max(at - 1, -1);
}

/** A note and its file; -1 for notes elsewhere. */
export interface NotePlace {
  id: string;
  file: number;
}

/** All notes in the order of the diff, also those of folded files. */
export function notesInOrder(
  files: readonly PatchFile[],
  sections: readonly FileSections[],
  placed: PlacedNotes,
): NotePlace[] {
  const inFiles = files.flatMap(({ index }) => {
    const own = placed.files[index];
    if (own === undefined || own.count === 0) return [];
    const inLines = (sections[index]?.sections ?? []).flatMap(({ lines }) =>
      lines.flatMap(({ key }) => own.byLine.get(key) ?? []),
    );
    return [...own.head, ...inLines].map(({ id }) => ({ id, file: index }));
  });
  return [...inFiles, ...placed.elsewhere.map(({ id }) => ({ id, file: -1 }))];
}

/** The next note, and the first one again after the last. `shown` counts while the reader is still at its file. */
export function nextNote(
  order: readonly NotePlace[],
  shown: string | null,
  current: number,
  step: 1 | -1,
): string | null {
  const at = order.findIndex(({ id }) => id === shown);
  const file = order[at]?.file;
  if (file === current || file === -1) return order.at((at + step) % order.length)?.id ?? null;
  const next =
    step === 1
      ? order.find((note) => note.file >= current || note.file === -1)
      : order.findLast((note) => note.file !== -1 && note.file <= current);
  return (next ?? order.at(step === 1 ? 0 : -1))?.id ?? null;
}

/** The next file that is left to read: after `current`, else from the start, else none. */
export function nextLeft(
  files: readonly PatchFile[],
  current: number,
  isLeft: (file: PatchFile) => boolean,
): PatchFile | undefined {
  return (
    files.find((file) => file.index > current && isLeft(file)) ??
    files.find((file) => file.index !== current && isLeft(file))
  );
}
