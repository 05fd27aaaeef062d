/** The tree of actors as rows, and what in it deserves attention. */
import type { ActorNode, Actors } from "../../api/generated";

/** One row of the tree. */
export interface ActorRow {
  /** Kinds and ids from the root on: the same actor has the same path in every answer. */
  path: string;
  node: ActorNode;
  level: number;
  hasChildren: boolean;
  isOpen: boolean;
}

export function pathOf(parent: string, { kind, id }: ActorNode): string {
  return `${parent}/${kind} ${id}`;
}

function each(node: ActorNode, parent: string, visit: (node: ActorNode, path: string) => void): void {
  const path = pathOf(parent, node);
  visit(node, path);
  for (const child of node.children) each(child, path, visit);
}

/** The rows in sight: below a closed actor none. A search shows what matches and everything above it. */
export function rowsOf(root: ActorNode, closed: ReadonlySet<string>, query: string): ActorRow[] {
  const wanted = query.trim().toLowerCase();
  const rows: ActorRow[] = [];
  const add = (node: ActorNode, parent: string, level: number): boolean => {
    const path = pathOf(parent, node);
    const at = rows.length;
    const isOpen = wanted !== "" || !closed.has(path);
    rows.push({ path, node, level, hasChildren: node.children.length > 0, isOpen });
    let isWanted = wanted === "" || matches(node, wanted);
    if (isOpen) for (const child of node.children) isWanted = add(child, path, level + 1) || isWanted;
    if (!isWanted) rows.length = at;
    return isWanted;
  };
  add(root, "", 1);
  return rows;
}

function matches({ kind, id, state, last_error }: ActorNode, wanted: string): boolean {
  return `${kind} ${id} ${state} ${last_error ?? ""}`.toLowerCase().includes(wanted);
}

interface Sample {
  at: number;
  mailbox: number;
}

/** What the page has seen of each actor: its mailbox since it last became shorter, and its restarts at first sight. */
export interface History {
  growth: ReadonlyMap<string, readonly Sample[]>;
  restarts: ReadonlyMap<string, number>;
}

export const NO_HISTORY: History = { growth: new Map(), restarts: new Map() };

/** A mailbox that grows for this long is a warning. */
export const GROWS_MS = 30_000;

/** The history with one more answer. Actors that are gone are forgotten. */
export function observe(history: History, { root }: Actors, at: number): History {
  const growth = new Map<string, readonly Sample[]>();
  const restarts = new Map<string, number>();
  each(root, "", (node, path) => {
    const before = history.growth.get(path) ?? [];
    const last = before.at(-1);
    const sample = { at, mailbox: node.mailbox };
    // Only the first and the last sample of a growth matter.
    const first = before[0];
    const grows = last !== undefined && first !== undefined && node.mailbox >= last.mailbox && node.mailbox > 0;
    growth.set(path, grows ? [first, sample] : [sample]);
    restarts.set(path, Math.min(history.restarts.get(path) ?? node.restarts, node.restarts));
  });
  return { growth, restarts };
}

export interface Warning {
  path: string;
  words: string;
}

/** Mailboxes that grow for 30 seconds, and restarts. */
export function warningsOf(history: History, { root }: Actors): Warning[] {
  const warnings: Warning[] = [];
  each(root, "", (node, path) => {
    const [first, last] = [history.growth.get(path)?.[0], history.growth.get(path)?.at(-1)];
    if (first !== undefined && last !== undefined && last.at - first.at >= GROWS_MS && last.mailbox > first.mailbox) {
      const seconds = Math.round((last.at - first.at) / 1000);
      const words = `its mailbox has grown for ${seconds} s, from ${first.mailbox} to ${last.mailbox} messages`;
      warnings.push({ path, words });
    }
    if (node.restarts > 0) {
      const since = node.restarts - (history.restarts.get(path) ?? node.restarts);
      const times = (count: number) => (count === 1 ? "once" : `${count} times`);
      const words =
        since > 0 ? `restarted ${times(since)} since you opened this page` : `restarted ${times(node.restarts)}`;
      warnings.push({ path, words });
    }
  });
  return warnings;
}

/** The last part of a path, as a person names the actor. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Where the focus goes for a key of the tree. `null`: the key means nothing here. */
export function moved(
  rows: readonly ActorRow[],
  current: string,
  key: string,
): { focus: string } | { toggle: string } | null {
  const at = Math.max(
    0,
    rows.findIndex(({ path }) => path === current),
  );
  const row = rows[at];
  if (row === undefined) return null;
  const focus = (index: number) => {
    const found = rows[Math.max(0, Math.min(index, rows.length - 1))];
    return found === undefined ? null : { focus: found.path };
  };
  switch (key) {
    case "ArrowDown":
      return focus(at + 1);
    case "ArrowUp":
      return focus(at - 1);
    case "Home":
      return focus(0);
    case "End":
      return focus(rows.length - 1);
    case "ArrowRight":
      if (!row.hasChildren) return null;
      return row.isOpen ? focus(at + 1) : { toggle: row.path };
    case "ArrowLeft":
      if (row.hasChildren && row.isOpen) return { toggle: row.path };
      return focus(rows.findLastIndex(({ level }, index) => index < at && level < row.level));
    case "Enter":
    case " ":
      return row.hasChildren ? { toggle: row.path } : null;
    default:
      return null;
  }
}
