/**
 * The diff with coloured code, by @pierre/diffs. This is the only file that imports it, and only a page with a diff loads
 * it. It takes the same props as `DiffTable`. Where it cannot run it throws, and the table is shown.
 */
import { canUseWASM, preloadHighlighter, registerCustomTheme } from "@pierre/diffs";
import { CodeView, type CodeViewHandle, type CodeViewProps, WorkerPoolContextProvider } from "@pierre/diffs/react";
import DiffWorker from "@pierre/diffs/worker/worker.js?worker";
import { type KeyboardEvent, useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState } from "react";
import { useAreKeysOn } from "../../keys/preference";
import { useTheme } from "../../theme";
import { NO_CONTEXT, STEP } from "./context";
import { actionOfKey, between, type Cursor, cursorOf, cursorRow } from "./cursor";
import "./diff.css";
import { HeadNotePlace } from "./HeadNotePlace";
import type { LineRange, Side } from "./notes";
import { gapOf, markRewritten, nameCommentButton, nameGaps, pressedGap } from "./paneDom";
import { paintMatches } from "./paneFind";
import { PANE_CSS, readableTheme } from "./paneTheme";
import { findRow, isLineRow, pathOn } from "./rows";
import { useFocusAnchor } from "./useFocusAnchor";
import { fileOfItem, itemId, usePaneItems } from "./usePaneItems";
import { HEAD_HEIGHT } from "./useRowScroll";
import type { GapAction, Place, ViewerProps } from "./viewer";

const THEMES = { light: "countersign-light", dark: "countersign-dark" };
registerCustomTheme(
  THEMES.light,
  async () => readableTheme((await import("@pierre/highlights/themes/github-light-default")).default),
  "zed",
);
registerCustomTheme(
  THEMES.dark,
  async () => readableTheme((await import("@pierre/highlights/themes/github-dark-default")).default),
  "zed",
);

/** Small files are highlighted at once, without a first paint in one colour. */
const POOL = { workerFactory: () => new DiffWorker(), poolSize: 2, mainThreadMaxCharacters: 20_000 };
const HIGHLIGHTER = { theme: THEMES, preferredHighlighter: "highlights" as const };
/** If nothing is drawn by then, the table is shown. */
const DRAW_TIMEOUT_MS = 10_000;

type Ids = { ids: readonly string[] };
type PaneProps = CodeViewProps<Ids, undefined>;
type PaneHandle = CodeViewHandle<Ids, undefined>;
type Selection = NonNullable<PaneProps["selectedLines"]>;

export function DiffPane(props: ViewerProps) {
  if (!canUseWASM()) throw new Error("WebAssembly with SIMD is not available: the diff is shown without colours");
  return (
    <WorkerPoolContextProvider poolOptions={POOL} highlighterOptions={HIGHLIGHTER}>
      <Pane {...props} />
    </WorkerPoolContextProvider>
  );
}

const sideOfPane = (side: string | undefined): Side => (side === "deletions" ? "old" : "new");
const paneSide = (side: Side) => (side === "old" ? ("deletions" as const) : ("additions" as const));

