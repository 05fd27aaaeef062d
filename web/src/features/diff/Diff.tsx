/** The diff of a review: file tree, lines and notes. The only part of this folder that pages use, with `parsePatch`. */
import {
  Component,
  lazy,
  type ReactNode,
  type Ref,
  Suspense,
  useCallback,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { contextSize, sectionsOf } from "./context";
import { isChangeStart } from "./cursor";
import { DiffTable } from "./DiffTable";
import { foldReason } from "./describe";
import { FileHead } from "./FileHead";
import { FileTree } from "./FileTree";
import { FindBar } from "./FindBar";
import type { Match } from "./find";
import { type DiffNote, type LineRange, placeNotes, type Side } from "./notes";
import type { ParsedPatch, PatchFile } from "./patch";
import { buildRows, isLineRow, lineOn, pathOn, rangeOf } from "./rows";
import { useContexts } from "./useContexts";
import { useFind } from "./useFind";
import { useViewed, viewedState } from "./viewed";
import type { Place, ViewerHandle, ViewerProps } from "./viewer";

export type { DiffNote, LineRange } from "./notes";

/** The highlighting view is large: only a page with a diff loads it. */
const DiffPane = lazy(() => import("./DiffPane").then((module) => ({ default: module.DiffPane })));

export interface DiffHandle {
  scrollToFile: (path: string) => void;
  /** Shows the lines, also of a folded file and outside of the hunks. */
  scrollToLine: (range: LineRange) => void;
  scrollToNote: (id: string) => void;
  nextFile: (step: 1 | -1) => void;
  /** Selects the first line of the next change. */
  nextChange: (step: 1 | -1) => void;
  /** The note that is shown now, or `null` if there is none. */
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

/** Where the view goes after the next render. A new object goes again. */
type Jump = { to: Place } | { note: string } | { raw: { file: number; number: number } };

function DiffOfContent(props: DiffProps) {
  const { patch, reviewKey, notes, layout, wrap, view, selection, onSelect, renderNote, renderUnplaced, handle } =
    props;
  const { files } = patch;
  const { marks, set: setViewed } = useViewed(reviewKey);
  const { contexts, expand, showWhole, showAround } = useContexts(files, props.loadFile);
  const usualContext = useMemo(() => contextSize(patch), [patch]);
  const sections = useSections(files, contexts, usualContext);
  const placed = useMemo(() => placeNotes(files, sections, notes), [files, sections, notes]);
  // Decided once: a note or a mark that comes later must not fold or unfold what the reader looks at.
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(
    () =>
      new Map(
        files.map((file) => {
          const isNoise = foldReason(file) !== null && placed.files[file.index]?.count === 0;
          return [file.index, isNoise || viewedState(file, marks) === "viewed"];
        }),
      ),
  );
  const folded = useMemo(() => new Set([...folds].filter(([, isFolded]) => isFolded).map(([file]) => file)), [folds]);
  const rows = useMemo(
    () => buildRows({ files, sections, notes: placed, folded, layout }),
    [files, sections, placed, folded, layout],
  );
  const fold = useCallback((file: number, isFolded: boolean) => {
    setFolds((known) => (known.get(file) === isFolded ? known : new Map(known).set(file, isFolded)));
  }, []);

  const markViewed = useCallback(
    (file: PatchFile, isViewed: boolean) => {
      setViewed(file, isViewed);
      fold(file.index, isViewed);
    },
    [setViewed, fold],
  );

  const place = useRef<Place>({ file: 0, side: "new", line: null });
  const [current, setCurrent] = useState<number | null>(files.length > 0 ? 0 : null);
  const [viewer, setViewer] = useState<ViewerHandle | null>(null);
  const [jump, setJump] = useState<Jump | null>(null);
  const [isTreeOpen, setIsTreeOpen] = useState(false);
  const [hasPaneFailed, setHasPaneFailed] = useState(false);
  const shownNote = useRef<string | null>(null);

  useEffect(() => {
    if (viewer === null || jump === null) return;
    if ("to" in jump) viewer.show(jump.to);
    else if ("note" in jump) viewer.showNote(jump.note);
    else viewer.showRaw(jump.raw.file, jump.raw.number);
  }, [viewer, jump]);

  const { onCurrentFile } = props;
  const setPlace = useCallback((next: Place) => {
    place.current = next;
    setCurrent((known) => (known === next.file ? known : next.file));
  }, []);
  const currentPath = current === null ? undefined : files[current]?.path;
  useEffect(() => {
    if (currentPath !== undefined) onCurrentFile?.(currentPath);
  }, [currentPath, onCurrentFile]);

  // Another layout has other rows: the reader stays at the same line.
  const lastLayout = useRef(`${layout} ${view}`);
  useEffect(() => {
    const now = `${layout} ${view}`;
    if (lastLayout.current === now) return;
    lastLayout.current = now;
    setJump({ to: { ...place.current } });
  }, [layout, view]);

  const goTo = useCallback(
    (to: Place) => {
      if (to.line !== null) fold(to.file, false);
      setCurrent(to.file);
      place.current = to;
      setJump({ to });
    },
    [fold],
  );
  const goToNote = useCallback(
    (id: string) => {
      const file = placed.fileOf.get(id);
      if (file !== undefined) fold(file, false);
      shownNote.current = id;
      setJump({ note: id });
    },
    [placed, fold],
  );
  const showMatch = (match: Match) => {
    fold(match.file, false);
    if (match.side === "raw") setJump({ raw: { file: match.file, number: match.line } });
    else setJump({ to: { file: match.file, side: match.side, line: match.line } });
  };
  const find = useFind(files, sections, () => place.current, showMatch);

  const view_: ViewerProps = {
    files,
    sections,
    contexts,
    notes: placed,
    folded,
    rows,
    layout,
    wrap,
    selection,
    onSelect,
    onComment: props.onComment,
    onExpand: expand,
    onShowLine: (file, side, line) => {
      const own = files[file];
      if (own !== undefined) showAround(own, side, line);
    },
    renderHead: (index) => {
      const file = files[index];
      const own = placed.files[index];
      if (file === undefined || own === undefined) return null;
      const isFolded = folded.has(index);
      const shown = sections[index];
      const hasMore = shown?.tail != null || shown?.sections.some((section) => section.gap !== null);
      const canLoad = !["loading", "unavailable", "mismatch"].includes(contexts[index]?.state ?? "none");
      return (
        <FileHead
          file={file}
          isFolded={isFolded}
          foldReason={foldReason(file)}
          viewed={viewedState(file, marks)}
          notes={own}
          onFold={(next) => fold(index, next)}
          onViewed={(isViewed) => markViewed(file, isViewed)}
          onWhole={hasMore && canLoad ? () => showWhole(file) : null}
        />
      );
    },
    renderNote,
    renderElsewhere: () => (
      <>
        <h3 className="diff-elsewhere-title">Elsewhere</h3>
        <p className="diff-elsewhere-text">Notes about no file, or about files that this diff does not contain.</p>
        {renderUnplaced?.(placed.elsewhere.map((note) => note.id)) ??
          placed.elsewhere.map((note) => (
            <div key={note.id} className="diff-note">
              {renderNote(note.id)}
            </div>
          ))}
      </>
    ),
    onPlace: setPlace,
    marks: find.marks,
    handle: setViewer,
  };

  useImperativeHandle(handle, () => ({
    scrollToFile: (path) => {
      const file = files.find((each) => each.path === path) ?? files.find((each) => each.oldPath === path);
      if (file !== undefined) goTo({ file: file.index, side: "new", line: null });
    },
    scrollToLine: (range) => {
      const own = files.filter((file) => file.kind !== "unreadable" && pathOn(file, range.side) === range.path);
      const shows = (file: PatchFile) =>
        sections[file.index]?.sections.some(({ lines }) => lines.some(({ line }) => line[range.side] === range.start));
      const file = own.find(shows) ?? own[0];
      if (file === undefined) return;
      if (!shows(file)) showAround(file, range.side, range.start);
      goTo({ file: file.index, side: range.side, line: range.start });
    },
    scrollToNote: goToNote,
    nextFile: (step) => {
      const next = (current ?? 0) + step;
      if (next >= 0 && next < files.length) goTo({ file: next, side: "new", line: null });
    },
    nextChange: (step) => {
      const from = startRow();
      for (let at = from + step; at >= 0 && at < rows.length; at += step) {
        const row = rows[at];
        if (!isLineRow(row) || !isChangeStart(rows, at)) continue;
        const range = rangeOf(row, files);
        if (range === null) continue;
        onSelect(range);
        goTo({ file: row.file, side: range.side, line: range.start });
        return;
      }
    },
    nextNote: (step) => {
      const order = notesInOrder();
      const at = shownNote.current === null ? -1 : order.findIndex(({ id }) => id === shownNote.current);
      const isHere = at !== -1 && (order[at]?.file === current || order[at]?.file === -1);
      const first = order.findIndex(({ file }) => file >= (current ?? 0) || file === -1);
      const next = isHere
        ? at + step
        : step === 1
          ? first
          : order.findLastIndex(({ file }) => file !== -1 && file <= (current ?? 0));
      const id = order[next]?.id ?? order[step === 1 ? 0 : order.length - 1]?.id ?? null;
      if (id !== null) goToNote(id);
      return id;
    },
    markViewedAndNext: () => {
      const file = current === null ? undefined : files[current];
      if (file === undefined) return;
      markViewed(file, true);
      const isLeft = (each: PatchFile) =>
        each.index !== file.index && each.kind !== "unreadable" && viewedState(each, marks) !== "viewed";
      const next = files.find((each) => each.index > file.index && isLeft(each)) ?? files.find(isLeft) ?? file;
      goTo({ file: next.index, side: "new", line: null });
    },
    openFind: find.open,
    currentFile: () => (current === null ? null : (files[current]?.path ?? null)),
    focus: () => viewer?.focus(),
  }));

  /** The row from which the next change is sought: the selection if it is in sight, else the first line in sight. */
  const startRow = (): number => {
    const selected =
      selection === null ? null : rows.findIndex((row) => isLineRow(row) && isStart(row, selection, files));
    if (selected !== null && selected !== -1 && selection !== null) {
      const file = rows[selected]?.file ?? 0;
      if (viewer?.isInSight({ file, side: selection.side, line: selection.start })) return selected;
    }
    const { file, side, line } = place.current;
    const at = rows.findIndex((row) => row.file === file && (line === null || lineOn(row, side)?.[side] === line));
    return at === -1 ? -1 : Math.max(at - 1, -1);
  };

  const notesInOrder = (): { id: string; file: number }[] => [
    ...files.flatMap(({ index }) => {
      const own = placed.files[index];
      const inLines = (sections[index]?.sections ?? []).flatMap(({ lines }) =>
        own === undefined || own.byLine.size === 0 ? [] : lines.flatMap(({ key }) => own.byLine.get(key) ?? []),
      );
      return [...(own?.head ?? []), ...inLines].map(({ id }) => ({ id, file: index }));
    }),
    ...placed.elsewhere.map(({ id }) => ({ id, file: -1 })),
  ];

  const table = <DiffTable {...view_} />;
  const tree = (
    <FileTree
      files={files}
      notes={placed}
      marks={marks}
      current={current}
      onViewed={markViewed}
      onOpen={(file) => {
        setIsTreeOpen(false);
        goTo({ file, side: "new", line: null });
      }}
    />
  );
  if (files.length === 0) return <p className="diff-empty">The diff is empty.</p>;
  return (
    <div className="diff" data-tree={isTreeOpen || undefined}>
      <div className="diff-side">{tree}</div>
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
            query={find.query}
            found={find.found}
            at={find.at}
            inputRef={find.inputRef}
            onQuery={find.change}
            onStep={find.step}
            onClose={() => {
              find.close();
              viewer?.focus();
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
              props.onPaneFailed?.(error);
            }}
          >
            <Suspense fallback={<p className="diff-loading">Loading the diff…</p>}>
              <DiffPane {...view_} />
            </Suspense>
          </PaneBoundary>
        )}
      </div>
    </div>
  );
}

