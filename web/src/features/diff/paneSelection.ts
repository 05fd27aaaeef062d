/** Selected lines and places, between our words and those of the highlighting view. */
import { between } from "./cursor";
import type { LineRange, Side } from "./notes";
import type { PatchFile } from "./patch";
import { findRow, pathOn, type Row } from "./rows";
import { fileOfItem, itemId } from "./usePaneItems";
import { HEAD_HEIGHT } from "./useRowScroll";
import type { Place } from "./viewer";

export type PaneSide = "additions" | "deletions";

export interface PaneSelection {
  id: string;
  range: { start: number; end: number; side?: PaneSide; endSide?: PaneSide };
}

export const paneSide = (side: Side): PaneSide => (side === "old" ? "deletions" : "additions");
export const sideOfPane = (side: string | undefined): Side => (side === "deletions" ? "old" : "new");

export function toPane(
  selection: LineRange | null,
  rows: readonly Row[],
  files: readonly PatchFile[],
): PaneSelection | null {
  const file = selection === null ? undefined : files[rows[findRow(rows, files, selection, "start")]?.file ?? -1];
  if (selection === null || file === undefined) return null;
  const side = paneSide(selection.side);
  return { id: itemId(file), range: { start: selection.start, end: selection.end, side, endSide: side } };
}

export function fromPane(
  { id, range }: PaneSelection,
  rows: readonly Row[],
  files: readonly PatchFile[],
): LineRange | null {
  const file = files[fileOfItem(id)];
  if (file === undefined) return null;
  const [from, to] = [sideOfPane(range.side), sideOfPane(range.endSide ?? range.side)];
  const line = (side: Side, number: number): LineRange => ({
    path: pathOn(file, side),
    side,
    start: number,
    end: number,
  });
  if (from === to) return { ...line(from, Math.min(range.start, range.end)), end: Math.max(range.start, range.end) };
  const rowOf = (side: Side, number: number) => findRow(rows, files, line(side, number), "start");
  return between({ rows, files }, rowOf(from, range.start), rowOf(to, range.end));
}

/** The parts of the viewer that know where things are. */
export interface PaneGeometry {
  getTopForItem: (id: string) => number | undefined;
  getRenderedItems: () => readonly RenderedItem[];
}

interface RenderedItem {
  id: string;
  type: "diff" | "file";
  instance: object;
}

interface DiffGeometry {
  getNumericScrollAnchor: (top: number) => { lineNumber: number; side?: PaneSide } | undefined;
  getLinePosition: (line: number, side?: PaneSide) => { top: number } | undefined;
}

const geometryOf = (item: RenderedItem): DiffGeometry | null =>
  item.type === "diff" ? (item.instance as DiffGeometry) : null;

/** The first line in sight. */
export function placeAt(viewer: PaneGeometry, scrollTop: number): Place | null {
  const top = scrollTop + HEAD_HEIGHT;
  const item = viewer.getRenderedItems().findLast(({ id }) => (viewer.getTopForItem(id) ?? 0) < top);
  if (item === undefined) return null;
  const anchor = geometryOf(item)?.getNumericScrollAnchor(top - (viewer.getTopForItem(item.id) ?? 0));
  return { file: fileOfItem(item.id), side: sideOfPane(anchor?.side), line: anchor?.lineNumber ?? null };
}

/** How far below the top of the content a line stands; `null` if it is not drawn. */
export function topOfLine(viewer: PaneGeometry, { file, side, line }: Place): number | null {
  const item = viewer.getRenderedItems().find(({ id }) => fileOfItem(id) === file);
  const position =
    item === undefined || line === null ? undefined : geometryOf(item)?.getLinePosition(line, paneSide(side));
  return item === undefined || position === undefined ? null : (viewer.getTopForItem(item.id) ?? 0) + position.top;
}
