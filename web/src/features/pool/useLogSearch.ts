import { useCallback, useEffect, useRef, useState } from "react";
import { type Found, NOTHING, searchLog } from "./logSearch";

const TYPING_MS = 250;

export interface LogSearch {
  query: string;
  setQuery: (query: string) => void;
  found: Found;
  /** The index of the match that is shown. */
  at: number;
  step: (by: 1 | -1) => void;
  error: Error | null;
}

/** Searches the whole log while a text is typed, at first for `first`, and steps through what was found. `show` goes to a match. */
export function useLogSearch(reviewer: string, first: string, show: (offset: number) => void): LogSearch {
  const [query, setQuery] = useState(first);
  const [found, setFound] = useState<Found>(NOTHING);
  const [at, setAt] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef({ show, found, at });
  latest.current = { show, found, at };
  const wanted = query.trim();

  useEffect(() => {
    setFound(NOTHING);
    setAt(0);
    setError(null);
    if (wanted === "") return;
    const stop = new AbortController();
    let hasShown = false;
    const report = (next: Found) => {
      setFound(next);
      const first = next.offsets[0];
      if (hasShown || first === undefined) return;
      hasShown = true;
      latest.current.show(first);
    };
    const timer = setTimeout(() => {
      void searchLog(reviewer, wanted, report, stop.signal).catch((failure: unknown) => {
        if (!stop.signal.aborted) setError(failure as Error);
      });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [reviewer, wanted]);

  const step = useCallback((by: 1 | -1) => {
    const { found: now, at: before } = latest.current;
    const count = now.offsets.length;
    if (count === 0) return;
    const next = (before + by + count) % count;
    setAt(next);
    const offset = now.offsets[next];
    if (offset !== undefined) latest.current.show(offset);
  }, []);

  return { query, setQuery, found, at, step, error };
}
