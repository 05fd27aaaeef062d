/** The diff of a review: file tree, lines and notes. The only part of this folder that pages use, with `parsePatch`. */
import { lazy, type ReactNode, type Ref, Suspense, useCallback, useEffect, useImperativeHandle, useState } from "react";
import { DiffTable } from "./DiffTable";
import "./diff.css";
import { FileTree } from "./FileTree";
import { FindBar } from "./FindBar";
import { Minimap } from "./Minimap";
import type { DiffNote, LineRange, Side } from "./notes";
import { PaneBoundary } from "./PaneBoundary";
import type { ParsedPatch } from "./patch";
import { useDiffModel } from "./useDiffModel";
import { useFind } from "./useFind";
import { useNavigation } from "./useNavigation";
import { useViewerParts } from "./useViewerParts";
import type { ViewerProps } from "./viewer";

export type { DiffNote, LineRange } from "./notes";

/** The highlighting view is large: only a page with a diff loads it. */
const loadPane = () => import("./DiffPane").then((module) => ({ default: module.DiffPane }));
const DiffPane = lazy(loadPane);

/** Begins to load the highlighting view while the diff itself is on its way. */
export function preloadPane(): void {
  // A failure shows when the view is drawn.
  loadPane().catch(() => {});
}

export interface DiffHandle {
  scrollToFile: (path: string) => void;
  /** Shows the lines, also of a folded file and outside of the hunks. */
  scrollToLine: (range: LineRange) => void;
  scrollToNote: (id: string) => void;
  nextFile: (step: 1 | -1) => void;
  /** Selects the first line of the next change. */
  nextChange: (step: 1 | -1) => void;
  /** The note that is shown now. `null` while no note is shown. */
  nextNote: (step: 1 | -1) => string | null;
  /** Marks the current file as viewed, folds it and goes to the next one that was not viewed. */
  markViewedAndNext: () => void;
  openFind: () => void;
  /** Path of the file at the top of the view. */
  currentFile: () => string | null;
  /** Moves the focus to the selected line, or to the first one in sight. */
  focus: () => void;
}

export interface DiffProps {
  patch: ParsedPatch;
  /** Names the review, for viewed marks. */
  reviewKey: string;
  /** Identity of the content. Another one starts anew: folds, shown context, place. */
  contentHash: string;
  /** A note that arrives later moves neither the place nor the focus of the reader. */
  notes: readonly DiffNote[];
  /** May be taken off the page while out of sight: keep what a reader typed outside of it. */
  renderNote: (id: string) => ReactNode;
  /** Notes without a place in the diff. They stand under "Elsewhere" at the end. */
  renderUnplaced?: (ids: string[]) => ReactNode;
  layout: "unified" | "split";
  /** The table wraps long lines in the split layout in any case. */
  wrap: boolean;
  /** Mark the words that changed within a line. The table does not. */
  words: boolean;
  view: "pane" | "table";
  selection: LineRange | null;
  onSelect: (range: LineRange | null) => void;
  onComment: (range: LineRange) => void;
  /** The text of a file, for lines around the hunks. `null` if it cannot be had. */
  loadFile: (path: string, side: Side) => Promise<string | null>;
  handle?: Ref<DiffHandle>;
  /** The file at the top of the view changed. */
  onCurrentFile?: (path: string) => void;
  /** The pane could not run here, and the table is shown instead. */
  onPaneFailed?: (error: unknown) => void;
}

/** Fills its parent, which must have a height: the diff scrolls inside. */
export function Diff(props: DiffProps) {
  return <DiffOfContent key={props.contentHash} {...props} />;
}

function DiffOfContent(props: DiffProps) {
  const { layout, wrap, words, view, selection, onSelect, onComment, renderNote, onCurrentFile, onPaneFailed } = props;
  const [isTreeOpen, setIsTreeOpen] = useState(false);
  const [hasPaneFailed, setHasPaneFailed] = useState(false);
  const model = useDiffModel(props);
  const { files, sections, placed, seen } = model;
  const go = useNavigation(model, `${layout} ${view}`);
  const find = useFind(files, sections, () => go.place.current, go.goToMatch);
  const parts = useViewerParts(model, props);

  const { goToFile } = go;
  const openFile = useCallback(
    (file: number) => {
      setIsTreeOpen(false);
      goToFile(file);
    },
    [goToFile],
  );
  const currentPath = files[go.current]?.path;
  useEffect(() => {
    if (currentPath !== undefined) onCurrentFile?.(currentPath);
  }, [currentPath, onCurrentFile]);

  useImperativeHandle(props.handle, () => ({
    scrollToFile: go.goToPath,
    scrollToLine: go.goToLine,
    scrollToNote: go.goToNote,
    nextFile: go.goToNextFile,
    nextChange: (step) => {
      const range = go.goToNextChange(step, selection);
      if (range === null) return;
      onSelect(range);
      // The arrow keys go on from the line.
      go.viewer.current?.focus();
    },
    nextNote: go.goToNextNote,
    markViewedAndNext: go.markViewedAndGoOn,
    openFind: find.open,
    currentFile: () => currentPath ?? null,
    focus: () => go.viewer.current?.focus(),
  }));

  if (files.length === 0) return <p className="diff-empty">The diff is empty.</p>;
  const viewer: ViewerProps = {
    ...model,
    ...parts,
    notes: placed,
    layout,
    wrap,
    words,
    selection,
    onSelect,
    onComment,
    renderNote,
    onExpand: model.expand,
    onPlace: go.setPlace,
    marks: find.marks,
    handle: go.setViewer,
  };
  const table = <DiffTable {...viewer} />;
  return (
    <div className="diff" data-tree={isTreeOpen || undefined}>
      <div className="diff-side">
        <FileTree
          files={files}
          notes={placed}
          marks={seen}
          current={go.current}
          onViewed={model.markViewed}
          onOpen={openFile}
        />
      </div>
      <div className="diff-main">
        <button
          type="button"
          className="diff-tree-toggle"
          aria-expanded={isTreeOpen}
          onClick={() => setIsTreeOpen(!isTreeOpen)}
        >
          {isTreeOpen ? "Back to the diff" : `Files (${files.length})`}
        </button>
        {find.isOpen && (
          <FindBar
            {...find}
            onQuery={find.change}
            onStep={find.step}
            onClose={() => {
              find.close();
              go.viewer.current?.focus();
            }}
          />
        )}
        {view === "table" || hasPaneFailed ? (
          table
        ) : (
          <PaneBoundary
            fallback={table}
            onError={(error) => {
              setHasPaneFailed(true);
              onPaneFailed?.(error);
            }}
          >
            <Suspense fallback={<p className="diff-loading">Loading the diff…</p>}>
              <DiffPane {...viewer} />
            </Suspense>
          </PaneBoundary>
        )}
      </div>
      <Minimap rows={model.rows} onGo={go.goToNote} />
    </div>
  );
}
