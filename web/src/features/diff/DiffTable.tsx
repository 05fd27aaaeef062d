/**
 * The diff as plain tables: for screen readers, for the browser's own search, and wherever the highlighting view cannot
 * run. Every line is a row that says "added line 12". The lines are one tab stop: arrow keys move, Shift extends the
 * selection, Enter or `c` comments.
 */
import { Fragment, type ReactNode, useCallback, useImperativeHandle, useMemo, useRef, useState } from "react";
import { inert } from "../../text/inert";
import { CodeText } from "./CodeText";
import "./diff.css";
import { NO_CONTEXT } from "./context";
import { DiffRow, FullRow } from "./DiffRow";
import { GapBar } from "./GapBar";
import { HeadNotePlace } from "./HeadNotePlace";
import type { Side } from "./notes";
import type { PatchFile } from "./patch";
import { findRow, isInRange, isLineRow, type LineRow, layoutOf, lineOn, type Row, rangeOf } from "./rows";
import { useLineSelection } from "./useLineSelection";
import { useRowScroll } from "./useRowScroll";
import { useWindow, type WindowItem } from "./useWindow";
import type { Place, ViewerProps } from "./viewer";

export function DiffTable(props: ViewerProps) {
  const { files, rows, layout, wrap, selection, onComment, onPlace, handle } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [focusedKey, setFocusedKey] = useState<string | null>(null);
  const pinned = useMemo(() => new Set(focusedKey === null ? [] : [focusedKey]), [focusedKey]);
  const { items, spaceAfter, measure, offsetOf } = useWindow(rows, scroller, pinned);
  const scroll = useRowScroll(scroller, offsetOf, (key) => {
    const place = placeOf(rows, key);
    if (place !== null) onPlace(place);
  });
  const lines = useLineSelection({ ...props, scroll, items });

  // Stays the same while the selection moves, so that only the rows that change are drawn again.
  const latest = useRef({ rows, files, selection, onComment });
  latest.current = { rows, files, selection, onComment };
  const comment = useCallback((index: number, side: Side) => {
    const now = latest.current;
    const row = now.rows[index];
    if (!isLineRow(row)) return;
    const isSelected = now.selection !== null && isInRange(row, now.files, now.selection);
    const range = isSelected ? now.selection : rangeOf(row, now.files, side);
    if (range !== null) now.onComment(range);
  }, []);

  useImperativeHandle(
    handle,
    () => ({
      show: (place) => {
        const key = keyOfPlace(rows, files, place);
        if (key !== null) scroll.show(key, place.line === null ? "top" : "near-top");
      },
      showNote: (id) =>
        scroll.show(rows.some((row) => row.key === `note ${id}`) ? `note ${id}` : "elsewhere", "near-top"),
      showRaw: (file, number) => {
        const row = rows.find((each) => each.type === "raw" && each.file === file && each.number === number);
        if (row !== undefined) scroll.show(row.key, "near-top");
      },
      isInSight: (place) => {
        const element = scroll.elementOf(keyOfPlace(rows, files, place) ?? "");
        const view = scroller.current?.getBoundingClientRect();
        if (element === undefined || view === undefined) return false;
        const { top, bottom } = element.getBoundingClientRect();
        return bottom > view.top && top < view.bottom;
      },
      focus: lines.focus,
    }),
    [rows, files, scroll, lines.focus],
  );

  const lastIndex = selection === null ? -1 : findRow(rows, files, selection, "end");
  const groups = groupByFile(rows, items);
  const firstOfFile = useMemo(() => headIndexes(rows), [rows]);
  const rowRef = useRowRefs(rows, measure, scroll.register);
  const isWrapped = wrap || layout === "split";
  const widest = useMemo(() => (isWrapped ? 0 : longestLine(files)), [files, isWrapped]);

  const renderRow = (index: number, row: Row): ReactNode => {
    const rowIndex = index - (firstOfFile.get(row.file) ?? 0);
    const file = files[row.file];
    if (file === undefined || row.type === "head" || row.type === "elsewhere") return null;
    if (isLineRow(row)) {
      const next = rows[index + 1];
      return (
        <DiffRow
          row={row}
          index={index}
          rowIndex={rowIndex}
          file={file}
          selected={selection !== null && isInRange(row, files, selection) ? selection.side : null}
          isSelectionEnd={index === lastIndex}
          isCursor={index === lines.tabStop}
          hasNotes={next?.type === "note"}
          pattern={props.marks.pattern}
          current={currentOf(row, props.marks.current)}
          rowRef={rowRef(row.key)}
          onComment={comment}
        />
      );
    }
    return (
      <FullRow
        index={index}
        rowIndex={rowIndex}
        type={row.type}
        columns={layoutOf(file, layout) === "unified" ? 2 : 4}
        rowRef={rowRef(row.key)}
      >
        {renderFull(props, row)}
      </FullRow>
    );
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the rows inside take the focus and the keys
    <div
      ref={scroller}
      className="diff-scroller"
      data-wrap={isWrapped || undefined}
      onKeyDown={lines.onKeyDown}
      onPointerDown={lines.onPointerDown}
      onPointerOver={lines.onPointerOver}
      onFocus={(event) => setFocusedKey(rowKeyOf(rows, event.target))}
      onBlur={() => setFocusedKey(null)}
    >
      <div className="diff-content" style={{ "--columns": widest } as React.CSSProperties}>
        {groups.map(({ file: index, head, body, space }) => {
          const file = files[index];
          const elsewhere = file === undefined;
          return (
            <Fragment key={index}>
              {space > 0 && <div style={{ height: space }} />}
              <section
                className="diff-file"
                ref={(element) => {
                  const key = elsewhere ? "elsewhere" : `${index}`;
                  scroll.register(key, element, !elsewhere);
                  return () => scroll.register(key, null);
                }}
                aria-label={elsewhere ? "Elsewhere" : inert(file.path)}
                style={{ "--digits": digits(file) } as React.CSSProperties}
              >
                {elsewhere ? (
                  <div ref={rowRef("elsewhere", true)} data-index={rows.length - 1} className="diff-elsewhere">
                    {props.renderElsewhere()}
                  </div>
                ) : (
                  head !== null && (
                    <div ref={rowRef(`${index}`, true)} data-index={head} className="diff-head-row">
                      {props.renderHead(index)}
                    </div>
                  )
                )}
                {body.length > 0 && file !== undefined && (
                  <table
                    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows are selected with arrow keys
                    role="grid"
                    aria-multiselectable="true"
                    aria-label={`Changes in ${inert(file.path)}`}
                    aria-rowcount={(firstOfFile.get(index + 1) ?? rows.length) - (firstOfFile.get(index) ?? 0) - 1}
                    className="diff-table"
                    data-layout={layoutOf(file, layout)}
                  >
                    <colgroup>
                      <col className="diff-col-gutter" />
                      <col />
                      {layoutOf(file, layout) === "split" && (
                        <>
                          <col className="diff-col-gutter" />
                          <col />
                        </>
                      )}
                    </colgroup>
                    <tbody>
                      {body.map(({ index: at, space: before }) => {
                        const row = rows[at];
                        if (row === undefined) return null;
                        // Always the same shape: a row that has the focus must not be made anew.
                        return (
                          <Fragment key={row.key}>
                            {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: an empty row cannot take the focus */}
                            {before > 0 && <tr aria-hidden="true" style={{ height: before }} />}
                            {renderRow(at, row)}
                          </Fragment>
                        );
                      })}
                    </tbody>
                  </table>
                )}
              </section>
            </Fragment>
          );
        })}
        {spaceAfter > 0 && <div style={{ height: spaceAfter }} />}
      </div>
    </div>
  );
}

