import { useCallback, useEffect, useRef, useState } from "react";
import type { Match } from "./find";
import { nextChange, nextLeft, nextNote, notesInOrder, rowBefore } from "./navigation";
import type { LineRange } from "./notes";
import type { PatchFile } from "./patch";
import { findRow, pathOn } from "./rows";
import type { DiffModel } from "./useDiffModel";
import { viewedState } from "./viewed";
import type { Place, ViewerHandle } from "./viewer";

/** Where the view goes after the next render. A new object goes again. */
type Jump = { to: Place } | { note: string } | { raw: { file: number; number: number } };

const TOP: Place = { file: 0, side: "new", line: null };
const headOf = (file: number): Place => ({ ...TOP, file });

/** Moves the view: to files, lines, notes and matches. `shape` names the view and its layout. */
export function useNavigation(model: DiffModel, shape: string) {
  const { files, sections, placed, rows, seen, fold, markViewed, showAround } = model;
  const viewer = useRef<ViewerHandle | null>(null);
  const place = useRef<Place>(TOP);
  const shownNote = useRef<string | null>(null);
  const [hasViewer, setHasViewer] = useState(false);
  const [jump, setJump] = useState<Jump | null>(null);
  const [current, setCurrent] = useState(0);

  const setViewer = useCallback((given: ViewerHandle | null) => {
    viewer.current = given;
    setHasViewer(given !== null);
  }, []);
  const setPlace = useCallback((next: Place) => {
    place.current = next;
    setCurrent(next.file);
  }, []);

  // Once for each jump: the view changes many times after it. The pane may be loaded later.
  const lastJump = useRef<Jump | null>(null);
  useEffect(() => {
    const view = viewer.current;
    if (!hasViewer || view === null || jump === null || lastJump.current === jump) return;
    lastJump.current = jump;
    if ("to" in jump) view.show(jump.to);
    else if ("note" in jump) view.showNote(jump.note);
    else view.showRaw(jump.raw.file, jump.raw.number);
  }, [hasViewer, jump]);

  // Another view or layout has other rows: the reader stays at the same line.
  const lastShape = useRef(shape);
  useEffect(() => {
    if (lastShape.current === shape) return;
    lastShape.current = shape;
    setJump({ to: { ...place.current } });
  }, [shape]);

  const goTo = useCallback(
    (to: Place) => {
      if (to.line !== null) fold(to.file, false);
      setPlace(to);
      setJump({ to });
    },
    [fold, setPlace],
  );

  const goToFile = useCallback((file: number) => goTo(headOf(file)), [goTo]);

  return {
    current,
    place,
    viewer,
    setViewer,
    setPlace,
    goToFile,
    goToPath: (path: string) => {
      const file = files.find((each) => each.path === path) ?? files.find((each) => each.oldPath === path);
      if (file !== undefined) goTo(headOf(file.index));
    },
    goToLine: ({ path, side, start }: LineRange) => {
      const own = files.filter((file) => file.kind !== "unreadable" && pathOn(file, side) === path);
      const isShown = (file: PatchFile) =>
        sections[file.index]?.sections.some(({ lines }) => lines.some(({ line }) => line[side] === start)) === true;
      const file = own.find(isShown) ?? own[0];
      if (file === undefined) return;
      const to: Place = { file: file.index, side, line: start };
      goTo(to);
      // Again when the line is there.
      if (!isShown(file)) void showAround(file, side, start).then(() => setJump({ to: { ...to } }));
    },
    goToNote,
    goToMatch: ({ file, side, line }: Match) => {
      fold(file, false);
      setJump(side === "raw" ? { raw: { file, number: line } } : { to: { file, side, line } });
    },
    goToNextFile: (step: 1 | -1) => {
      const next = current + step;
      if (next >= 0 && next < files.length) goTo(headOf(next));
    },
    /** Returns the line that it went to. */
    goToNextChange: (step: 1 | -1, selection: LineRange | null): LineRange | null => {
      const at = selection === null ? -1 : findRow(rows, files, selection, "start");
      const isInSight =
        selection !== null &&
        at !== -1 &&
        viewer.current?.isInSight({ file: rows[at]?.file ?? 0, side: selection.side, line: selection.start }) === true;
      const next = nextChange(rows, files, isInSight ? at : rowBefore(rows, place.current), step);
      if (next === null) return null;
      goTo({ file: next.file, side: next.range.side, line: next.range.start });
      return next.range;
    },
    goToNextNote: (step: 1 | -1): string | null => {
      const id = nextNote(notesInOrder(files, sections, placed), shownNote.current, current, step);
      if (id !== null) goToNote(id);
      return id;
    },
    markViewedAndGoOn: () => {
      const file = files[current];
      if (file === undefined) return;
      markViewed(file, true);
      const isLeft = (each: PatchFile) => each.kind !== "unreadable" && viewedState(each, seen) !== "viewed";
      goTo(headOf((nextLeft(files, current, isLeft) ?? file).index));
    },
  };

  function goToNote(id: string): void {
    const file = placed.fileOf.get(id);
    if (file !== undefined) {
      fold(file, false);
      setCurrent(file);
    }
    shownNote.current = id;
    setJump({ note: id });
  }
}
