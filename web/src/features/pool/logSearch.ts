/** Looks for a text in a whole log, part by part, and keeps only where it is. */
import { call } from "../../api/client";
import { withoutColours } from "../../text/ansi";
import { entryOf, type LogLine, linesOf } from "./logBuffer";

export interface Found {
  /** Offsets of lines that contain the text, in order. */
  offsets: readonly number[];
  /** How much of the log was read, 0 to 1. */
  progress: number;
  isDone: boolean;
  /** More lines contain it than are kept. */
  hasMore: boolean;
}

export const NOTHING: Found = { offsets: [], progress: 0, isDone: true, hasMore: false };
export const MAX_FOUND = 5_000;
const PIECE_BYTES = 1 << 20;

export function matcher(query: string): (line: LogLine) => boolean {
  const wanted = query.toLowerCase();
  return ({ text }) => withoutColours(entryOf(text).text).toLowerCase().includes(wanted);
}

/** Reports after every part. A reader that follows finds later lines by searching again. */
export async function searchLog(
  reviewer: string,
  query: string,
  report: (found: Found) => void,
  signal: AbortSignal,
): Promise<void> {
  const matches = matcher(query);
  let offsets: number[] = [];
  for (let from = 0, isDone = false; !isDone; ) {
    const part = await call("get_reviewer_logs", { reviewer_id: reviewer, from, bytes: PIECE_BYTES }, { signal });
    if (signal.aborted) return;
    const found = linesOf(part)
      .filter(matches)
      .map(({ offset }) => offset);
    if (found.length > 0) offsets = [...offsets, ...found].slice(0, MAX_FOUND);
    const hasMore = offsets.length === MAX_FOUND;
    isDone = hasMore || part.next >= part.total_bytes || part.next === from;
    const all = part.total_bytes - part.dropped_bytes;
    const progress = isDone || all === 0 ? 1 : (part.next - part.dropped_bytes) / all;
    report({ offsets, progress, isDone, hasMore });
    from = part.next;
  }
}
