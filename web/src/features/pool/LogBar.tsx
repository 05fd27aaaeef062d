import { useRef } from "react";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { KeyHint } from "../../ui/KeyHint";
import { Toggle } from "../../ui/Toggle";
import { type LogBuffer, startOf } from "./logBuffer";
import type { Log } from "./useLog";
import type { LogSearch } from "./useLogSearch";

/** Follow, go to an end, and search; and what the page has of the log. */
export function LogBar({ log, find }: { log: Log; find: LogSearch }) {
  const { buffer, isFollowing } = log;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Toggle
          isSelected={isFollowing && !buffer.hasEnded}
          onChange={(isOn) => (isOn ? log.follow() : log.pause())}
          className="inline-flex min-h-7 items-center gap-2 rounded border border-line px-3 font-medium hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg"
        >
          {buffer.hasEnded ? "End" : "Follow"} <KeyHint keys={keyOf("followLog")} />
        </Toggle>
        <FindInLog find={find} />
        <span className="grow" />
        <p role="status" className="text-xs text-dim">
          {followWords(log)} · {sizeWords(buffer)}
        </p>
      </div>
      {buffer.missed > 0 && (
        <p className="text-xs text-warn">
          {megabytes(buffer.missed)} came faster than they could be kept and are not shown.
        </p>
      )}
      {/* Before there are lines, the page itself says what is wrong. */}
      <Refusal error={log.isLoaded ? log.error : null} />
      <Refusal error={find.error} />
    </div>
  );
}

function FindInLog({ find }: { find: LogSearch }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ find: () => input.current?.focus() });
  const { query, found, at } = find;
  const count = found.offsets.length;
  return (
    <search className="flex flex-wrap items-center gap-2">
      <span className="flex min-h-7 items-center gap-2 rounded border border-line-strong bg-bg px-2 focus-within:border-accent">
        <input
          ref={input}
          type="search"
          aria-label="Find in the log"
          placeholder="Find in the log"
          value={query}
          onChange={({ target }) => find.setQuery(target.value)}
          onKeyDown={({ key, shiftKey, nativeEvent }) => {
            if (nativeEvent.isComposing) return;
            if (key === "Enter") find.step(shiftKey ? -1 : 1);
            if (key === "Escape") {
              // Browsers would empty the field.
              nativeEvent.preventDefault();
              input.current?.blur();
            }
          }}
          className="w-48 min-w-0 bg-transparent py-1 text-sm outline-none placeholder:text-dim [&::-webkit-search-cancel-button]:hidden"
        />
        <KeyHint keys={keyOf("find")} />
      </span>
      {query.trim() !== "" && (
        <>
          <span role="status" className="text-xs text-dim">
            {count === 0 ? "0 lines" : `${at + 1} of ${count.toLocaleString("en")}${found.hasMore ? "+" : ""} lines`}
            {!found.isDone && `, ${Math.round(found.progress * 100)} % read`}
          </span>
          <Button kind="quiet" onPress={() => find.step(-1)} isDisabled={count === 0} shortcut={keyOf("previousMatch")}>
            Previous
          </Button>
          <Button kind="quiet" onPress={() => find.step(1)} isDisabled={count === 0} shortcut={keyOf("nextMatch")}>
            Next
          </Button>
        </>
      )}
    </search>
  );
}

function followWords({ buffer, isFollowing, isLoaded, error }: Log): string {
  if (!isLoaded) return error === null ? "loading" : "not following";
  if (buffer.hasEnded) return "the reviewer has ended";
  if (!isFollowing) return "paused: new output is not shown";
  return error === null ? "follows" : "not following";
}

function sizeWords(buffer: LogBuffer): string {
  const { lines, next, total, dropped } = buffer;
  const shown = lines.length === 0 ? 0 : next - startOf(buffer);
  const part = shown >= total - dropped ? "" : `${megabytes(shown)} of `;
  const gone = dropped === 0 ? "" : `, the first ${megabytes(dropped)} are not kept`;
  return `${lines.length.toLocaleString("en")} lines, ${part}${megabytes(total)}${gone}`;
}

function megabytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
