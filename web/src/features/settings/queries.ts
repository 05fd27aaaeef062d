import { queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys } from "../../api/keys";

/** No event makes these old, so a page that is opened again loads them again. */
const atEachVisit = { staleTime: 0, refetchOnMount: "always" } as const;

export const config = () =>
  queryOptions({
    queryKey: keys.config,
    queryFn: ({ signal }) => call("get_config", {}, { signal }),
    ...atEachVisit,
  });

/** Deliveries cause no events. */
const RECHECK_MS = 5_000;

export const webhooks = () =>
  queryOptions({
    queryKey: keys.webhooks,
    queryFn: ({ signal }) => call("list_webhooks", {}, { signal }),
    refetchInterval: RECHECK_MS,
  });

const PAGE_ROWS = 50;

/** The oldest ones. When they are delivered or dropped, the next ones follow. */
export const deadDeliveries = (webhook: string) =>
  queryOptions({
    queryKey: [...keys.webhooks, "dead", webhook],
    queryFn: ({ signal }) => call("list_dead_deliveries", { webhook, limit: PAGE_ROWS }, { signal }),
    refetchInterval: RECHECK_MS,
  });

export const projects = () =>
  queryOptions({
    queryKey: keys.projects,
    queryFn: ({ signal }) => call("list_projects", {}, { signal }),
    ...atEachVisit,
  });