function isStart(row: Parameters<typeof lineOn>[0], range: LineRange, files: readonly PatchFile[]): boolean {
  const file = files[row.file];
  return (
    file !== undefined &&
    pathOn(file, range.side) === range.path &&
    lineOn(row, range.side)?.[range.side] === range.start
  );
}

/** Only files whose context changed are cut anew. */
function useSections(
  files: readonly PatchFile[],
  contexts: readonly ReturnType<typeof useContexts>["contexts"][number][],
  usual: number,
) {
  const cache = useRef<{ context: unknown; sections: ReturnType<typeof sectionsOf> }[]>([]);
  return useMemo(
    () =>
      files.map((file, index) => {
        const context = contexts[index];
        const known = cache.current[index];
        if (context === undefined) return { sections: [], tail: null };
        if (known !== undefined && known.context === context) return known.sections;
        const sections = sectionsOf(file, context, usual);
        cache.current[index] = { context, sections };
        return sections;
      }),
    [files, contexts, usual],
  );
}

/** Shows the table if the highlighting view cannot be loaded or breaks. */
class PaneBoundary extends Component<
  { children: ReactNode; fallback: ReactNode; onError: (error: unknown) => void },
  { hasFailed: boolean }
> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError(error);
  }

  override render() {
    return this.state.hasFailed ? this.props.fallback : this.props.children;
  }
}
