/** The rows of the log, and how new ones join them. */
import type { Answer } from "../../api/client";
import type { EventKind, Status } from "../../api/generated";

export interface LogRow {
  seq: number;
  at: string;
  kind: EventKind;
  /** `null`: the broker. */
  actor: string | null;
  review: string | null;
  /** What happened, in words. */
  text: string;
  /** The beginning of the text that the event is about. */
  preview: string | null;
  /** The status of the review after the event, where the audit log names it. */
  status: Status | null;
}

export interface LogPage {
  rows: LogRow[];
  next: string | undefined;
}

export function activityPage(answer: Answer<"get_activity_feed">): LogPage {
  const rows = answer.entries.map(({ seq, at, kind, actor, number, text, preview }) => ({
    seq,
    at,
    kind,
    actor: actor ?? null,
    review: number ?? null,
    text,
    preview: preview ?? null,
    status: null,
  }));
  return { rows, next: answer.next_cursor };
}

export function auditPage(answer: Answer<"get_audit_log">): LogPage {
  const rows = answer.events.map((entry) => ({
    seq: entry.seq,
    at: entry.at,
    kind: entry.kind,
    actor: entry.actor ?? null,
    review: entry.number ?? null,
    text: factsOf(entry),
    preview: null,
    status: entry.status ?? null,
  }));
  return { rows, next: answer.next_cursor };
}

/** What happened, with the numbers that other tools know the claim and the process by. */
function factsOf({ detail, claim_generation, pid }: Answer<"get_audit_log">["events"][number]): string {
  const claim = claim_generation === undefined ? "" : ` (claim ${claim_generation})`;
  return `${detail}${claim}${pid === undefined ? "" : ` (pid ${pid})`}`;
}

/** More rows are cut off when new ones join: the list would grow as long as the page is open. */
const MAX_ROWS = 2_000;
const KEPT_ROWS = 200;

function newestOf(pages: readonly LogPage[]): number {
  return pages.find(({ rows }) => rows.length > 0)?.rows[0]?.seq ?? -1;
}

/** The rows of `head` that are newer than the list. */
export function newRows(pages: readonly LogPage[], head: LogPage): LogRow[] {
  const newest = newestOf(pages);
  return head.rows.filter(({ seq }) => seq > newest);
}

/** Whether events may be missing between `head` and the list: `head` looked only at events that are newer than the list. */
export function hasGap(pages: readonly LogPage[], head: LogPage): boolean {
  return head.next !== undefined && Number(head.next) > newestOf(pages);
}

/** The list with the new rows at its top. After a gap it begins again. */
export function joined(pages: readonly LogPage[], head: LogPage): LogPage[] {
  const [first, ...others] = pages;
  if (first === undefined || hasGap(pages, head)) return [head];
  const rows = [...newRows(pages, head), ...pages.flatMap((page) => page.rows)];
  if (rows.length > MAX_ROWS) {
    const kept = rows.slice(0, KEPT_ROWS);
    return [{ rows: kept, next: String(kept.at(-1)?.seq) }];
  }
  return [{ rows: [...newRows(pages, head), ...first.rows], next: first.next }, ...others];
}

/** "3 new", or "30+ new" if there are more than the newest page shows. */
export function newWords(pages: readonly LogPage[], head: LogPage): string | null {
  const count = newRows(pages, head).length;
  return count === 0 ? null : `${count}${hasGap(pages, head) ? "+" : ""} new`;
}

export const kindWords = (kind: string): string => kind.replaceAll("_", " ");

/** A value of an event's data as text. `null`: there is nothing to say. */
export function factText(value: unknown): string | null {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? null : value.map((each) => factText(each) ?? "").join(", ");
  if (typeof value !== "object") return String(value);
  const parts = Object.entries(value).map(([name, each]) => [kindWords(name), factText(each)] as const);
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${name} ${text}`)
    .join(", ");
}
