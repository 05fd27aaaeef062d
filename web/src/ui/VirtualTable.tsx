// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import type { ReactNode } from "react";
import { ListFoot } from "./ListFoot";
import { type NextPage, useVirtualRows } from "./useVirtualRows";

interface VirtualTableProps<Row> {
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Expected height of a row, until it is measured. */
  rowPx: number;
  /** The name of the table, one row and many rows in words, and the columns with the classes of their width. */
  words: { label: string; one: string; many: string; columns: readonly (readonly [name: string, width: string])[] };
  /** How many there are in all. `null`: unknown. */
  total: number | null;
  next: NextPage;
  /** The cells of a row (`role="cell"`). The element with `rowAttribute` takes the focus of `j` and `k`. */
  children: (row: Row) => ReactNode;
}

/**
 * Rows of a list of any length, as many as fit on the screen. A table for readers; its head is hidden on a narrow screen,
 * where the cells form a card.
 */
export function VirtualTable<Row>({ rows, keyOf, rowPx, words, total, next, children }: VirtualTableProps<Row>) {
  const keyAt = (index: number) => {
    const row = rows[index];
    return row === undefined ? index : keyOf(row);
  };
  const { body, virtual, items, onFocus } = useVirtualRows({ count: rows.length, rowPx, keyOf: keyAt, next });
  return (
    <div role="table" aria-label={words.label} aria-rowcount={total === null ? -1 : total + 1}>
      <div role="rowgroup" className="max-xl:sr-only">
        <div role="row" aria-rowindex={1} className="flex gap-3 px-3 pb-1 text-xs text-dim">
          {words.columns.map(([name, width]) => (
            <span key={name} role="columnheader" className={width}>
              {name}
            </span>
          ))}
        </div>
      </div>
      <div
        ref={body}
        role="rowgroup"
        className="relative rounded border border-line"
        style={{ height: virtual.getTotalSize() + 2 }}
        onFocus={onFocus}
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
                {children(row)}
              </div>
            )
          );
        })}
      </div>
      <ListFoot shown={rows.length} total={total} words={words} next={next} />
    </div>
  );
}
