import { Fragment, type ReactNode, useState } from "react";
import { inert } from "../../text/inert";
import { spans } from "./find";
import type { Emphasis } from "./rows";

/** Longer lines are cut, and say so: a browser needs seconds for a line of a million characters. */
export const LONG_LINE = 2_000;

interface CodeTextProps {
  text: string;
  emphasis?: Emphasis;
  /** What the reader searches for. */
  pattern?: RegExp | null;
  /** Start of the match that the reader looks at. */
  current?: number | null;
  /** The carriage return at the end is usual in this file. */
  isCrlf?: boolean;
}

/** One line of code as inert text: what differs and what is searched for is marked. */
export function CodeText({ text, emphasis = null, pattern = null, current = null, isCrlf = false }: CodeTextProps) {
  const [isWhole, setIsWhole] = useState(false);
  const hasReturn = text.endsWith("\r");
  const line = hasReturn ? text.slice(0, -1) : text;
  const isCut = !isWhole && line.length > LONG_LINE && (current ?? 0) < LONG_LINE;
  const shown = isCut ? line.slice(0, LONG_LINE) : line;
  return (
    <>
      {parts(shown, emphasis, pattern, current)}
      {hasReturn && !isCrlf && (
        <span className="diff-mark" title="carriage return">
          ␍
        </span>
      )}
      {isCut && (
        <button type="button" className="diff-more" onClick={() => setIsWhole(true)}>
          … {(line.length - LONG_LINE).toLocaleString("en")} more characters
        </button>
      )}
    </>
  );
}

function parts(text: string, emphasis: Emphasis, pattern: RegExp | null, current: number | null): ReactNode {
  const found = pattern === null ? [] : spans(text, pattern);
  if (found.length === 0 && emphasis === null) return inert(text);
  const cuts = new Set([0, text.length, ...found.flat(), ...(emphasis ?? [])]);
  const edges = [...cuts].filter((at) => at <= text.length).sort((a, b) => a - b);
  return edges.slice(0, -1).map((from, index) => {
    const to = edges[index + 1] ?? text.length;
    const isChanged = emphasis !== null && from >= emphasis[0] && to <= emphasis[1];
    const match = found.find(([start, end]) => from >= start && to <= end);
    const piece = inert(text.slice(from, to));
    const changed = isChanged ? <span className="diff-changed">{piece}</span> : piece;
    if (match === undefined) return <Fragment key={from}>{changed}</Fragment>;
    return (
      <mark key={from} className="diff-found" data-current={match[0] === current || undefined}>
        {changed}
      </mark>
    );
  });
}
