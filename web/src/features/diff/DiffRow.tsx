import { memo, type ReactNode } from "react";
import { CodeText } from "./CodeText";
import type { Side } from "./notes";
import type { DiffLine, PatchFile } from "./patch";
import { type Cell, type LineRow, lineOn, type Row } from "./rows";

const SIGNS = { added: "+", removed: "−", context: " " } as const;

interface LineRowProps {
  row: LineRow;
  index: number;
  /** Counted from 1, in the table of the file. */
  rowIndex: number;
  file: PatchFile;
  /** The side whose line is selected. */
  selected: Side | null;
  /** Where the comment on the selection would stand. */
  isSelectionEnd: boolean;
  /** The one row that Tab reaches. */
  isCursor: boolean;
  hasNotes: boolean;
  pattern: RegExp | null;
  current: { side: Side; start: number } | null;
  rowRef: (element: HTMLElement | null) => void;
  onComment: (index: number, side: Side) => void;
}

/** A line of the diff: one cell that names the line, and one with its text; twice if both sides stand side by side. */
export const DiffRow = memo(function DiffRow(props: LineRowProps) {
  const { row, index, rowIndex, file, selected, isSelectionEnd, isCursor, hasNotes, pattern, current, rowRef } = props;
  const cell = (side: Side, of: Cell | null, isOnlyOne: boolean): ReactNode => (
    <LineCells
      side={side}
      cell={of}
      file={file}
      isUnified={isOnlyOne}
      isSelected={selected !== null && (isOnlyOne || selected === side)}
      hasButton={of !== null}
      hasNotes={hasNotes}
      pattern={pattern}
      current={current !== null && (isOnlyOne || current.side === side) ? current.start : null}
      onComment={() => props.onComment(index, side)}
    />
  );
  const ownSide: Side = lineOn(row, "new") === null ? "old" : "new";
  return (
    <tr
      ref={rowRef}
      className="diff-line"
      data-index={index}
      data-extra={row.isExtra || undefined}
      data-end={isSelectionEnd || undefined}
      tabIndex={isCursor ? 0 : -1}
      aria-rowindex={rowIndex}
      aria-selected={selected !== null}
    >
      {row.type === "line" ? (
        cell(ownSide, row.cell, true)
      ) : (
        <>
          {cell("old", row.old, false)}
          {cell("new", row.new, false)}
        </>
      )}
    </tr>
  );
});

interface LineCellsProps {
  side: Side;
  cell: Cell | null;
  file: PatchFile;
  isUnified: boolean;
  isSelected: boolean;
  hasButton: boolean;
  hasNotes: boolean;
  pattern: RegExp | null;
  current: number | null;
  onComment: () => void;
}

function LineCells(props: LineCellsProps) {
  const { side, cell, file, isUnified, isSelected, hasButton, hasNotes, pattern, current, onComment } = props;
  if (cell === null)
    return (
      <>
        <td className="diff-gutter diff-none" aria-label="no line" />
        <td className="diff-code diff-none" />
      </>
    );
  const { line, emphasis } = cell;
  const kind = isUnified || line.kind !== "context" ? line.kind : "context";
  const words = lineLabel(line, side);
  return (
    <>
      <td
        className="diff-gutter"
        data-kind={kind}
        data-side={side}
        data-selected={isSelected || undefined}
        aria-label={hasNotes ? `${words}, has notes` : words}
      >
        {isUnified && <span className="diff-number diff-number-old" data-number={line.old ?? ""} />}
        <span className="diff-number" data-number={(isUnified ? line.new : line[side]) ?? ""} />
        <span className="diff-sign" data-sign={SIGNS[kind]} />
        {hasButton && (
          <button
            type="button"
            tabIndex={-1}
            className="diff-add-note"
            aria-label={`Comment on ${words}`}
            onClick={onComment}
          >
            +
          </button>
        )}
      </td>
      <td className="diff-code" data-kind={kind} data-selected={isSelected || undefined}>
        <CodeText text={line.text} emphasis={emphasis} pattern={pattern} current={current} isCrlf={file.isCrlf} />
        {line.endMarker !== null && <EndMarker text={line.endMarker} />}
      </td>
    </>
  );
}

function EndMarker({ text }: { text: string }) {
  const isUsual = text === "No newline at end of file";
  return (
    <span className="diff-mark" title={isUsual ? text : undefined}>
      {isUsual ? "⊘ no newline at the end" : <CodeText text={`\\ ${text}`} />}
    </span>
  );
}

/** "added line 12", "removed line 7", "line 12". */
export function lineLabel(line: DiffLine, side: Side): string {
  if (line.kind === "added") return `added line ${line.new}`;
  if (line.kind === "removed") return `removed line ${line.old}`;
  return side === "old" ? `old line ${line.old}` : `line ${line.new}`;
}

interface FullRowProps {
  rowIndex: number;
  index: number;
  type: Row["type"];
  columns: number;
  rowRef: (element: HTMLElement | null) => void;
  children: ReactNode;
}

/** A row over the whole width: a note, a gap, a sentence. */
export function FullRow({ rowIndex, index, type, columns, rowRef, children }: FullRowProps) {
  return (
    <tr ref={rowRef} className="diff-full" data-type={type} data-index={index} aria-rowindex={rowIndex}>
      <td colSpan={columns}>
        <div className="diff-full-content">{children}</div>
      </td>
    </tr>
  );
}
