import { useCallback, useEffect, useRef, useState } from "react";
import { call, isCode, isRetryable } from "../../api/client";
import { append, EMPTY, type LogBuffer, only, prepend, startOf } from "./logBuffer";
import { type LogStart, readLog } from "./logStream";

/** How much is shown at first. */
const FIRST_LINES = 2_000;
/** How much is loaded at once above or below what is shown. */
const PIECE_BYTES = 256 << 10;
const RETRY_MS = 1_000;

export interface Log {
  buffer: LogBuffer;
  /** New output appears by itself. */
  isFollowing: boolean;
  /** The broker has answered. */
  isLoaded: boolean;
  error: Error | null;
  follow: () => void;
  pause: () => void;
  loadEarlier: () => void;
  loadLater: () => void;
  /** Shows the part around an offset. */
  jumpTo: (offset: number) => Promise<void>;
}

/** The log of a reviewer: while it is followed by one stream, else by the parts that a reader asks for. */
export function useLog(reviewer: string): Log {
  const [buffer, setBuffer] = useState<LogBuffer>(EMPTY);
  const [isFollowing, setFollowing] = useState(true);
  const [isLoaded, setLoaded] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(buffer);
  latest.current = buffer;
  // Of the calls for parts only the last one counts.
  const lastCall = useRef(0);
  const isBusy = useRef(false);

  useEffect(() => {
    if (!isFollowing) return;
    const stop = new AbortController();
    const apply = (change: (buffer: LogBuffer) => LogBuffer) => {
      latest.current = change(latest.current);
      setBuffer(latest.current);
      setLoaded(true);
      setError(null);
    };
    void followLog(reviewer, () => latest.current, apply, setError, stop.signal);
    return () => stop.abort();
  }, [reviewer, isFollowing]);

  const load = useCallback(
    async (from: number, bytes: number, change: (part: Parameters<typeof append>[1]) => LogBuffer) => {
      lastCall.current += 1;
      const own = lastCall.current;
      isBusy.current = true;
      try {
        const part = await call("get_reviewer_logs", { reviewer_id: reviewer, from, bytes: Math.max(1024, bytes) });
        if (own !== lastCall.current) return;
        latest.current = change(part);
        setBuffer(latest.current);
        setError(null);
      } catch (failure) {
        if (own === lastCall.current) setError(failure as Error);
      } finally {
        if (own === lastCall.current) isBusy.current = false;
      }
    },
    [reviewer],
  );

  const loadEarlier = useCallback(() => {
    const start = startOf(latest.current);
    if (isBusy.current || start <= latest.current.dropped || latest.current.lines.length === 0) return;
    const from = Math.max(latest.current.dropped, start - PIECE_BYTES);
    setFollowing(false);
    void load(from, start - from, (part) => prepend(latest.current, part));
  }, [load]);

  const loadLater = useCallback(() => {
    if (isBusy.current) return;
    void load(latest.current.next, PIECE_BYTES, (part) => append(latest.current, part));
  }, [load]);

  const jumpTo = useCallback(
    async (offset: number) => {
      setFollowing(false);
      const { lines, next } = latest.current;
      if (lines.length > 0 && offset >= startOf(latest.current) && offset < next) return;
      const from = Math.max(0, offset - PIECE_BYTES / 2);
      await load(from, PIECE_BYTES, (part) => only(part, part.from <= part.dropped_bytes));
    },
    [load],
  );

  const follow = useCallback(() => {
    // A part that is still on its way would not fit to what the stream brings.
    lastCall.current += 1;
    isBusy.current = false;
    setFollowing(true);
  }, []);

  return {
    buffer,
    isFollowing,
    isLoaded,
    error,
    follow,
    pause: useCallback(() => setFollowing(false), []),
    loadEarlier,
    loadLater,
    jumpTo,
  };
}

/** Reads the stream until the reviewer has ended, also over a restart of the broker. */
async function followLog(
  reviewer: string,
  current: () => LogBuffer,
  apply: (change: (buffer: LogBuffer) => LogBuffer) => void,
  fail: (error: Error) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      // Far behind the end, a reader who wants to follow wants its end.
      const { lines, next, total } = current();
      const isNear = lines.length > 0 && total - next < PIECE_BYTES;
      const start: LogStart = isNear ? { from: next } : { lines: FIRST_LINES };
      let isFirst = !isNear;
      for await (const frame of readLog(reviewer, start, signal)) {
        if (signal.aborted) return;
        if (frame.kind === "end") {
          if (frame.reason !== "complete") break;
          apply((buffer) => ({ ...buffer, hasEnded: true }));
          return;
        }
        const { part } = frame;
        apply((buffer) => (isFirst ? only(part) : append(buffer, part)));
        isFirst = false;
      }
    } catch (failure) {
      if (signal.aborted) return;
      fail(failure as Error);
      // A reviewer that has just started has printed nothing yet.
      if (!isRetryable(failure) && !isCode(failure, "no_log")) return;
    }
    await wait(RETRY_MS, signal);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
