import { type RefObject, useRef } from "react";
import { useKeys } from "../keys/KeysContext";

/** How often the list is asked for a row that it has to draw first. */
const TRIES = 10;

/** `j` and `k` along a list of which only a part is drawn; `o` opens the row that has the focus. */
export function useVirtualRowKeys(
  body: RefObject<HTMLElement | null>,
  count: number,
  scrollTo: (index: number) => void,
): void {
  const last = useRef(0);
  const linkOf = (index: number) =>
    body.current?.querySelector<HTMLElement>(`[data-index="${index}"] [data-row]`) ?? null;
  const focusedIndex = () => {
    const row = body.current?.contains(document.activeElement) ? document.activeElement?.closest("[data-index]") : null;
    return row === null || row === undefined ? null : Number(row.getAttribute("data-index"));
  };
  const focus = (index: number, triesLeft: number) => {
    const link = linkOf(index);
    if (link !== null) link.focus({ preventScroll: true });
    else if (triesLeft > 0) requestAnimationFrame(() => focus(index, triesLeft - 1));
  };
  const move = (step: 1 | -1) => {
    const current = focusedIndex();
    const wanted = current === null ? last.current : current + step;
    const index = Math.max(0, Math.min(wanted, count - 1));
    last.current = index;
    scrollTo(index);
    focus(index, TRIES);
  };
  useKeys({
    down: () => move(1),
    up: () => move(-1),
    open: () => {
      const current = focusedIndex();
      if (current !== null) linkOf(current)?.click();
    },
  });
}
