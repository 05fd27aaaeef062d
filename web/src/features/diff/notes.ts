/** Where the notes of a review stand in its diff. None is ever dropped. */
import type { FileSections } from "./context";
import type { PatchFile } from "./patch";

export type Side = "old" | "new";

export interface LineRange {
  path: string;
  side: Side;
  start: number;
  end: number;
}

/** A finding, a draft or a message. `rank` is its severity: 4 = critical … 0 = none. */
export interface DiffNote {
  id: string;
  /** `null`: about no file. */
  path: string | null;
  side: Side;
  /** `null`: about the whole file. */
  start: number | null;
  end: number | null;
  rank: 0 | 1 | 2 | 3 | 4;
}

export interface PlacedNotes {
  files: readonly FileNotes[];
  /** Notes about no file, or about a file that the diff does not contain. */
  elsewhere: readonly DiffNote[];
  /** The file of each note that has one. */
  fileOf: ReadonlyMap<string, number>;
}

export interface FileNotes {
  /** In the head of the file: without a line, or their lines are not shown. */
  head: readonly DiffNote[];
  /** By the key of the line under which they stand. */
  byLine: ReadonlyMap<string, readonly DiffNote[]>;
  count: number;
  worst: DiffNote["rank"];
}

const NO_LINES: ReadonlyMap<string, readonly DiffNote[]> = new Map();
const NO_NOTES: FileNotes = { head: [], byLine: NO_LINES, count: 0, worst: 0 };

export function placeNotes(
  files: readonly PatchFile[],
  sections: readonly FileSections[],
  notes: readonly DiffNote[],
): PlacedNotes {
  const byPath = filesByPath(files);
  const places = new Map<number, LineKeys>();
  const keysOf = (file: number) => {
    const keys = places.get(file) ?? lineKeys(sections[file]);
    places.set(file, keys);
    return keys;
  };
  const elsewhere: DiffNote[] = [];
  const found = new Map<number, { head: DiffNote[]; byLine: Map<string, DiffNote[]> }>();
  const fileOf = new Map<string, number>();
  for (const note of notes) {
    const candidates = note.path === null ? undefined : byPath[note.side].get(note.path);
    if (candidates === undefined) {
      elsewhere.push(note);
      continue;
    }
    const [file, key] = firstPlace(candidates, (candidate) => lineOf(keysOf(candidate), note));
    const own = found.get(file) ?? { head: [], byLine: new Map<string, DiffNote[]>() };
    found.set(file, own);
    fileOf.set(note.id, file);
    if (key === null) own.head.push(note);
    else own.byLine.set(key, [...(own.byLine.get(key) ?? []), note]);
  }
  return {
    files: files.map((_, index) => {
      const own = found.get(index);
      if (own === undefined) return NO_NOTES;
      const all = [...own.head, ...[...own.byLine.values()].flat()];
      return { ...own, count: all.length, worst: Math.max(...all.map((note) => note.rank)) as DiffNote["rank"] };
    }),
    elsewhere,
    fileOf,
  };
}

/** A path may occur several times, in a patch of several mails. */
function filesByPath(files: readonly PatchFile[]): Record<Side, Map<string, number[]>> {
  const byPath = { old: new Map<string, number[]>(), new: new Map<string, number[]>() };
  const add = (side: Side, path: string, index: number) => {
    const known = byPath[side].get(path);
    if (known === undefined) byPath[side].set(path, [index]);
    else if (!known.includes(index)) known.push(index);
  };
  for (const { kind, oldPath, newPath, index } of files) {
    if (kind === "unreadable") continue;
    if (newPath !== null) add("new", newPath, index);
    if (oldPath !== null) add("old", oldPath, index);
  }
  // A finding may name a deleted file by its only path, or a renamed file by the other one.
  for (const { kind, oldPath, newPath, index } of files) {
    if (kind === "unreadable") continue;
    if (oldPath !== null && !byPath.new.has(oldPath)) add("new", oldPath, index);
    if (newPath !== null && !byPath.old.has(newPath)) add("old", newPath, index);
  }
  return byPath;
}

function firstPlace(candidates: readonly number[], place: (file: number) => string | null): [number, string | null] {
  for (const file of candidates) {
    const key = place(file);
    if (key !== null) return [file, key];
  }
  return [candidates[0] ?? 0, null];
}

type LineKeys = Record<Side, Map<number, string>>;

function lineKeys(sections: FileSections | undefined): LineKeys {
  const keys: LineKeys = { old: new Map(), new: new Map() };
  for (const section of sections?.sections ?? [])
    for (const { key, line } of section.lines) {
      if (line.old !== null && !keys.old.has(line.old)) keys.old.set(line.old, key);
      if (line.new !== null && !keys.new.has(line.new)) keys.new.set(line.new, key);
    }
  return keys;
}

/** The last shown line of the note's range. */
function lineOf(keys: LineKeys, note: DiffNote): string | null {
  if (note.start === null) return null;
  const end = Math.max(note.end ?? note.start, note.start);
  const shown = keys[note.side];
  if (end - note.start < shown.size) {
    for (let line = end; line >= note.start; line -= 1) {
      const key = shown.get(line);
      if (key !== undefined) return key;
    }
    return null;
  }
  // A range of a billion lines is walked from the side of the diff.
  let best: [number, string] | null = null;
  for (const [line, key] of shown) if (line >= note.start && line <= end && line > (best?.[0] ?? 0)) best = [line, key];
  return best?.[1] ?? null;
}

/** "line 12", "lines 12 to 20", "old line 7". */
export function rangeWords({ side, start, end }: Pick<LineRange, "side" | "start" | "end">): string {
  const prefix = side === "old" ? "old " : "";
  return start === end ? `${prefix}line ${start}` : `${prefix}lines ${start} to ${end}`;
}
