import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback } from "react";
import type { Row } from "./rows";

/** Up to so many rows all are rendered, so that the browser's own search finds them. */
export const RENDER_ALL = 1_000;

export const LINE_HEIGHT = 20;
const HEIGHTS: Record<Row["type"], number> = {
  head: 52,
  text: 36,
  note: 120,
  gap: 32,
  line: LINE_HEIGHT,
  pair: LINE_HEIGHT,
  raw: LINE_HEIGHT,
  elsewhere: 200,
};

/** A rendered row, with the room that the rows before it take that are not rendered. */
export interface WindowItem {
  index: number;
  space: number;
}

interface RowWindow {
  items: WindowItem[];
  /** Room below the last rendered row. */
  spaceAfter: number;
  measure: ((element: Element | null) => void) | null;
  offsetOf: (key: string) => number | null;
}

/**
 * Which rows are rendered: those in sight and some around them, the head of the first file in sight, and the rows in
 * `pinned` (a row that has the focus must not go away).
 */
export function useWindow(
  rows: readonly Row[],
  scroller: RefObject<HTMLElement | null>,
  pinned: ReadonlySet<string>,
): RowWindow {
  const isAll = rows.length <= RENDER_ALL;
  const virtualizer = useVirtualizer({
    count: isAll ? 0 : rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback((index: number) => HEIGHTS[rows[index]?.type ?? "line"], [rows]),
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 30,
    rangeExtractor: useCallback((range: Range) => withPinned(rows, range, pinned), [rows, pinned]),
  });
  // `useRowScroll` keeps the place of the reader.
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = () => false;
  const offsetOf = useCallback(
    (key: string) => {
      const index = rows.findIndex((row) => row.key === key);
      return index === -1 ? null : (virtualizer.getOffsetForIndex(index, "start")?.[0] ?? null);
    },
    [rows, virtualizer],
  );
  if (isAll) return { items: rows.map((_, index) => ({ index, space: 0 })), spaceAfter: 0, measure: null, offsetOf };
  const items: WindowItem[] = [];
  let end = 0;
  for (const item of virtualizer.getVirtualItems()) {
    items.push({ index: item.index, space: Math.max(item.start - end, 0) });
    end = item.end;
  }
  return {
    items,
    spaceAfter: Math.max(virtualizer.getTotalSize() - end, 0),
    measure: virtualizer.measureElement,
    offsetOf,
  };
}

function withPinned(rows: readonly Row[], range: Range, pinned: ReadonlySet<string>): number[] {
  const indexes = new Set(defaultRangeExtractor(range));
  const first = rows[range.startIndex];
  if (first !== undefined) {
    let head = range.startIndex;
    while (head > 0 && rows[head]?.type !== "head") head -= 1;
    indexes.add(head);
  }
  if (pinned.size > 0) for (const [index, row] of rows.entries()) if (pinned.has(row.key)) indexes.add(index);
  return [...indexes].sort((a, b) => a - b);
}
