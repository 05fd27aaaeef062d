/** Finds text in all lines of a diff, also in folded files. The browser's own search sees only the lines on screen. */
import type { FileSections } from "./context";
import type { Side } from "./notes";
import type { PatchFile } from "./patch";

export interface Match {
  file: number;
  /** Of the line, or the number in the patch of a line that could not be read. */
  side: Side | "raw";
  line: number;
  /** Positions in the text of the line. */
  start: number;
  end: number;
}

export interface Found {
  matches: readonly Match[];
  /** There are more than could be listed. */
  isCut: boolean;
}

export const MAX_MATCHES = 10_000;
export const NOTHING_FOUND: Found = { matches: [], isCut: false };

/** Case counts only if the query has an upper case letter. */
export function queryPattern(query: string): RegExp | null {
  if (query === "") return null;
  const escaped = query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(escaped, /\p{Lu}/u.test(query) ? "gu" : "giu");
}

export function findInDiff(files: readonly PatchFile[], sections: readonly FileSections[], query: string): Found {
  const pattern = queryPattern(query);
  if (pattern === null) return NOTHING_FOUND;
  const matches: Match[] = [];
  const search = (text: string, file: number, side: Match["side"], line: number): boolean => {
    for (const [start, end] of spans(text, pattern)) {
      matches.push({ file, side, line, start, end });
      if (matches.length >= MAX_MATCHES) return false;
    }
    return true;
  };
  for (const file of files) {
    if (file.kind === "unreadable") {
      for (const [at, text] of file.text.split("\n").entries())
        if (!search(text, file.index, "raw", file.firstLine + at)) return { matches, isCut: true };
      continue;
    }
    for (const section of sections[file.index]?.sections ?? [])
      for (const { line } of section.lines) {
        const side = line.new === null ? "old" : "new";
        if (!search(line.text, file.index, side, line[side] ?? 0)) return { matches, isCut: true };
      }
  }
  return { matches, isCut: false };
}

export function spans(text: string, pattern: RegExp): [number, number][] {
  const found: [number, number][] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    found.push([match.index, pattern.lastIndex]);
    if (pattern.lastIndex === match.index) pattern.lastIndex += 1;
  }
  return found;
}

/** What the views highlight. */
export interface FindMarks {
  pattern: RegExp | null;
  current: Match | null;
}

export const NO_MARKS: FindMarks = { pattern: null, current: null };

/** The first match at or after a place, in the order of the diff. */
export function matchFrom(matches: readonly Match[], file: number, line: number): number {
  const at = matches.findIndex((match) => match.file > file || (match.file === file && match.line >= line));
  return at === -1 ? 0 : at;
}