function renderFull(props: ViewerProps, row: Exclude<Row, LineRow>): ReactNode {
  switch (row.type) {
    case "text":
      return <p className={row.isProblem ? "text-warn" : "text-dim"}>{row.text}</p>;
    case "gap":
      return (
        <GapBar
          gap={row.gap}
          file={row.file}
          context={props.contexts[row.file] ?? NO_CONTEXT}
          onExpand={props.onExpand}
        />
      );
    case "raw":
      return (
        <div className="diff-raw">
          <span className="diff-number" data-number={row.number} />
          <CodeText
            text={row.text}
            pattern={props.marks.pattern}
            current={isCurrentRaw(props, row.file, row.number) ? (props.marks.current?.start ?? null) : null}
          />
        </div>
      );
    case "note": {
      const { id } = row.note;
      return (
        <div className="diff-note">
          {row.isInHead && <HeadNotePlace id={id} file={row.file} {...props} />}
          {props.renderNote(id)}
        </div>
      );
    }
    default:
      return null;
  }
}

function isCurrentRaw({ marks }: ViewerProps, file: number, number: number): boolean {
  return (
    marks.current !== null &&
    marks.current.side === "raw" &&
    marks.current.file === file &&
    marks.current.line === number
  );
}

interface Group {
  file: number;
  /** Row of the head, if it is rendered. */
  head: number | null;
  body: WindowItem[];
  /** Room before the group. */
  space: number;
}

