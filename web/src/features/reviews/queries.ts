import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys, type ReviewFilter } from "../../api/keys";

/** The broker sends fewer rows if they are long, and then has read them twice. */
const PAGE_SIZE = 30;

export const reviewPages = (filter: ReviewFilter, isEnabled: boolean) =>
  infiniteQueryOptions({
    queryKey: keys.pages(filter),
    queryFn: ({ pageParam, signal }) =>
      call("list_reviews", { ...filter, details: true, limit: PAGE_SIZE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    enabled: isEnabled,
  });

/** How many reviews there are in each status, under the other filters. */
export const reviewCounts = (filter: ReviewFilter, isEnabled: boolean) => {
  const { statuses: _, my_turn: __, status: ___, details: ____, ...rest } = filter;
  const { wait: _1, since: _2, timeout_seconds: _3, ...args } = rest;
  return queryOptions({
    queryKey: keys.counts(args),
    queryFn: ({ signal }) => call("count_reviews", args, { signal }),
    enabled: isEnabled,
    // The numbers of the old filter are better than none while the new ones load.
    placeholderData: (previous) => previous,
  });
};

export const projects = () =>
  queryOptions({ queryKey: keys.projects, queryFn: ({ signal }) => call("list_projects", {}, { signal }) });
