import { type RefObject, useLayoutEffect, useRef } from "react";

/** So long the view may still measure what it has drawn. */
const SETTLE_MS = 600;

/**
 * Keeps what has the focus where it is while `items` change: a finding that arrives above a reply must not push the reply
 * away. The view itself only holds the first line in sight.
 */
export function useFocusAnchor(scroller: RefObject<HTMLElement | null>, items: unknown): void {
  const drawn = useRef(items);
  const held = useRef<{ element: Element; top: number } | null>(null);
  if (drawn.current !== items) {
    // The page still shows the old items.
    drawn.current = items;
    held.current = focusIn(scroller.current);
  }
  useLayoutEffect(() => {
    const view = scroller.current;
    const anchor = held.current;
    held.current = null;
    if (items === null || view === null || anchor === null) return;
    const end = performance.now() + SETTLE_MS;
    let frame = 0;
    const keep = () => {
      const moved = anchor.element.isConnected ? anchor.element.getBoundingClientRect().top - anchor.top : 0;
      if (document.activeElement !== anchor.element) return;
      if (Math.abs(moved) >= 1) view.scrollTop += moved;
      if (performance.now() < end) frame = requestAnimationFrame(keep);
    };
    const stop = () => cancelAnimationFrame(frame);
    keep();
    view.addEventListener("wheel", stop, { once: true, passive: true });
    view.addEventListener("touchmove", stop, { once: true, passive: true });
    view.addEventListener("keydown", stop, { once: true });
    return () => {
      stop();
      view.removeEventListener("wheel", stop);
      view.removeEventListener("touchmove", stop);
      view.removeEventListener("keydown", stop);
    };
  }, [items, scroller]);
}

function focusIn(view: HTMLElement | null): { element: Element; top: number } | null {
  const element = document.activeElement;
  if (view === null || element === null || element === view || !view.contains(element)) return null;
  const bounds = view.getBoundingClientRect();
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > bounds.top && top < bounds.bottom ? { element, top } : null;
}