function groupByFile(rows: readonly Row[], items: readonly WindowItem[]): Group[] {
  const groups: Group[] = [];
  for (const item of items) {
    const row = rows[item.index];
    if (row === undefined) continue;
    const last = groups.at(-1);
    if (last === undefined || last.file !== row.file) {
      const isBody = row.type !== "head" && row.type !== "elsewhere";
      groups.push({
        file: row.file,
        head: row.type === "head" ? item.index : null,
        body: isBody ? [{ index: item.index, space: 0 }] : [],
        space: item.space,
      });
    } else last.body.push(item);
  }
  return groups;
}

function headIndexes(rows: readonly Row[]): Map<number, number> {
  const heads = new Map<number, number>();
  for (const [index, row] of rows.entries())
    if (row.type === "head" || row.type === "elsewhere") heads.set(row.file, index);
  return heads;
}

function digits(file: PatchFile | undefined): number {
  const last = file?.hunks.at(-1);
  const highest =
    last === undefined ? 1 : Math.max(last.oldStart + last.oldCount, last.newStart + last.newCount) + 1_000;
  return Math.max(String(highest).length, 3);
}

function longestLine(files: readonly PatchFile[]): number {
  let longest = 0;
  for (const file of files)
    for (const hunk of file.hunks)
      for (const { text } of hunk.lines) {
        if (text.length + 8 <= longest / 2) continue;
        const tabs = text.length > 2_000 ? 0 : text.split("\t").length - 1;
        longest = Math.max(longest, text.length + tabs * 3);
      }
  return Math.min(longest, 2_040);
}

/** One stable `ref` per row: it measures the row and makes it known. */
function useRowRefs(
  rows: readonly Row[],
  measure: ((element: Element | null) => void) | null,
  register: (key: string, element: HTMLElement | null) => void,
): (key: string, isMeasuredOnly?: boolean) => (element: HTMLElement | null) => void {
  const refs = useRef(new Map<string, (element: HTMLElement | null) => void>());
  const latest = useRef(measure);
  latest.current = measure;
  // Forgets the rows of an earlier patch.
  if (refs.current.size > rows.length * 2 + 100) refs.current.clear();
  return useCallback(
    (key, isMeasuredOnly = false) => {
      const known = refs.current.get(key);
      if (known !== undefined) return known;
      const made = (element: HTMLElement | null) => {
        if (!isMeasuredOnly) register(key, element);
        latest.current?.(element);
      };
      refs.current.set(key, made);
      return made;
    },
    [register],
  );
}

function currentOf(row: LineRow, match: ViewerProps["marks"]["current"]): { side: Side; start: number } | null {
  if (match === null || match.side === "raw" || match.file !== row.file) return null;
  const { side, start, line } = match;
  return lineOn(row, side)?.[side] === line ? { side, start } : null;
}

function rowKeyOf(rows: readonly Row[], target: EventTarget): string | null {
  const element = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
  return rows[Number(element?.dataset.index ?? -1)]?.key ?? null;
}

function placeOf(rows: readonly Row[], key: string): Place | null {
  const index = rows.findIndex((row) => row.key === key);
  const first = rows[index];
  if (first === undefined || first.file === -1) return null;
  // The next line at or below the row, in the same file.
  for (let at = index; at < rows.length; at += 1) {
    const row = rows[at];
    if (row === undefined || row.file !== first.file) break;
    if (row.type === "head" && at === index) break;
    if (!isLineRow(row)) continue;
    const side: Side = lineOn(row, "new") === null ? "old" : "new";
    return { file: row.file, side, line: lineOn(row, side)?.[side] ?? null };
  }
  return { file: first.file, side: "new", line: null };
}

function keyOfPlace(rows: readonly Row[], files: readonly PatchFile[], { file, side, line }: Place): string | null {
  const own = files[file];
  if (line === null || own === undefined) return `${file}`;
  const index = rows.findIndex((row) => row.file === file && isLineRow(row) && lineOn(row, side)?.[side] === line);
  return rows[index]?.key ?? `${file}`;
}
