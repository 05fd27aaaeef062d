import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useImperativeHandle, useLayoutEffect, useRef } from "react";
import { LogRow } from "./LogRow";
import { indexAt, startOf } from "./logBuffer";
import type { Log } from "./useLog";

/** Height of a line. It does not wrap, so every line has the same. */
const LINE_PX = 20;
/** So near to an end, the next part is loaded. */
const NEAR_PX = 400;

export interface LogViewHandle {
  show: (offset: number) => void;
  toStart: () => void;
  toEnd: () => void;
}

interface LogViewProps {
  log: Log;
  label: string;
  /** The line that a search shows. */
  marked: number | null;
  handle: RefObject<LogViewHandle | null>;
}

/** The lines of a log that fit on the screen. It follows the end until the reader scrolls up. */
export function LogView({ log, label, marked, handle }: LogViewProps) {
  const { buffer, isFollowing } = log;
  const { lines } = buffer;
  const scroller = useRef<HTMLDivElement>(null);
  // The first line in sight, and how much of it is above the edge.
  const anchor = useRef({ offset: 0, rest: 0 });
  const lastTop = useRef(0);
  // The line to show in the middle as soon as the part around it is on the page.
  const wanted = useRef<number | null>(null);
  const centreWanted = useRef((): boolean => false);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });

  // The line under the eye stays where it is while lines are added or removed above it.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || centreWanted.current()) return;
    const top = isFollowing
      ? lines.length * LINE_PX
      : indexAt(lines, anchor.current.offset) * LINE_PX + anchor.current.rest;
    element.scrollTop = top;
    lastTop.current = element.scrollTop;
  }, [lines, isFollowing]);

  const remember = (top: number) => {
    const index = Math.floor(top / LINE_PX);
    anchor.current = { offset: lines[index]?.offset ?? startOf(buffer), rest: top - index * LINE_PX };
  };
  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop: top, scrollHeight, clientHeight } = element;
    const isUp = top < lastTop.current - 1;
    lastTop.current = top;
    remember(top);
    const below = scrollHeight - clientHeight - top;
    if (isFollowing) {
      // Not if the browser moved the box because it or its lines became smaller.
      if (isUp && below > LINE_PX) log.pause();
      return;
    }
    if (isUp && top < NEAR_PX) log.loadEarlier();
    if (isUp || below > NEAR_PX) return;
    if (buffer.next < buffer.total) log.loadLater();
    else if (below < LINE_PX && !buffer.hasEnded) log.follow();
  };

  /** Whether the wanted line is on the page; then it is in the middle now. */
  centreWanted.current = () => {
    const [element, offset] = [scroller.current, wanted.current];
    if (element === null || offset === null || offset < startOf(buffer) || offset >= buffer.next) return false;
    wanted.current = null;
    element.scrollTop = Math.max(0, indexAt(lines, offset) * LINE_PX - element.clientHeight / 2);
    lastTop.current = element.scrollTop;
    remember(element.scrollTop);
    return true;
  };
  const show = (offset: number) => {
    wanted.current = offset;
    centreWanted.current();
    void log.jumpTo(offset);
  };
  useImperativeHandle(handle, () => ({
    show,
    toStart: () => show(buffer.dropped),
    toEnd: () => {
      wanted.current = null;
      log.follow();
    },
  }));
  useEffect(() => scroller.current?.focus({ preventScroll: true }), []);

  return (
    <div
      ref={scroller}
      role="log"
      aria-live="off"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={onScroll}
      className="min-h-60 grow overflow-auto rounded border border-line bg-bg font-mono text-xs"
      data-print="whole"
    >
      <div className="relative w-max min-w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return <LogRow key={line.offset} line={line} top={start} isMarked={line.offset === marked} />;
        })}
      </div>
    </div>
  );
}
