/**
 * The diff with coloured code, by @pierre/diffs. This is the only file that imports it, and only a page with a diff loads
 * it. It takes the same props as `DiffTable`. Where it cannot run it throws, and the table is shown.
 */
import { canUseWASM, preloadHighlighter, registerCustomTheme } from "@pierre/diffs";
import { CodeView, type CodeViewHandle, type CodeViewProps, WorkerPoolContextProvider } from "@pierre/diffs/react";
import DiffWorker from "@pierre/diffs/worker/worker.js?worker";
import { type RefObject, useCallback, useEffect, useImperativeHandle, useMemo, useRef, useState } from "react";
import { useTheme } from "../../theme";
import { NO_CONTEXT, STEP } from "./context";
import { NO_MARKS } from "./find";
import { HeadNotePlace } from "./HeadNotePlace";
import { gapOf, markRewritten, nameCommentButton, nameGaps, pressedGap, reachScrollers } from "./paneDom";
import { paintMatches } from "./paneFind";
import { fromPane, type PaneSelection, paneSide, placeAt, sideOfPane, toPane, topOfLine } from "./paneSelection";
import { PANE_CSS, readableTheme } from "./paneTheme";
import { useFocusAnchor } from "./useFocusAnchor";
import { fileOfItem, itemId, usePaneItems } from "./usePaneItems";
import { usePaneKeys } from "./usePaneKeys";
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

/**
 * Small files are highlighted at once, without a first paint in one colour. Nothing is drawn before all workers have
 * started, and on two cores the second one only delays that.
 */
const POOL = {
  workerFactory: () => new DiffWorker(),
  poolSize: navigator.hardwareConcurrency > 2 ? 2 : 1,
  mainThreadMaxCharacters: 20_000,
};
const HIGHLIGHTER = { theme: THEMES, preferredHighlighter: "highlights" as const };
/** If nothing is drawn by then, the table is shown. */
const DRAW_TIMEOUT_MS = 10_000;
const LATE_MS = 120;

type Ids = { ids: readonly string[] };
type PaneProps = CodeViewProps<Ids, undefined>;
type PaneHandle = CodeViewHandle<Ids, undefined>;

const FIXED_OPTIONS = {
  theme: THEMES,
  preferredHighlighter: "highlights",
  diffIndicators: "classic",
  hunkSeparators: "line-info-basic",
  // Gaps are ours: the viewer must not open any by itself.
  collapsedContextThreshold: 0,
  expansionLineCount: STEP,
  stickyHeaders: true,
  enableLineSelection: true,
  enableGutterUtility: true,
  lineHoverHighlight: "number",
  itemMetrics: { lineHeight: 20, diffHeaderHeight: HEAD_HEIGHT },
  layout: { paddingTop: 0, paddingBottom: 0, gap: 0 },
  unsafeCSS: PANE_CSS,
} satisfies PaneProps["options"];

export function DiffPane(props: ViewerProps) {
  if (!canUseWASM()) throw new Error("WebAssembly with SIMD is not available: the diff is shown without colours");
  return (
    <WorkerPoolContextProvider poolOptions={POOL} highlighterOptions={HIGHLIGHTER}>
      <Pane {...props} />
    </WorkerPoolContextProvider>
  );
}

