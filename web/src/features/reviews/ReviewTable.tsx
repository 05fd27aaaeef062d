// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { ReviewRow } from "../../api/generated";
import { useMe } from "../../me";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { columns } from "../../ui/RowFigures";
import { ReviewTableRow } from "./ReviewTableRow";
import { useVirtualRowKeys } from "./useVirtualRowKeys";

interface ReviewTableProps {
  rows: readonly ReviewRow[];
  /** How many there are in all. `null`: unknown. */
  total: number | null;
  next: { has: boolean; isLoading: boolean; error: unknown; load: () => void };
}

const ROW_PX = 53;
/** The next page is loaded when so many rows are left. */
const AHEAD = 8;

/** Reviews as rows, as many as fit on the screen. A table for readers; cards on a narrow screen. */
export function ReviewTable({ rows, total, next }: ReviewTableProps) {
  const me = useMe();
  const body = useRef<HTMLDivElement>(null);
  const focused = useRef(-1);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: 6,
    scrollMargin: body.current?.offsetTop ?? 0,
    getItemKey: (index) => rows[index]?.review_id ?? index,
    // The row that has the focus stays, also out of sight.
    rangeExtractor: (range: Range) => withIndex(defaultRangeExtractor(range), focused.current, rows.length),
  });
  useVirtualRowKeys(body, rows.length, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  const items = virtual.getVirtualItems();
  const isNearEnd = (items.at(-1)?.index ?? 0) >= rows.length - AHEAD;
  const wantsMore = isNearEnd && next.has && !next.isLoading && next.error === null;
  useEffect(() => {
    if (wantsMore) next.load();
  }, [wantsMore, next.load]);
  return (
    <div role="table" aria-label="Reviews" aria-rowcount={total === null ? -1 : total + 1}>
      <HeadRow />
      <div
        ref={body}
        role="rowgroup"
        className="relative rounded border border-line"
        style={{ height: virtual.getTotalSize() + 2 }}
        onFocus={(event) => {
          focused.current = Number(event.target.closest("[data-index]")?.getAttribute("data-index") ?? -1);
        }}
      >
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          return (
            row !== undefined && (
              <div
                key={key}
                role="row"
                ref={virtual.measureElement}
                data-index={index}
                aria-rowindex={index + 2}
                className="group absolute top-0 left-0 w-full border-b border-line focus-within:bg-hover hover:bg-hover"
                style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
              >
                <ReviewTableRow row={row} person={me} />
              </div>
            )
          );
        })}
      </div>
      <Foot shown={rows.length} total={total} next={next} />
    </div>
  );
}

function withIndex(indexes: number[], wanted: number, count: number): number[] {
  if (wanted < 0 || wanted >= count || indexes.includes(wanted)) return indexes;
  return [...indexes, wanted].sort((a, b) => a - b);
}

const HEADS = [
  ["Status", columns.status],
  ["Review", columns.title],
  ["Open issues", columns.issues],
  ["Seats", columns.seats],
  ["Author", columns.author],
  ["Cost", columns.cost],
  ["Age", columns.age],
] as const;

function HeadRow() {
  return (
    <div role="rowgroup" className="max-xl:sr-only">
      <div role="row" aria-rowindex={1} className="flex gap-3 px-3 pb-1 text-xs text-dim">
        {HEADS.map(([name, width]) => (
          <span key={name} role="columnheader" className={width}>
            {name}
          </span>
        ))}
      </div>
    </div>
  );
}

function Foot({ shown, total, next }: { shown: number; total: number | null; next: ReviewTableProps["next"] }) {
  if (next.error !== null) {
    return (
      <div className="mt-3 flex flex-wrap items-center gap-3">
        <Refusal error={next.error} />
        <Button onPress={next.load}>Load more</Button>
      </div>
    );
  }
  const all = total === null ? "" : ` of ${total.toLocaleString("en")}`;
  const shownWords = shown.toLocaleString("en");
  return (
    <p className="px-3 pt-2 text-xs text-dim">
      {next.isLoading
        ? "Loading more…"
        : next.has
          ? `${shownWords}${all} shown`
          : `${shownWords} ${shown === 1 ? "review" : "reviews"}`}
    </p>
  );
}
