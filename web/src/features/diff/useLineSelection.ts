import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useLayoutEffect, useRef } from "react";
import { useAreKeysOn } from "../../keys/preference";
import { actionOfKey, atRow, type Cursor, cursorOf, cursorRow, extendedTo } from "./cursor";
import type { Match } from "./find";
import type { LineRange, Side } from "./notes";
import { isLineRow, lineOn, type Row } from "./rows";
import type { RowScroll } from "./useRowScroll";
import type { WindowItem } from "./useWindow";
import type { ViewerProps } from "./viewer";

type Input = Pick<ViewerProps, "rows" | "files" | "selection" | "marks" | "onSelect" | "onComment"> & {
  scroll: RowScroll;
  /** The rendered rows. */
  items: readonly WindowItem[];
};

/** Selects lines of the table with keys and with the mouse. */
export function useLineSelection(input: Input) {
  const { rows, files, selection, marks, onSelect, onComment, scroll, items } = input;
  const areKeysOn = useAreKeysOn();
  const cursor = useRef<Cursor | null>(null);
  const side = useRef<Side | null>(null);
  const drag = useRef(false);
  /** The row that gets the focus as soon as it is rendered. */
  const wanted = useRef<string | null>(null);
  cursor.current = cursorOf(selection, cursor.current);
  const at = cursor.current === null ? -1 : cursorRow({ rows, files }, cursor.current);
  // Only a rendered row can take the focus.
  const isRendered = items.some(({ index }) => index === at);
  const tabStop = isRendered ? at : (items.find(({ index }) => isLineRow(rows[index]))?.index ?? -1);

  const select = (next: Cursor | null, isFocused: boolean) => {
    if (next === null) return;
    cursor.current = next;
    onSelect(next.range);
    const row = rows[cursorRow({ rows, files }, next)];
    if (row === undefined) return;
    if (isFocused) wanted.current = row.key;
    scroll.show(row.key, "nearest");
  };

  const focusWanted = useCallback(() => {
    const element = wanted.current === null ? undefined : scroll.elementOf(wanted.current);
    if (element === undefined) return;
    wanted.current = null;
    element.focus({ preventScroll: true });
  }, [scroll]);
  useLayoutEffect(focusWanted);

  useEffect(() => {
    const stop = () => {
      drag.current = false;
    };
    addEventListener("pointerup", stop);
    return () => removeEventListener("pointerup", stop);
  }, []);

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target === null || !target.matches("tr[data-index]")) return;
    const here = at === -1 ? Number(target.dataset.index) : at;
    const action = actionOfKey({ rows, files }, event, here, { cursor: cursor.current, side: side.current, areKeysOn });
    if (action === null) return;
    event.preventDefault();
    if (action.do === "select") {
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") side.current = action.cursor.range.side;
      select(action.cursor, true);
    } else if (action.do === "comment") onComment(action.range);
    else if (action.do === "clear") onSelect(null);
  };

  const lineAt = (target: EventTarget): { index: number; side: Side } | null => {
    const gutter = target instanceof Element ? target.closest<HTMLElement>("[data-side]") : null;
    const row = gutter?.closest<HTMLElement>("tr[data-index]");
    if (!gutter || !row) return null;
    return { index: Number(row.dataset.index), side: gutter.dataset.side === "old" ? "old" : "new" };
  };

  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0 || (event.target instanceof Element && event.target.closest("button") !== null)) return;
    const line = lineAt(event.target);
    if (line === null) return;
    const place = { rows, files };
    side.current = line.side;
    const next = event.shiftKey && cursor.current !== null ? extendedTo(place, cursor.current, line.index) : null;
    select(next ?? atRow(place, line.index, line.side), true);
    drag.current = event.pointerType === "mouse";
    // Keeps the browser from selecting text while lines are dragged over.
    event.preventDefault();
  };

  const onPointerOver = (event: PointerEvent<HTMLElement>) => {
    if (!drag.current || cursor.current === null) return;
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("tr[data-index]") : null;
    const next = row === null ? null : extendedTo({ rows, files }, cursor.current, Number(row.dataset.index));
    if (next === null || isSame(next.range, cursor.current.range)) return;
    cursor.current = next;
    onSelect(next.range);
  };

  // To the match that is shown, the selected line, or the first line in sight: rows above those are rendered too.
  const { current: match } = marks;
  const focus = useCallback(() => {
    const found = match === null ? -1 : rows.findIndex((row) => isRowOf(row, match));
    const first = rows.findIndex((row) => row.key === scroll.firstInSight());
    const inSight = first === -1 ? -1 : rows.findIndex((row, index) => index >= first && isLineRow(row));
    const key = rows[[found, isRendered ? at : -1, inSight, tabStop].find((index) => index !== -1) ?? -1]?.key;
    if (key === undefined) return;
    wanted.current = key;
    scroll.show(key, "nearest");
    focusWanted();
  }, [rows, match, isRendered, at, tabStop, scroll, focusWanted]);

  return { tabStop, onKeyDown, onPointerDown, onPointerOver, focus };
}

function isRowOf(row: Row, match: Match): boolean {
  if (row.file !== match.file) return false;
  if (match.side === "raw") return row.type === "raw" && row.number === match.line;
  return isLineRow(row) && lineOn(row, match.side)?.[match.side] === match.line;
}

function isSame(a: LineRange, b: LineRange): boolean {
  return a.start === b.start && a.end === b.end && a.side === b.side && a.path === b.path;
}
