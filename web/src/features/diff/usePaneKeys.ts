import { type KeyboardEvent, useRef } from "react";
import { useAreKeysOn } from "../../keys/preference";
import { actionOfKey, type Cursor, cursorOf, cursorRow } from "./cursor";
import { rowBefore } from "./navigation";
import type { Side } from "./notes";
import { isLineRow } from "./rows";
import type { Place, ViewerProps } from "./viewer";

type Input = Pick<ViewerProps, "rows" | "files" | "selection" | "onSelect" | "onComment"> & {
  firstInSight: () => Place | null;
  onMove: (place: Place) => void;
};

/** Selects lines of the pane with the same keys as in the table. The focus stays on the scroller. */
export function usePaneKeys({ rows, files, selection, onSelect, onComment, firstInSight, onMove }: Input) {
  const areKeysOn = useAreKeysOn();
  const cursor = useRef<Cursor | null>(null);
  const side = useRef<Side | null>(null);
  cursor.current = cursorOf(selection, cursor.current);

  const startRow = (): number => {
    const place = firstInSight();
    return place === null ? rows.findIndex(isLineRow) - 1 : rowBefore(rows, place);
  };

  return (event: KeyboardEvent<HTMLElement>): void => {
    const place = { rows, files };
    const at = cursor.current === null ? -1 : cursorRow(place, cursor.current);
    const state = { cursor: cursor.current, side: side.current, areKeysOn };
    const action = actionOfKey(place, event, at === -1 ? startRow() : at, state);
    if (action === null) return;
    event.preventDefault();
    if (action.do === "comment") onComment(action.range);
    else if (action.do === "clear") onSelect(null);
    else {
      const { range, active } = action.cursor;
      cursor.current = action.cursor;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") side.current = range.side;
      onSelect(range);
      const row = rows[cursorRow(place, action.cursor)];
      if (row !== undefined) onMove({ file: row.file, side: range.side, line: range[active] });
    }
  };
}
