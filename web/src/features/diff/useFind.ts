import { useCallback, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { FileSections } from "./context";
import { type FindMarks, findInDiff, type Match, matchFrom, NO_MARKS, queryPattern } from "./find";
import type { PatchFile } from "./patch";
import type { Place } from "./viewer";

/** Find in the diff: its state, and which match is shown. `show` scrolls to a match. */
export function useFind(
  files: readonly PatchFile[],
  sections: readonly FileSections[],
  place: () => Place,
  show: (match: Match) => void,
) {
  const [isOpen, setIsOpen] = useState(false);
  const [opened, setOpened] = useState(0);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const inputRef = useRef<HTMLInputElement>(null);
  const slowQuery = useDeferredValue(isOpen ? query : "");
  const found = useMemo(() => findInDiff(files, sections, slowQuery), [files, sections, slowQuery]);
  const current = found.matches[Math.min(at, found.matches.length - 1)] ?? null;
  const marks: FindMarks = useMemo(
    () => (slowQuery === "" ? NO_MARKS : { pattern: queryPattern(slowQuery), current }),
    [slowQuery, current],
  );

  const open = useCallback(() => {
    setIsOpen(true);
    setOpened((count) => count + 1);
  }, []);
  // Before the next key: a person types right after `/`.
  useLayoutEffect(() => {
    if (opened === 0) return;
    inputRef.current?.focus();
    inputRef.current?.select();
  }, [opened]);
  const change = (next: string) => {
    setQuery(next);
    const { matches } = findInDiff(files, sections, next);
    const { file, line } = place();
    const first = matchFrom(matches, file, line ?? 0);
    setAt(first);
    const match = matches[first];
    if (match !== undefined) show(match);
  };
  const step = (by: 1 | -1) => {
    const count = found.matches.length;
    if (count === 0) return;
    const next = (at + by + count) % count;
    setAt(next);
    const match = found.matches[next];
    if (match !== undefined) show(match);
  };
  const close = useCallback(() => setIsOpen(false), []);
  return {
    isOpen,
    query,
    found,
    at: Math.min(at, Math.max(found.matches.length - 1, 0)),
    marks,
    inputRef,
    open,
    change,
    step,
    close,
  };
}
