import { type KeyboardEvent, useRef, useState } from "react";
import type { ActorNode } from "../../api/generated";
import { useKeys } from "../../keys/KeysContext";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { duration } from "../../time";
import { Empty } from "../../ui/Empty";
import { type ActorRow, moved, rowsOf } from "./model";

interface ActorTreeProps {
  root: ActorNode;
  query: string;
  /** Paths of actors with a warning. */
  warned: ReadonlySet<string>;
}

/** The actors, each below the one that supervises it. The arrows move, open and close. */
export function ActorTree({ root, query, warned }: ActorTreeProps) {
  const tree = useRef<HTMLDivElement>(null);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState("");
  const rows = rowsOf(root, closed, query);
  const tabStop = rows.some(({ path }) => path === current) ? current : rows[0]?.path;
  const toggle = (path: string) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
    setCurrent(path);
  };
  const focus = (path: string) => {
    setCurrent(path);
    const row = tree.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  const act = (key: string): boolean => {
    const move = moved(rows, tabStop ?? "", key);
    if (move === null) return false;
    if ("toggle" in move) toggle(move.toggle);
    else focus(move.focus);
    return true;
  };
  useKeys({ down: () => act("ArrowDown"), up: () => act("ArrowUp") });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (act(event.key)) event.preventDefault();
  };
  if (rows.length === 0) return <Empty title="No actor matches this search." />;
  return (
    <div ref={tree} role="tree" aria-label="Actors" onKeyDown={onKeyDown} className="rounded border border-line">
      {rows.map((row) => (
        <ActorItem
          key={row.path}
          row={row}
          isTabStop={row.path === tabStop}
          isWarned={warned.has(row.path)}
          onFocus={() => setCurrent(row.path)}
          onToggle={() => toggle(row.path)}
        />
      ))}
    </div>
  );
}

interface ActorItemProps {
  row: ActorRow;
  isTabStop: boolean;
  isWarned: boolean;
  onFocus: () => void;
  onToggle: () => void;
}

const INDENT_PX = 20;

function ActorItem({ row, isTabStop, isWarned, onFocus, onToggle }: ActorItemProps) {
  const { path, node, level, hasChildren, isOpen } = row;
  const { kind, id, state, mailbox, handled, restarts, uptime_ms, last_error } = node;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its items
    <div
      role="treeitem"
      tabIndex={isTabStop ? 0 : -1}
      aria-level={level}
      aria-selected={isTabStop}
      {...(hasChildren && { "aria-expanded": isOpen })}
      data-path={path}
      onFocus={onFocus}
      onClick={hasChildren ? onToggle : undefined}
      className="flex flex-wrap items-baseline gap-x-4 gap-y-1 border-b border-line px-3 py-1 last:border-b-0 hover:bg-hover"
      style={{ paddingLeft: (level - 1) * INDENT_PX + 12 }}
    >
      <span className="flex min-w-0 grow basis-64 items-baseline gap-2">
        <span aria-hidden="true" className={`w-3 shrink-0 text-dim ${hasChildren && isOpen ? "rotate-90" : ""}`}>
          {hasChildren ? "▸" : ""}
        </span>
        <span className="min-w-0">
          {isWarned && <span className="font-bold text-warn">▲ </span>}
          <span className="font-medium">{kind}</span>{" "}
          <span title={inertLine(id)}>
            <Name>{shortId(id)}</Name>
          </span>{" "}
          <Name className="text-dim">{state}</Name>
        </span>
      </span>
      <Figure name="mailbox" value={mailbox} isLoud={mailbox > 0} />
      <Figure name="handled" value={handled} />
      <Figure name="restarts" value={restarts} isLoud={restarts > 0} />
      <span className="w-24 text-right text-dim">up {duration(uptime_ms)}</span>
      {last_error !== null && last_error !== undefined && (
        <span className="w-full pl-5 text-bad">
          last error: <Name>{last_error}</Name>
        </span>
      )}
    </div>
  );
}

/** The number of a review is enough for the eye; its id is the title. */
function shortId(id: string): string {
  return id === "-" ? "" : id.replace(/(?<=^R-\d+) [0-9a-f-]{36}$/, "");
}

function Figure({ name, value, isLoud = false }: { name: string; value: number; isLoud?: boolean }) {
  return (
    <span className={`w-28 text-right whitespace-nowrap ${isLoud ? "font-medium" : "text-dim"}`}>
      {name} {value.toLocaleString("en")}
    </span>
  );
}
