/**
 * Lines around the hunks that a reader asked for. A gap is what a diff leaves out: gap `n` stands above hunk `n`, the last
 * one below the last hunk. Both views show what `sectionsOf` says.
 */
import type { DiffLine, ParsedPatch, PatchFile } from "./patch";

/** How many lines of a gap are shown, below the hunk above it and above the hunk below it. */
export interface ShownLines {
  fromStart: number;
  fromEnd: number;
}

export interface FileContext {
  /** "failed" can be tried again, "unavailable" and "mismatch" stay. */
  state: "none" | "loading" | "ready" | "failed" | "unavailable" | "mismatch";
  /** The lines of the new file; `null` until they are loaded. */
  lines: readonly string[] | null;
  shown: Readonly<Record<number, ShownLines>>;
}

export const NO_CONTEXT: FileContext = { state: "none", lines: null, shown: {} };

export interface Gap {
  index: number;
  /** Lines that are still hidden; `null` if unknown because the file is not loaded. */
  hidden: number | null;
  /** Whether the hidden lines lie below a hunk, above a hunk. */
  isBelowHunk: boolean;
  isAboveHunk: boolean;
  /** The first hidden line of the new file. */
  firstHidden: number;
  /** The function around the hunk below. */
  section: string;
}

/** Lines without a gap between them. */
export interface Section {
  gap: Gap | null;
  lines: PlacedLine[];
}

export interface PlacedLine {
  /** Stays the same while lines are added around it. */
  key: string;
  line: DiffLine;
  /** A line that the diff does not contain. */
  isExtra: boolean;
}

export interface FileSections {
  sections: Section[];
  tail: Gap | null;
}

/** How many lines of context the diff was made with. */
export function contextSize(patch: ParsedPatch): number {
  let size = 0;
  for (const file of patch.files)
    for (const { lines } of file.hunks) size = Math.max(size, contextRun(lines, 1), contextRun(lines, -1));
  return size;
}

function contextRun(lines: readonly DiffLine[], step: 1 | -1): number {
  let run = 0;
  for (let at = step === 1 ? 0 : lines.length - 1; lines[at]?.kind === "context"; at += step) run += 1;
  return run;
}

interface Span {
  old: number;
  new: number;
  size: number | null;
  /** The sides skip different numbers of lines, which no real diff does: nothing can be shown there. */
  isContradictory: boolean;
}

/** Every gap of a file: where it begins on both sides, and its size. */
function gapsOf(file: PatchFile, context: FileContext, usualContext: number): Span[] {
  const gaps: Span[] = [];
  let old = 1;
  let fresh = 1;
  for (const hunk of file.hunks) {
    const oldStart = hunk.oldCount === 0 ? hunk.oldStart + 1 : hunk.oldStart;
    const newStart = hunk.newCount === 0 ? hunk.newStart + 1 : hunk.newStart;
    const size = newStart - fresh;
    const isContradictory = size < 0 || size !== oldStart - old;
    gaps.push({ old, new: fresh, size: isContradictory ? 0 : size, isContradictory });
    old = oldStart + hunk.oldCount;
    fresh = newStart + hunk.newCount;
  }
  const last = file.hunks.at(-1)?.lines ?? [];
  const isAtEnd =
    file.hunks.length === 0 ||
    file.change === "added" ||
    file.change === "deleted" ||
    last.some((line) => line.endMarker !== null) ||
    contextRun(last, -1) < usualContext;
  const rest = context.lines === null ? null : Math.max(context.lines.length - (fresh - 1), 0);
  gaps.push({ old, new: fresh, size: isAtEnd && context.lines === null ? 0 : rest, isContradictory: false });
  return gaps;
}

/** Whether both sides skip as many lines between hunks, as in every real diff. */
export function hasOrderlyHunks(file: PatchFile): boolean {
  return gapsOf(file, NO_CONTEXT, 0).every((gap) => !gap.isContradictory);
}