function Pane(props: ViewerProps) {
  const { files, sections, rows, contexts, layout, wrap, words, selection, marks, notes } = props;
  const { onSelect, onComment, onExpand, onPlace, renderHead, renderNote, renderElsewhere, onShowLine } = props;
  const view = useRef<PaneHandle>(null);
  const scroller = useRef<HTMLDivElement | null>(null);
  // The page scrolled, not the reader: the place stays the one that it went to.
  const isOwnScroll = useRef(false);
  const { shown } = useTheme();
  const items = usePaneItems(props);
  useFocusAnchor(scroller, items);
  useFailure(scroller);
  const rendered = () => view.current?.getInstance()?.getRenderedItems() ?? [];

  const scrollTo = useCallback(
    ({ file, side, line }: Place, align: "center" | "nearest") => {
      const own = files[file];
      if (own === undefined) return;
      const to = { id: itemId(own), behavior: "instant" as const };
      isOwnScroll.current = true;
      if (line === null) view.current?.scrollTo({ ...to, type: "item", align: "start" });
      else view.current?.scrollTo({ ...to, type: "line", lineNumber: line, side: paneSide(side), align });
      onPlace({ file, side, line });
    },
    [files, onPlace],
  );
  const onLineKey = usePaneKeys({
    ...props,
    firstInSight: () => {
      const instance = view.current?.getInstance();
      return instance === undefined ? null : placeAt(instance, scroller.current?.scrollTop ?? 0);
    },
    onMove: (place) => scrollTo(place, "nearest"),
  });

  /** The gap whose button was pressed. It lies in a shadow root. */
  const expansionAt = (event: Event): GapAction | null => {
    const pressed = pressedGap(event);
    const item = rendered().find(({ element }) => element === pressed?.host);
    const file = item === undefined ? -1 : fileOfItem(item.id);
    const gap = pressed === null ? null : gapOf(sections[file], pressed.index);
    if (pressed === null || gap === null) return null;
    const isSmall = gap.hidden !== null && gap.hidden <= STEP;
    return { file, gap: gap.index, from: isSmall ? "all" : pressed.from };
  };

  // After each drawing of a file, and when what is drawn has other words.
  const dress = useCallback(
    (host: HTMLElement, file: number) => {
      markRewritten(host);
      host.toggleAttribute("data-words-off", !words);
      nameCommentButton(host);
      reachScrollers(host);
      nameGaps(host, (index) => gapOf(sections[file], index), contexts[file] ?? NO_CONTEXT);
    },
    [sections, contexts, words],
  );
  const paint = () =>
    paintMatches(
      rendered().map(({ id, element }) => ({ file: fileOfItem(id), root: element.shadowRoot })),
      marks,
    );
  const comment = (line: PaneSelection) => {
    const range = fromPane(line, rows, files);
    if (range !== null) onComment(range);
  };
  const latest = useRef({ dress, paint, comment });
  latest.current = { dress, paint, comment };
  useEffect(() => {
    for (const { id, element } of view.current?.getInstance()?.getRenderedItems() ?? []) dress(element, fileOfItem(id));
  }, [dress]);
  useEffect(() => {
    if (marks.pattern !== null) latest.current.paint();
    return () => paintMatches([], NO_MARKS);
  }, [marks]);

  const options = useMemo(
    () =>
      ({
        ...FIXED_OPTIONS,
        themeType: shown,
        diffStyle: layout,
        overflow: wrap ? "wrap" : "scroll",
        onGutterUtilityClick: (range: PaneSelection["range"], context: { item: { id: string } }) =>
          latest.current.comment({ id: context.item.id, range }),
        onPostRender: (host: HTMLElement, _: unknown, phase: string, context: { item: { id: string } }) => {
          if (phase === "unmount") return;
          latest.current.dress(host, fileOfItem(context.item.id));
          latest.current.paint();
        },
      }) satisfies PaneProps["options"],
    [shown, layout, wrap],
  );

  useImperativeHandle(
    props.handle,
    () => ({
      show: (place) => scrollTo(place, "center"),
      showNote: (id) => {
        const file = notes.fileOf.get(id);
        const item = file === undefined ? undefined : items[file];
        const annotations = item?.type === "diff" ? item.annotations : [];
        const found = annotations.find(({ metadata }) => metadata.ids.includes(id));
        if (file !== undefined && found !== undefined)
          scrollTo({ file, side: sideOfPane(found.side), line: found.lineNumber || null }, "center");
        else view.current?.scrollTo({ type: "position", position: Number.MAX_SAFE_INTEGER, behavior: "instant" });
      },
      showRaw: (file, number) =>
        scrollTo({ file, side: "new", line: number - (files[file]?.firstLine ?? 1) + 1 }, "center"),
      isInSight: (place) => {
        const instance = view.current?.getInstance();
        const box = scroller.current;
        const top = instance === undefined ? null : topOfLine(instance, place);
        return top !== null && box !== null && top >= box.scrollTop && top < box.scrollTop + box.clientHeight;
      },
      focus: () => scroller.current?.focus({ preventScroll: true }),
    }),
    [scrollTo, notes, items, files],
  );

  const late = useRef(0);
  const tellPlace = useCallback<NonNullable<PaneProps["onScroll"]>>(
    (_, viewer) => {
      const tell = () => {
        const place = isOwnScroll.current ? null : placeAt(viewer, scroller.current?.scrollTop ?? 0);
        if (place !== null) onPlace(place);
      };
      tell();
      // After a long way the files there are drawn only now.
      clearTimeout(late.current);
      late.current = window.setTimeout(tell, LATE_MS);
    },
    [onPlace],
  );
  useEffect(() => () => clearTimeout(late.current), []);

  const release = () => {
    isOwnScroll.current = false;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the scroller inside takes the focus and the keys
    <div
      className="diff-pane"
      onKeyDown={(event) => {
        release();
        const isPress = event.key === "Enter" || event.key === " ";
        const expansion = isPress ? expansionAt(event.nativeEvent) : null;
        if (expansion !== null) {
          event.preventDefault();
          onExpand(expansion);
        } else if (event.nativeEvent.composedPath()[0] === scroller.current) onLineKey(event);
      }}
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
        selectedLines={useMemo(() => toPane(selection, rows, files), [selection, rows, files])}
        onSelectedLinesChange={(next) => onSelect(next === null ? null : fromPane(next, rows, files))}
        onScroll={tellPlace}
        renderCustomHeader={(item) => renderHead(fileOfItem(item.id))}
        renderAnnotation={(...[{ metadata, lineNumber }, , { id: item }]) => (
          <>
            {metadata.ids.map((id) => (
              <div key={id} className="diff-note">
                {lineNumber === 0 && <HeadNotePlace {...{ id, notes, files, onShowLine }} file={fileOfItem(item)} />}
                {renderNote(id)}
              </div>
            ))}
          </>
        )}
        {...(notes.elsewhere.length > 0 && {
          renderCodeViewFooter: () => <div className="diff-elsewhere">{renderElsewhere()}</div>,
        })}
      />
    </div>
  );
}

/** Throws if the view cannot draw: it would only log why. */
function useFailure(scroller: RefObject<HTMLElement | null>): void {
  const [failure, setFailure] = useState<Error | null>(null);
  if (failure !== null) throw failure;
  useEffect(() => {
    preloadHighlighter({ ...HIGHLIGHTER, themes: Object.values(THEMES), langs: [] }).catch(setFailure);
    const timer = setTimeout(() => {
      const isDrawn = scroller.current?.querySelector("diffs-container") != null;
      if (!isDrawn) setFailure(new Error("the highlighting view drew nothing"));
    }, DRAW_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [scroller]);
}
