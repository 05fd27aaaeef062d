import { type RefObject, useRef } from "react";
import { useKeys } from "./KeysContext";

/** Marks the link of a row, so that `j` and `k` find it. */
export const rowAttribute = (id: string) => ({ "data-row": id });

/** The id of the row that has the focus. */
export function focusedRowId(): string | null {
  const link = document.activeElement?.closest<HTMLElement>("[data-row]");
  return link?.dataset.row ?? null;
}

function rowsIn(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
}

function focusedRow(rows: HTMLElement[]): number {
  const focused = document.activeElement;
  // A button of the row has the focus: the row is meant.
  const frame = focused?.closest("[data-row-frame]");
  return rows.findIndex((row) => row === focused || frame?.contains(row) === true);
}

/** `j` and `k` move the focus along the rows of a list, `o` opens the focused row, `y` hands its id to `onDone`. */
export function useRowKeys(list: RefObject<HTMLElement | null>, onDone?: (id: string) => void): void {
  // Where the focus was, if its row disappeared.
  const last = useRef(0);
  const move = (step: 1 | -1) => {
    const rows = rowsIn(list.current);
    const current = focusedRow(rows);
    const wanted = current === -1 ? Math.min(last.current, rows.length - 1) : current + step;
    const next = rows[Math.max(0, Math.min(wanted, rows.length - 1))];
    if (next === undefined) return;
    last.current = rows.indexOf(next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    down: () => move(1),
    up: () => move(-1),
    open: () => {
      const rows = rowsIn(list.current);
      rows[focusedRow(rows)]?.click();
    },
    ...(onDone !== undefined && {
      done: () => {
        const rows = rowsIn(list.current);
        const current = focusedRow(rows);
        const id = rows[current]?.dataset.row;
        if (id === undefined) return;
        last.current = current;
        (rows[current + 1] ?? rows[current - 1])?.focus();
        onDone(id);
      },
    }),
  });
}
