/** What stands in the inbox, and in which order. */
import type { ReviewRow, StatsResponse, Status, Turn } from "../../api/generated";
import { isServing, type Pool } from "../../pool";
import { duration } from "../../time";
import { isOpenToAll, type Person, turnsOf } from "../../turns";

export interface InboxRow {
  row: ReviewRow;
  /** Why it is the person's turn, the most urgent reason first. Empty: it is not. */
  turns: Turn[];
}

export interface Inbox {
  needsMe: InboxRow[];
  /** Needs the person, but was marked as done. */
  done: InboxRow[];
  running: InboxRow[];
  decided: InboxRow[];
}

/** Marks by review id: what the review looked like when the person was done with it. */
export type DoneMarks = Readonly<Record<string, string>>;

export const OPEN_STATUSES = ["pending", "claimed", "in_review", "changes_requested"] as const satisfies Status[];
/** Before these statuses a review waits for any reviewer; in them it mostly waits for one party. */
export const STARTED_STATUSES = [
  "claimed",
  "in_review",
  "changes_requested",
  "approved",
  "rejected",
  "cancelled",
] as const satisfies Status[];
export const DECIDED_STATUSES = ["approved", "rejected", "cancelled", "closed"] as const satisfies Status[];

interface Lists {
  mine: readonly ReviewRow[];
  open: readonly ReviewRow[];
  decided: readonly ReviewRow[];
}

export function inboxOf(lists: Lists, person: Person, pool: Pool | null, marks: DoneMarks, todayMs: number): Inbox {
  const mine = lists.mine
    .map((row) => ({ row, turns: urgentTurns(row, person, pool) }))
    .filter(hasTurn)
    .sort(byUrgency);
  const isMine = new Set(mine.map(({ row }) => row.review_id));
  const others = (rows: readonly ReviewRow[]) =>
    rows.filter((row) => !isMine.has(row.review_id)).map((row) => ({ row, turns: [] }));
  return {
    needsMe: mine.filter(({ row }) => marks[row.review_id] !== doneMark(row)),
    done: mine.filter(({ row }) => marks[row.review_id] === doneMark(row)),
    running: others(lists.open),
    decided: others(lists.decided.filter((row) => Date.parse(row.updated_at) >= todayMs)),
  };
}

function hasTurn({ turns }: InboxRow): boolean {
  return turns.length > 0;
}

/** A free seat needs the person only if no reviewer of the broker is going to take it. */
function urgentTurns(row: ReviewRow, person: Person, pool: Pool | null): Turn[] {
  const turns = turnsOf(row, person).filter((turn) => !isOpenToAll(turn) || !isServing(pool));
  return turns.sort((a, b) => rank(a) - rank(b));
}

function rank(turn: Turn): number {
  if (turn.why === "escalated") return 0;
  return isOpenToAll(turn) ? 2 : 1;
}

const PRIORITIES = { critical: 0, normal: 1, low: 2 };

function byUrgency(a: InboxRow, b: InboxRow): number {
  const [first, second] = [a.turns[0], b.turns[0]];
  if (first === undefined || second === undefined) return 0;
  return (
    rank(first) - rank(second) ||
    PRIORITIES[a.row.priority] - PRIORITIES[b.row.priority] ||
    Date.parse(first.since) - Date.parse(second.since)
  );
}

/** Changes when there is something new to see. Not the version: it also grows when a reviewer reads. */
export function doneMark(row: ReviewRow): string {
  const turns = row.waiting_on.map(({ who, seat, why, since }) => [who, seat, why, since].join(" "));
  return [row.status, row.current_round, row.message_count, ...turns].join("|");
}

const MAX_MARKS = 300;

/** Adds or, with `null`, removes a mark. The oldest ones are forgotten. */
export function withMark(marks: DoneMarks, id: string, mark: string | null): DoneMarks {
  const rest = Object.entries(marks).filter(([other]) => other !== id);
  return Object.fromEntries(mark === null ? rest : [...rest.slice(1 - MAX_MARKS), [id, mark]]);
}

export function isDoneMarks(value: unknown): value is DoneMarks {
  return typeof value === "object" && value !== null && Object.values(value).every((mark) => typeof mark === "string");
}

/** The first instant of the local day. */
export function startOfDay(now: number): number {
  return new Date(now).setHours(0, 0, 0, 0);
}

/** "9 approved · 2 rejected": how many in each status. */
export function outcomeWords(rows: readonly InboxRow[]): string {
  const counts = new Map<string, number>();
  for (const { row } of rows) {
    const outcome = row.status === "closed" ? (row.verdict ?? "closed") : row.status;
    const word = outcome === "comment" ? "closed" : outcome.replace("_", " ");
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([word, count]) => `${count} ${word}`)
    .join(" · ");
}

/** What happened in the last 24 hours, in a sentence. `null` if nothing did. */
export function daySentence({ reviews, issues, work }: StatsResponse): string | null {
  if (reviews.total === 0) return null;
  const parts: string[] = [];
  if (reviews.approved > 0) {
    const first = Math.round((reviews.first_round_rate ?? 0) * reviews.approved);
    const all = first === reviews.approved ? "all in the first round" : `${first} in the first round`;
    parts.push(`${reviews.approved} approved${first > 0 ? ` (${all})` : ""}`);
  }
  if (reviews.rejected > 0) parts.push(`${reviews.rejected} rejected`);
  if (reviews.cancelled > 0) parts.push(`${reviews.cancelled} cancelled`);
  if (reviews.escalated > 0) parts.push(`${reviews.escalated} escalated`);
  if (issues.total > 0) parts.push(counted(issues.total, "finding"));
  const cost = work.cost_usd ?? 0;
  if (cost > 0) parts.push(`$${cost.toFixed(2)}`);
  const median = reviews.time_to_decision.p50_ms;
  const half = median === undefined ? "" : ` Half were decided within ${duration(Math.max(1_000, median))}.`;
  const list = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  return `${counted(reviews.total, "review")} in the last 24 hours${list}.${half}`;
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