export function sectionsOf(file: PatchFile, context: FileContext, usualContext: number): FileSections {
  const gaps = gapsOf(file, context, usualContext);
  const sections: Section[] = [];
  let open: PlacedLine[] | null = null;
  const extra = (gap: Span, index: number, from: number, to: number): PlacedLine[] => {
    const lines: PlacedLine[] = [];
    for (let at = from; at < to; at += 1) {
      const text = context.lines?.[gap.new - 1 + at];
      if (text === undefined) break;
      const line: DiffLine = { kind: "context", old: gap.old + at, new: gap.new + at, text, endMarker: null };
      lines.push({ key: `${index}+${at}`, line, isExtra: true });
    }
    return lines;
  };
  let tail: Gap | null = null;
  for (const [index, gap] of gaps.entries()) {
    const hunk = file.hunks[index];
    const size = gap.size;
    const shown = context.lines === null ? undefined : context.shown[index];
    const fromStart = Math.min(shown?.fromStart ?? 0, size ?? 0);
    const fromEnd = Math.min(shown?.fromEnd ?? 0, (size ?? 0) - fromStart);
    const hidden = size === null ? null : size - fromStart - fromEnd;
    if (fromStart > 0) {
      if (open === null) {
        open = [];
        sections.push({ gap: null, lines: open });
      }
      for (const line of extra(gap, index, 0, fromStart)) open.push(line);
    }
    const rest: Gap | null =
      hidden === 0
        ? null
        : {
            index,
            hidden,
            isBelowHunk: index > 0,
            isAboveHunk: hunk !== undefined,
            firstHidden: gap.new + fromStart,
            section: hunk?.section ?? "",
          };
    if (hunk === undefined) {
      tail = rest;
      break;
    }
    if (rest !== null || open === null || gap.isContradictory) {
      open = [];
      sections.push({ gap: rest, lines: open });
    }
    for (const line of extra(gap, index, (size ?? 0) - fromEnd, size ?? 0)) open.push(line);
    for (const [at, line] of hunk.lines.entries()) open.push({ key: `${index}.${at}`, line, isExtra: false });
  }
  return { sections, tail };
}

/** The lines of a text as the diff counts them. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Whether the loaded text is the new file that the diff describes. */
export function matches(file: PatchFile, lines: readonly string[]): boolean {
  return file.hunks.every((hunk) => hunk.lines.every((line) => line.new === null || lines[line.new - 1] === line.text));
}

export const STEP = 20;

/** Shows more of a gap. `from` says at which end the lines appear. */
export function expanded(
  context: FileContext,
  gap: number,
  from: "start" | "end" | "both",
  count: number,
): FileContext {
  const shown = context.shown[gap] ?? { fromStart: 0, fromEnd: 0 };
  const next: ShownLines = {
    fromStart: shown.fromStart + (from === "end" ? 0 : count),
    fromEnd: shown.fromEnd + (from === "end" ? count : 0),
  };
  return { ...context, shown: { ...context.shown, [gap]: next } };
}

/** Shows the whole file. */
export function expandedFully(file: PatchFile, context: FileContext): FileContext {
  const all = Object.fromEntries([...file.hunks.keys(), file.hunks.length].map((gap) => [gap, ALL]));
  return { ...context, shown: all };
}

const ALL: ShownLines = { fromStart: Number.MAX_SAFE_INTEGER, fromEnd: 0 };

/** Shows the lines around `line`, so that a note there has its place. */
export function expandedAround(file: PatchFile, context: FileContext, side: "old" | "new", line: number): FileContext {
  const gaps = gapsOf(file, context, 0);
  const index = gaps.findLastIndex((gap) => gap[side] <= line);
  const gap = gaps[index];
  if (gap === undefined || gap.size === null || line >= gap[side] + gap.size) return context;
  const shown = context.shown[index] ?? { fromStart: 0, fromEnd: 0 };
  const above = line - gap[side] + 1 + LINES_AROUND;
  const below = gap[side] + gap.size - line + LINES_AROUND;
  const isNearEnd = below < above && index < file.hunks.length;
  const next: ShownLines = isNearEnd
    ? { ...shown, fromEnd: Math.max(shown.fromEnd, below) }
    : { ...shown, fromStart: Math.max(shown.fromStart, above) };
  return { ...context, shown: { ...context.shown, [index]: next } };
}

const LINES_AROUND = 3;
