import { queryOptions, useQuery } from "@tanstack/react-query";
import { type Args, call } from "../../api/client";
import type { ReviewRow } from "../../api/generated";
import { keys } from "../../api/keys";
import { type Me, useMe } from "../../me";
import { isBroken, useIsPoolKnown, usePool } from "../../pool";
import { useStored } from "../../storage";
import { useNow } from "../../time";
import {
  DECIDED_STATUSES,
  type DoneMarks,
  type Inbox,
  inboxOf,
  isDoneMarks,
  OPEN_STATUSES,
  STARTED_STATUSES,
  startOfDay,
} from "./model";

/** Rows, and whether the broker has more of them. */
export interface Rows {
  rows: ReviewRow[];
  hasMore: boolean;
}

/** Rows per request. The broker sends fewer if they are long, and then has read them twice. */
const PAGE_ROWS = 30;

/** Reads pages until they are `enough`. */
async function rows(
  args: Args<"list_reviews">,
  isEnough: (found: readonly ReviewRow[]) => boolean,
  signal: AbortSignal,
): Promise<Rows> {
  const found: ReviewRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await call("list_reviews", { ...args, limit: PAGE_ROWS, details: true, cursor }, { signal });
    found.push(...page.reviews);
    cursor = page.next_cursor;
  } while (cursor !== undefined && !isEnough(found));
  return { rows: found, hasMore: cursor !== undefined };
}

const atLeast = (count: number) => (found: readonly ReviewRow[]) => found.length >= count;

function withoutDoubles(found: ReviewRow[]): ReviewRow[] {
  return [...new Map(found.map((row) => [row.review_id, row])).values()];
}

type Who = Pick<Me, "name" | "isOperator" | "whoami">;

/** Reviews in which it is the person's turn. */
const mine = ({ name, isOperator, whoami }: Who) =>
  queryOptions({
    queryKey: keys.inbox("mine", name),
    queryFn: async ({ signal }) => {
      const args = { my_turn: true, caller_id: name, role: isOperator ? ("operator" as const) : undefined };
      const newest = await rows(args, atLeast(PAGE_ROWS), signal);
      if (!newest.hasMore) return newest;
      // Many reviews wait for any reviewer: what waits for this person alone must not be lost among them.
      const started = await rows({ ...args, statuses: [...STARTED_STATUSES] }, atLeast(PAGE_ROWS), signal);
      return { rows: withoutDoubles([...newest.rows, ...started.rows]), hasMore: true };
    },
    enabled: whoami !== null,
  });

/** Enough to see what goes on; the list of reviews has the rest. */
const open = ({ name, whoami }: Who) =>
  queryOptions({
    queryKey: keys.inbox("open", name),
    queryFn: ({ signal }) => rows({ statuses: [...OPEN_STATUSES], caller_id: name }, atLeast(PAGE_ROWS), signal),
    enabled: whoami !== null,
  });

/** So many decided reviews are looked at, even if more were decided today. */
const MAX_DECIDED = 1_000;

/**
 * The newest decided reviews, page by page while the last row was decided today: the list is ordered by the number of the
 * review, so a much older one that was decided today can be missed.
 */
const decided = ({ name, whoami }: Who, today: number) =>
  queryOptions({
    queryKey: [...keys.inbox("decided", name), today],
    queryFn: ({ signal }) => {
      const isEnough = (found: readonly ReviewRow[]) =>
        found.length >= MAX_DECIDED || Date.parse(found.at(-1)?.updated_at ?? "") < today;
      return rows({ statuses: [...DECIDED_STATUSES], caller_id: name }, isEnough, signal);
    },
    enabled: whoami !== null,
  });

const STATS_MS = 60_000;

/** Figures of the last day, a minute old at most: they change with every event. Only operators may see them. */
export const dayStats = () =>
  queryOptions({
    queryKey: [...keys.stats, "24h"],
    queryFn: ({ signal }) => call("get_review_stats", { since: "24h" }, { signal }),
    refetchInterval: STATS_MS,
  });

const NO_MARKS = {};

export function useDoneMarks() {
  return useStored<DoneMarks>("done", isDoneMarks, NO_MARKS);
}

export interface LoadedInbox {
  inbox: Inbox | null;
  /** There is no review at all: not a quiet day, but a first one. */
  isFirstRun: boolean;
  /** More reviews need the person, or are open, than stand in the inbox. */
  hasMoreMine: boolean;
  hasMoreOpen: boolean;
  error: unknown;
  retry: () => void;
  /** When the oldest of the lists was loaded. */
  loadedAt: number;
}

export function useInbox(): LoadedInbox {
  const me = useMe();
  const pool = usePool();
  const isPoolKnown = useIsPoolKnown();
  const [marks] = useDoneMarks();
  const today = startOfDay(useNow());
  const lists = [useQuery(mine(me)), useQuery(open(me)), useQuery(decided(me, today))] as const;
  const [needs, running, ended] = lists.map((list) => list.data);
  const areLoaded = running !== undefined && ended !== undefined;
  const rows = { mine: needs?.rows ?? [], open: running?.rows ?? [], decided: ended?.rows ?? [] };
  const inbox = needs !== undefined && isPoolKnown ? inboxOf(rows, me, pool, marks, today) : null;
  return {
    // What needs the person stands above the other lists, so it does not wait for them.
    inbox: areLoaded || (inbox?.needsMe.length ?? 0) > 0 ? inbox : null,
    isFirstRun: inbox !== null && areLoaded && rows.open.length === 0 && rows.decided.length === 0,
    hasMoreMine: needs?.hasMore ?? false,
    hasMoreOpen: running?.hasMore ?? false,
    error: lists.find((list) => list.error !== null)?.error ?? null,
    retry: () => {
      for (const list of lists) if (list.isError) void list.refetch();
    },
    loadedAt: Math.min(...lists.map((list) => list.dataUpdatedAt)),
  };
}

/** What needs the person now: for the navigation, the title and notifications. `count` is `null` for nothing. */
export function useNeedsMe(): { rows: Inbox["needsMe"]; count: string | null; isLoaded: boolean } {
  const me = useMe();
  const pool = usePool();
  const isPoolKnown = useIsPoolKnown();
  const [marks] = useDoneMarks();
  const { data } = useQuery(mine(me));
  const loaded = isPoolKnown ? data : undefined;
  const { needsMe } = inboxOf({ mine: loaded?.rows ?? [], open: [], decided: [] }, me, pool, marks, 0);
  const count = needsMe.length + (isBroken(pool) ? 1 : 0);
  const words = count === 0 ? null : `${count}${loaded?.hasMore === true ? "+" : ""}`;
  return { rows: needsMe, count: words, isLoaded: loaded !== undefined };
}
