/**
 * The lines of a log that the page holds: one piece without a gap, of bounded size. What is added at one end pushes lines
 * out at the other.
 */
import type { ReviewerLogResponse } from "../../api/generated";

export interface LogLine {
  /** Of its first byte, since the log began. */
  offset: number;
  text: string;
}

export interface LogBuffer {
  lines: readonly LogLine[];
  /** The offset after the last line. */
  next: number;
  /** Bytes of the log, as far as the page knows. */
  total: number;
  /** Bytes at its beginning that the broker does not keep. */
  dropped: number;
  hasEnded: boolean;
  /** Bytes that were dropped between two lines while the page followed. */
  missed: number;
}

export type Part = Pick<ReviewerLogResponse, "text" | "from" | "next" | "total_bytes" | "dropped_bytes" | "ended">;

export const MAX_LINES = 40_000;
/** Long lines count by their length: a line may have 16 KiB. */
export const MAX_CHARS = 8 << 20;

export const EMPTY: LogBuffer = { lines: [], next: 0, total: 0, dropped: 0, hasEnded: false, missed: 0 };

/** The offset of the first line. */
export function startOf(buffer: LogBuffer): number {
  return buffer.lines[0]?.offset ?? buffer.next;
}

/** The buffer with a part alone. `isWhole`: the part begins with the beginning of a line. */
export function only(part: Part, isWhole = true): LogBuffer {
  const lines = linesOf(part);
  return withFacts(EMPTY, part, isWhole ? lines : lines.slice(1), part.next);
}

/** Adds a part at the end. Lines that are already there are left out. */
export function append(buffer: LogBuffer, part: Part): LogBuffer {
  const gap = part.from - buffer.next;
  const added = linesOf(part).filter(({ offset }) => offset >= buffer.next);
  const last = buffer.lines.at(-1);
  // A line that the last part ended in the middle of goes on.
  const goesOn = gap === 0 && last !== undefined && !last.text.endsWith("\n") && added[0] !== undefined;
  const joined = goesOn
    ? [...buffer.lines.slice(0, -1), { ...last, text: last.text + (added.shift()?.text ?? "") }, ...added]
    : buffer.lines.length === 0
      ? added
      : buffer.lines.concat(added);
  const missed = buffer.missed + (buffer.lines.length > 0 ? Math.max(0, gap) : 0);
  return { ...withFacts(buffer, part, joined.slice(overflow(joined)), Math.max(buffer.next, part.next)), missed };
}

/** Adds a part before the first line. It may begin in the middle of a line, which is left out. */
export function prepend(buffer: LogBuffer, part: Part): LogBuffer {
  const start = startOf(buffer);
  const isWhole = part.from <= part.dropped_bytes;
  const before = linesOf(part).filter(({ offset }, index) => (isWhole || index > 0) && offset < start);
  const joined = [...before, ...buffer.lines];
  const kept = joined.slice(0, joined.length - overflow(joined.toReversed()));
  const cut = joined[kept.length];
  return withFacts(buffer, part, kept, cut?.offset ?? buffer.next);
}

function withFacts(buffer: LogBuffer, part: Part, lines: readonly LogLine[], next: number): LogBuffer {
  return {
    ...buffer,
    lines,
    next,
    total: Math.max(buffer.total, part.total_bytes),
    dropped: part.dropped_bytes,
    hasEnded: part.ended,
  };
}

/** How many lines at the beginning are too many. */
function overflow(lines: readonly LogLine[]): number {
  let chars = 0;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    chars += lines[index]?.text.length ?? 0;
    if (chars > MAX_CHARS || lines.length - index > MAX_LINES) return index + 1;
  }
  return 0;
}

const encoder = new TextEncoder();

/** The lines of a part, each with its end, and with its offset in bytes. */
export function linesOf({ text, from, next }: Pick<Part, "text" | "from" | "next">): LogLine[] {
  const isAscii = next - from === text.length;
  const lines: LogLine[] = [];
  let offset = from;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = end === -1 ? text.slice(at) : text.slice(at, end + 1);
    lines.push({ offset, text: line });
    offset += isAscii ? line.length : encoder.encode(line).length;
    at += line.length;
  }
  return lines;
}

/** The index of the line at an offset, or of the last one before it. */
export function indexAt(lines: readonly LogLine[], offset: number): number {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle]?.offset ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** What a line of the log consists of: when, from where, and what the reviewer printed. */
export interface LogEntry {
  at: string | null;
  source: "out" | "err" | "broker" | null;
  text: string;
}

const ENTRY = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (out|err|---) ?(.*)$/s;

export function entryOf(line: string): LogEntry {
  const text = line.replace(/\r?\n$/, "");
  const [, at, source, rest] = ENTRY.exec(text) ?? [];
  if (at === undefined) return { at: null, source: null, text };
  return { at, source: source === "---" ? "broker" : (source as "out" | "err"), text: rest ?? "" };
}
