import { memo } from "react";
import { spansOf } from "../../text/ansi";
import { entryOf, type LogLine } from "./logBuffer";

const SOURCES = {
  out: ["", ""],
  err: ["!", "text-bad"],
  broker: ["·", "text-accent"],
} as const;

/** One line: when, whether it is from stderr or from the broker, and the text with its colours. */
export const LogRow = memo(function LogRow(props: { line: LogLine; top: number; isMarked: boolean }) {
  const { at, source, text } = entryOf(props.line.text);
  const [glyph, colour] = SOURCES[source ?? "out"];
  return (
    <div
      className={`absolute top-0 left-0 flex h-5 min-w-full items-center gap-2 px-2 whitespace-pre ${props.isMarked ? "bg-accent-bg" : ""}`}
      style={{ transform: `translateY(${props.top}px)` }}
      aria-current={props.isMarked || undefined}
    >
      {at !== null && (
        <time dateTime={at} title={new Date(at).toLocaleString()} className="text-dim max-sm:sr-only">
          {new Date(at).toTimeString().slice(0, 8)}
        </time>
      )}
      <span className={`w-2 shrink-0 ${colour}`}>
        <span aria-hidden="true">{glyph}</span>
        {source === "err" && <span className="sr-only">stderr</span>}
        {source === "broker" && <span className="sr-only">broker</span>}
      </span>
      <bdi>
        {spansOf(text).map((span, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line do not change
          <span key={index} className={span.className}>
            {span.text}
          </span>
        ))}
      </bdi>
    </div>
  );
});
