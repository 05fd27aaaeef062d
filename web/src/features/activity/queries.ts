import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import { activityPage, auditPage, type LogPage } from "./model";
import type { LogFilter, LogView } from "./search";

const PAGE_SIZE = 50;

async function load(
  view: LogView,
  filter: LogFilter,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<LogPage> {
  const args = { ...filter, limit: PAGE_SIZE, cursor };
  return view === "audit"
    ? auditPage(await call("get_audit_log", args, { signal }))
    : activityPage(await call("get_activity_feed", args, { signal }));
}

/** The log from its newest event, or from the event `from`. */
export const logPages = (view: LogView, filter: LogFilter, from: number | null) =>
  infiniteQueryOptions({
    queryKey: keys.logPages(view, filter, from),
    queryFn: ({ pageParam, signal }) => load(view, filter, pageParam, signal),
    // A page begins behind its cursor.
    initialPageParam: from === null ? undefined : String(from + 1),
    getNextPageParam: (page: LogPage) => page.next,
  });

/** The newest events. Every new one makes them old. */
export const logHead = (view: LogView, filter: LogFilter) =>
  queryOptions({
    queryKey: keys.logHead(view, filter),
    queryFn: ({ signal }) => load(view, filter, undefined, signal),
  });

export const event = (seq: number) =>
  queryOptions({ queryKey: keys.event(seq), queryFn: ({ signal }) => call("get_event", { seq }, { signal }) });
