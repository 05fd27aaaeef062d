import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from "react";

/** A row and its distance from the top of the view. */
interface Anchor {
  key: string;
  top: number;
  /** The row is where the reader wants to go and may not be rendered yet. */
  isTarget: boolean;
}

interface RowElement {
  element: HTMLElement;
  isHead: boolean;
}

/** Room that the head of a file covers while it sticks to the top. */
export const HEAD_HEIGHT = 40;

export interface RowScroll {
  /** For each row's `ref`. A head sticks to the top, so its section stands for it. */
  register: (key: string, element: HTMLElement | null, isHead?: boolean) => void;
  elementOf: (key: string) => HTMLElement | undefined;
  /** Brings a row into sight, below the head of its file, and keeps it there while rows around it are measured. */
  show: (key: string, align: "near-top" | "nearest" | "top") => void;
  /** The first row in sight. */
  firstKey: () => string | null;
}

/**
 * Keeps the row that a reader looks at where it is while rows above it come, go or grow: a finding that arrives moves
 * nothing. The anchor is the row with the focus, or the first one in sight. `offsetOf` gives the place of a row that is not
 * rendered.
 */
export function useRowScroll(
  scroller: RefObject<HTMLElement | null>,
  offsetOf: (key: string) => number | null,
  onScroll: () => void,
): RowScroll {
  const elements = useRef(new Map<string, RowElement>());
  const anchor = useRef<Anchor | null>(null);
  const latest = useRef({ offsetOf, onScroll });
  latest.current = { offsetOf, onScroll };

  const topOf = useCallback(
    (element: HTMLElement) =>
      element.getBoundingClientRect().top - (scroller.current?.getBoundingClientRect().top ?? 0),
    [scroller],
  );

  const firstKey = useCallback((): string | null => {
    let first: { key: string; top: number } | null = null;
    for (const [key, { element, isHead }] of elements.current) {
      const top = topOf(element);
      const isInSight = top + (isHead ? HEAD_HEIGHT : element.offsetHeight) > HEAD_HEIGHT + 1;
      if (isInSight && (first === null || top < first.top)) first = { key, top };
    }
    return first?.key ?? null;
  }, [topOf]);

  const record = useCallback(() => {
    if (anchor.current?.isTarget) return;
    const focused = focusedRow(elements.current, scroller.current);
    const key = focused ?? firstKey();
    const element = key === null ? undefined : elements.current.get(key)?.element;
    anchor.current = key === null || element === undefined ? null : { key, top: topOf(element), isTarget: false };
  }, [scroller, firstKey, topOf]);

  const restore = useCallback(() => {
    const view = scroller.current;
    const held = anchor.current;
    if (view === null || held === null) return;
    const element = elements.current.get(held.key)?.element;
    const moved = element !== undefined ? topOf(element) - held.top : offsetDelta(view, held, latest.current.offsetOf);
    if (moved !== null && Math.abs(moved) >= 1) view.scrollTop += moved;
    if (element !== undefined) held.isTarget = false;
  }, [scroller, topOf]);

  useLayoutEffect(restore);

  useEffect(() => {
    const view = scroller.current;
    if (view === null) return;
    const scrolled = () => {
      record();
      latest.current.onScroll();
    };
    const release = () => {
      if (anchor.current !== null) anchor.current.isTarget = false;
    };
    record();
    view.addEventListener("scroll", scrolled, { passive: true });
    view.addEventListener("focusin", record);
    view.addEventListener("wheel", release, { passive: true });
    view.addEventListener("touchmove", release, { passive: true });
    // Rows change their height without React: a wider window, an image, a text box that grows.
    const watcher = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(restore);
    watcher?.observe(view);
    const content = view.firstElementChild;
    if (content !== null) watcher?.observe(content);
    return () => {
      view.removeEventListener("scroll", scrolled);
      view.removeEventListener("focusin", record);
      view.removeEventListener("wheel", release);
      view.removeEventListener("touchmove", release);
      watcher?.disconnect();
    };
  }, [scroller, record, restore]);

  return useMemo(
    () => ({
      register: (key, element, isHead = false) => {
        if (element === null) elements.current.delete(key);
        else elements.current.set(key, { element, isHead });
      },
      elementOf: (key) => elements.current.get(key)?.element,
      show: (key, align) => {
        const view = scroller.current;
        const element = elements.current.get(key)?.element;
        if (view === null) return;
        if (align === "nearest" && element !== undefined) {
          const [top, height] = [topOf(element), element.offsetHeight];
          if (top >= HEAD_HEIGHT && top + height <= view.clientHeight) {
            anchor.current = { key, top, isTarget: false };
            return;
          }
          const isAbove = top < HEAD_HEIGHT;
          anchor.current = {
            key,
            top: isAbove ? HEAD_HEIGHT : Math.max(view.clientHeight - height, HEAD_HEIGHT),
            isTarget: true,
          };
        } else {
          const below = align === "top" ? 0 : Math.max(HEAD_HEIGHT, Math.round(view.clientHeight / 4));
          anchor.current = { key, top: below, isTarget: true };
        }
        restore();
      },
      firstKey,
    }),
    [scroller, topOf, firstKey, restore],
  );
}

function focusedRow(elements: ReadonlyMap<string, RowElement>, view: HTMLElement | null): string | null {
  const focused = document.activeElement;
  if (view === null || focused === null || !view.contains(focused)) return null;
  const bounds = view.getBoundingClientRect();
  for (const [key, { element, isHead }] of elements) {
    if (isHead || !element.contains(focused)) continue;
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > bounds.top && top < bounds.bottom ? key : null;
  }
  return null;
}

function offsetDelta(view: HTMLElement, held: Anchor, offsetOf: (key: string) => number | null): number | null {
  const offset = offsetOf(held.key);
  return offset === null ? null : offset - view.scrollTop - held.top;
}
