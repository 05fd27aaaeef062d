import { type RefObject, useEffect } from "react";
import type { DiffHandle } from "../diff/Diff";
import { useReview } from "./ReviewContext";

/** Goes to the place that was asked for, once it is on screen. */
export function useDiffTarget(handle: RefObject<DiffHandle | null>, noteIds: ReadonlySet<string>): void {
  const { target, goTo } = useReview();
  useEffect(() => {
    const diff = handle.current;
    if (target === null || diff === null) return;
    if (target.kind === "note") {
      if (!noteIds.has(target.id)) return;
      diff.scrollToNote(target.id);
    } else {
      const { path, side, start, end } = target.place;
      if (path === null) return;
      if (start === null) diff.scrollToFile(path);
      else diff.scrollToLine({ path, side, start, end: end ?? start });
    }
    goTo(null);
  }, [target, handle, noteIds, goTo]);
}
