import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { useVirtualRowKeys } from "./useVirtualRowKeys";

/** The page after the rows that are loaded. */
export interface NextPage {
  has: boolean;
  isLoading: boolean;
  /** Why it did not load. `null`: nothing failed. */
  error: unknown;
  load: () => void;
}

interface VirtualRows {
  count: number;
  /** Expected height of a row, until it is measured. */
  rowPx: number;
  keyOf: (index: number) => string | number;
  next: NextPage;
}

/** The next page is loaded when so many rows are left. */
const AHEAD = 8;

/** Places rows in the window, moves along them by key, and loads the next page near the end. */
export function useVirtualRows({ count, rowPx, keyOf, next }: VirtualRows) {
  const body = useRef<HTMLDivElement>(null);
  const focused = useRef(-1);
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => rowPx,
    overscan: 6,
    scrollMargin: body.current?.offsetTop ?? 0,
    getItemKey: keyOf,
    // The row that has the focus stays, also out of sight.
    rangeExtractor: (range: Range) => withIndex(defaultRangeExtractor(range), focused.current, count),
  });
  useVirtualRowKeys(body, count, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  const items = virtual.getVirtualItems();
  const isNearEnd = (items.at(-1)?.index ?? 0) >= count - AHEAD;
  const wantsMore = isNearEnd && next.has && !next.isLoading && next.error === null;
  useEffect(() => {
    if (wantsMore) next.load();
  }, [wantsMore, next.load]);
  const onFocus = (event: { target: Element }) => {
    focused.current = Number(event.target.closest("[data-index]")?.getAttribute("data-index") ?? -1);
  };
  return { body, virtual, items, onFocus };
}

function withIndex(indexes: number[], wanted: number, count: number): number[] {
  if (wanted < 0 || wanted >= count || indexes.includes(wanted)) return indexes;
  return [...indexes, wanted].sort((a, b) => a - b);
}
