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
  /** The first row in sight, below the head of its file. */
  firstInSight: () => string | null;
  /** Brings a row into sight, below the head of its file, and keeps it there while rows around it are measured. */
  show: (key: string, align: "near-top" | "nearest" | "top") => void;
}

/**
 * Keeps the row that a reader looks at where it is while rows above it come, go or grow: a finding that arrives moves
 * nothing. The anchor is the row with the focus, or the first one in sight. `offsetOf` gives the place of a row that is not
 * rendered, `onPlace` is called with the row that a reader looks at after each scroll.
 */
export function useRowScroll(
  scroller: RefObject<HTMLElement | null>,
  offsetOf: (key: string) => number | null,
  onPlace: (key: string) => void,
): RowScroll {
  const elements = useRef(new Map<string, RowElement>());
  const anchor = useRef<Anchor | null>(null);
  // The page scrolled, not the reader: the row that it went to stays the place, wherever it stands in the view.
  const isOwnScroll = useRef(false);
  const lastTop = useRef(0);
  const latest = useRef({ offsetOf, onPlace });
  latest.current = { offsetOf, onPlace };

  const topOf = useCallback(
    (element: HTMLElement) =>
      element.getBoundingClientRect().top - (scroller.current?.getBoundingClientRect().top ?? 0),
    [scroller],
  );

  const firstKey = useCallback((): string | null => {
    const height = scroller.current?.clientHeight ?? 0;
    let first: { key: string; top: number } | null = null;
    for (const [key, { element, isHead }] of elements.current) {
      const top = topOf(element);
      const isInSight = top < height && top + (isHead ? HEAD_HEIGHT : element.offsetHeight) > HEAD_HEIGHT + 1;
      if (isInSight && (first === null || top < first.top)) first = { key, top };
    }
    return first?.key ?? null;
  }, [scroller, topOf]);

  const record = useCallback(() => {
    lastTop.current = scroller.current?.scrollTop ?? 0;
    if (anchor.current?.isTarget) return;
    const focused = focusedRow(elements.current, scroller.current);
    const key = focused ?? firstKey();
    const element = key === null ? undefined : elements.current.get(key)?.element;
    anchor.current = key === null || element === undefined ? null : { key, top: topOf(element), isTarget: false };
  }, [scroller, firstKey, topOf]);

  const restore = useCallback(() => {
    const view = scroller.current;
    const held = anchor.current;
    if (view === null) return;
    // Nothing is held yet, or the reader scrolled and the event comes later.
    if (held === null || (view.scrollTop !== lastTop.current && !held.isTarget)) {
      record();
      return;
    }
    const element = elements.current.get(held.key)?.element;
    const moved = element !== undefined ? topOf(element) - held.top : offsetDelta(view, held, latest.current.offsetOf);
    if (moved !== null && Math.abs(moved) >= 1) view.scrollTop += moved;
    lastTop.current = view.scrollTop;
    if (element !== undefined) held.isTarget = false;
  }, [scroller, record, topOf]);

  useLayoutEffect(restore);

  useEffect(() => {
    const view = scroller.current;
    if (view === null) return;
    const scrolled = () => {
      record();
      const key = isOwnScroll.current ? null : firstKey();
      if (key !== null) latest.current.onPlace(key);
    };
    const release = () => {
      isOwnScroll.current = false;
      if (anchor.current !== null) anchor.current.isTarget = false;
    };
    record();
    // Before the listener that renders other rows: it would find the old anchor.
    view.addEventListener("scroll", scrolled, { capture: true, passive: true });
    view.addEventListener("focusin", record);
    view.addEventListener("wheel", release, { passive: true });
    view.addEventListener("touchmove", release, { passive: true });
    view.addEventListener("pointerdown", release);
    view.addEventListener("keydown", release);
    // Rows change their height without React: a wider window, an image, a text box that grows.
    const watcher = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(restore);
    watcher?.observe(view);
    const content = view.firstElementChild;
    if (content !== null) watcher?.observe(content);
    return () => {
      view.removeEventListener("scroll", scrolled, { capture: true });
      view.removeEventListener("focusin", record);
      view.removeEventListener("wheel", release);
      view.removeEventListener("touchmove", release);
      view.removeEventListener("pointerdown", release);
      view.removeEventListener("keydown", release);
      watcher?.disconnect();
    };
  }, [scroller, record, restore, firstKey]);

  return useMemo(
    () => ({
      register: (key, element, isHead = false) => {
        if (element === null) elements.current.delete(key);
        else elements.current.set(key, { element, isHead });
      },
      elementOf: (key) => elements.current.get(key)?.element,
      firstInSight: firstKey,
      show: (key, align) => {
        const view = scroller.current;
        const element = elements.current.get(key)?.element;
        if (view === null) return;
        isOwnScroll.current = true;
        latest.current.onPlace(key);
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
    }),
    [scroller, topOf, restore, firstKey],
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