function Pane(props: ViewerProps) {
  const { files, sections, rows, contexts, layout, wrap, selection, marks } = props;
  const { onSelect, onComment, onExpand, onPlace, renderHead, renderNote, renderElsewhere, handle } = props;
  const view = useRef<PaneHandle>(null);
  const scroller = useRef<HTMLDivElement | null>(null);
  const cursor = useRef<Cursor | null>(null);
  const side = useRef<Side | null>(null);
  const isOwnScroll = useRef(false);
  const areKeysOn = useAreKeysOn();
  const { shown } = useTheme();
  const items = usePaneItems(props);
  useFocusAnchor(scroller, items);
  const [failure, setFailure] = useState<Error | null>(null);
  if (failure !== null) throw failure;
  cursor.current = cursorOf(selection, cursor.current);

  useEffect(() => {
    // The viewer would log that it cannot be loaded, and draw nothing.
    preloadHighlighter({ themes: Object.values(THEMES), langs: [], preferredHighlighter: "highlights" }).catch(
      setFailure,
    );
    const timer = setTimeout(() => {
      const isDrawn = scroller.current?.querySelector("diffs-container") != null;
      if (!isDrawn) setFailure(new Error("the highlighting view drew nothing"));
    }, DRAW_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, []);

  const selectedLines = useMemo((): Selection | null => {
    if (selection === null) return null;
    const file = rows[findRow(rows, files, selection, "start")]?.file;
    const own = file === undefined ? undefined : files[file];
    if (own === undefined) return null;
    const on = paneSide(selection.side);
    return { id: itemId(own), range: { start: selection.start, end: selection.end, side: on, endSide: on } };
  }, [selection, rows, files]);

  const toRange = useCallback(
    ({ id, range }: Selection): LineRange | null => {
      const file = files[fileOfItem(id)];
      if (file === undefined) return null;
      const [from, to] = [sideOfPane(range.side), sideOfPane(range.endSide ?? range.side)];
      const on = (own: Side, line: number): LineRange => ({
        path: pathOn(file, own),
        side: own,
        start: line,
        end: line,
      });
      if (from === to)
        return {
          ...on(from, range.start),
          start: Math.min(range.start, range.end),
          end: Math.max(range.start, range.end),
        };
      const place = { rows, files };
      return between(
        place,
        findRow(rows, files, on(from, range.start), "start"),
        findRow(rows, files, on(to, range.end), "start"),
      );
    },
    [rows, files],
  );

  const scrollTo = useCallback(
    ({ file, side: own, line }: Place, align: "start" | "center" | "nearest") => {
      const id = files[file] === undefined ? null : itemId(files[file]);
      if (id === null) return;
      isOwnScroll.current = true;
      if (line === null) view.current?.scrollTo({ type: "item", id, align: "start", behavior: "instant" });
      else
        view.current?.scrollTo({ type: "line", id, lineNumber: line, side: paneSide(own), align, behavior: "instant" });
    },
    [files],
  );

  const show = useCallback(
    (place: Place) => {
      scrollTo(place, "center");
      onPlace(place);
    },
    [scrollTo, onPlace],
  );

  const gapAt = useCallback((file: number, index: number) => gapOf(sections[file], index), [sections]);

  /** The gap whose button was pressed. It lies in a shadow root. */
  const expansionAt = (event: Event): GapAction | null => {
    const pressed = pressedGap(event);
    const item = view.current
      ?.getInstance()
      ?.getRenderedItems()
      .find(({ element }) => element === pressed?.host);
    const gap = pressed === null || item === undefined ? null : gapAt(fileOfItem(item.id), pressed.index);
    if (pressed === null || item === undefined || gap === null) return null;
    const isSmall = gap.hidden !== null && gap.hidden <= STEP;
    return { file: fileOfItem(item.id), gap: gap.index, from: isSmall ? "all" : pressed.from };
  };

  const dress = useCallback(
    (host: HTMLElement, file: number) => {
      markRewritten(host);
      nameCommentButton(host);
      nameGaps(host, (index) => gapAt(file, index), contexts[file] ?? NO_CONTEXT);
    },
    [gapAt, contexts],
  );

  const paint = useCallback(() => {
    const rendered = view.current?.getInstance()?.getRenderedItems() ?? [];
    paintMatches(
      rendered.map(({ id, element }) => ({ file: fileOfItem(id), root: element.shadowRoot })),
      marks,
    );
  }, [marks]);
  useEffect(() => {
    paint();
    return () => paintMatches([], { pattern: null, current: null });
  }, [paint]);

  const comment = (line: Selection) => {
    const range = toRange(line);
    if (range !== null) onComment(range);
  };
  const latest = useRef({ dress, paint, comment });
  latest.current = { dress, paint, comment };
  useEffect(() => {
    for (const { id, element } of view.current?.getInstance()?.getRenderedItems() ?? []) dress(element, fileOfItem(id));
  }, [dress]);

  const options = useMemo(
    (): NonNullable<PaneProps["options"]> => ({
      theme: THEMES,
      themeType: shown,
      preferredHighlighter: "highlights",
      diffStyle: layout,
      overflow: wrap ? "wrap" : "scroll",
      diffIndicators: "classic",
      hunkSeparators: "line-info-basic",
      // Gaps are ours: the viewer must not open any by itself.
      collapsedContextThreshold: 0,
      expansionLineCount: STEP,
      stickyHeaders: true,
      enableLineSelection: true,
      enableGutterUtility: true,
      lineHoverHighlight: "number",
      onGutterUtilityClick: (range: Selection["range"], context: { item: { id: string } }) =>
        latest.current.comment({ id: context.item.id, range }),
      itemMetrics: { lineHeight: 20, diffHeaderHeight: HEAD_HEIGHT },
      layout: { paddingTop: 0, paddingBottom: 0, gap: 0 },
      unsafeCSS: PANE_CSS,
      onPostRender: (host, _instance, phase, context) => {
        if (phase === "unmount") return;
        latest.current.dress(host, fileOfItem(context.item.id));
        latest.current.paint();
      },
    }),
    [shown, layout, wrap],
  );

  const onScroll = useCallback<NonNullable<PaneProps["onScroll"]>>(
    (scrollTop, viewer) => {
      if (isOwnScroll.current) return;
      const top = scrollTop + HEAD_HEIGHT;
      const item = viewer.getRenderedItems().findLast(({ id }) => (viewer.getTopForItem(id) ?? 0) < top);
      if (item === undefined) return;
      const anchor =
        item.type === "diff"
          ? item.instance.getNumericScrollAnchor(top - (viewer.getTopForItem(item.id) ?? 0))
          : undefined;
      onPlace({ file: fileOfItem(item.id), side: sideOfPane(anchor?.side), line: anchor?.lineNumber ?? null });
    },
    [onPlace],
  );

  useImperativeHandle(
    handle,
    () => ({
      show,
      showNote: (id) => {
        const file = props.notes.fileOf.get(id);
        const item = file === undefined ? undefined : items[file];
        const found =
          item?.type === "diff" ? item.annotations.find(({ metadata }) => metadata.ids.includes(id)) : undefined;
        if (file === undefined || found === undefined) {
          isOwnScroll.current = true;
          view.current?.scrollTo({ type: "position", position: Number.MAX_SAFE_INTEGER, behavior: "instant" });
        } else show({ file, side: sideOfPane(found.side), line: found.lineNumber === 0 ? null : found.lineNumber });
      },
      showRaw: (file, number) => show({ file, side: "new", line: number - (files[file]?.firstLine ?? 1) + 1 }),
      isInSight: ({ file, side: own, line }) => {
        const instance = view.current?.getInstance();
        const item = instance?.getRenderedItems().find(({ id }) => fileOfItem(id) === file);
        if (instance === undefined || item?.type !== "diff" || line === null || scroller.current === null) return false;
        const position = item.instance.getLinePosition(line, paneSide(own));
        if (position === undefined) return false;
        const top = (instance.getTopForItem(item.id) ?? 0) + position.top - scroller.current.scrollTop;
        return top >= 0 && top < scroller.current.clientHeight;
      },
      focus: () => scroller.current?.focus({ preventScroll: true }),
    }),
    [show, props.notes, items, files],
  );

  const firstRow = (): number => {
    const instance = view.current?.getInstance();
    const top = (scroller.current?.scrollTop ?? 0) + HEAD_HEIGHT;
    const item = instance?.getRenderedItems().findLast(({ id }) => (instance.getTopForItem(id) ?? 0) < top);
    if (instance === undefined || item?.type !== "diff") return rows.findIndex(isLineRow) - 1;
    const anchor = item.instance.getNumericScrollAnchor(top - (instance.getTopForItem(item.id) ?? 0));
    const file = files[fileOfItem(item.id)];
    if (anchor === undefined || file === undefined) return rows.findIndex((row) => row.file === fileOfItem(item.id));
    const own = sideOfPane(anchor.side);
    return (
      findRow(
        rows,
        files,
        { path: pathOn(file, own), side: own, start: anchor.lineNumber, end: anchor.lineNumber },
        "start",
      ) - 1
    );
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    isOwnScroll.current = false;
    if (event.key === "Enter" || event.key === " ") {
      const expansion = expansionAt(event.nativeEvent);
      if (expansion !== null) {
        event.preventDefault();
        onExpand(expansion);
        return;
      }
    }
    if (event.nativeEvent.composedPath()[0] !== scroller.current) return;
    const at = cursor.current === null ? -1 : cursorRow({ rows, files }, cursor.current);
    const place = { rows, files };
    const action = actionOfKey(place, event, at === -1 ? firstRow() : at, {
      cursor: cursor.current,
      side: side.current,
      areKeysOn,
    });
    if (action === null) return;
    event.preventDefault();
    if (action.do === "comment") onComment(action.range);
    else if (action.do === "clear") onSelect(null);
    else {
      cursor.current = action.cursor;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") side.current = action.cursor.range.side;
      onSelect(action.cursor.range);
      const { range, active } = action.cursor;
      const row = rows[cursorRow(place, action.cursor)];
      const next = { file: row?.file ?? 0, side: range.side, line: range[active] };
      scrollTo(next, "nearest");
      onPlace(next);
    }
  };

  const release = () => {
    isOwnScroll.current = false;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the scroller inside takes the focus and the keys
    <div
      className="diff-pane"
      onKeyDown={onKeyDown}
      onWheel={release}
      onTouchMove={release}
      onPointerDown={release}
      onClickCapture={(event) => {
        const expansion = expansionAt(event.nativeEvent);
        if (expansion === null) return;
        // The viewer would open the gap on its own.
        event.stopPropagation();
        onExpand(expansion);
      }}
    >
      <CodeView<Ids, undefined>
        ref={view}
        className="diff-pane-scroller"
        containerRef={(element) => {
          scroller.current = element;
          if (element === null) return;
          element.tabIndex = 0;
          element.setAttribute("role", "region");
          element.setAttribute("aria-label", "Diff. Arrow keys select lines, Enter comments on them.");
        }}
        items={items as NonNullable<PaneProps["items"]>}
        options={options}
        selectedLines={selectedLines}
        onSelectedLinesChange={(next) => onSelect(next === null ? null : toRange(next))}
        onScroll={onScroll}
        renderCustomHeader={(item) => renderHead(fileOfItem(item.id))}
        renderAnnotation={(...[annotation, , item]) => (
          <>
            {annotation.metadata.ids.map((id) => (
              <div key={id} className="diff-note">
                {annotation.lineNumber === 0 && (
                  <HeadNotePlace
                    id={id}
                    file={fileOfItem(item.id)}
                    notes={props.notes}
                    files={files}
                    onShowLine={props.onShowLine}
                  />
                )}
                {renderNote(id)}
              </div>
            ))}
          </>
        )}
        {...(props.notes.elsewhere.length > 0 && {
          renderCodeViewFooter: () => <div className="diff-elsewhere">{renderElsewhere()}</div>,
        })}
      />
    </div>
  );
}
