import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import type { Group, IssueFilter } from "./search";

const PAGE_SIZE = 50;
/** Events do not make these lists old, so a page that is opened again loads them again. */
const atEachVisit = { staleTime: 0, refetchOnMount: "always" } as const;

export const issuePages = (filter: IssueFilter, isEnabled: boolean) =>
  infiniteQueryOptions({
    queryKey: [...keys.issuePages, "list", filter],
    queryFn: ({ pageParam, signal }) =>
      call("list_issues", { ...filter, order: "blocking", limit: PAGE_SIZE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    enabled: isEnabled,
    ...atEachVisit,
  });

/** The groups of the list. Like the list, they change only when the person is at its top. */
export const issueGroups = (filter: IssueFilter, group: Group | undefined) =>
  queryOptions({
    queryKey: [...keys.issuePages, "groups", group ?? null, filter],
    queryFn: ({ signal }) => call("count_issues", { ...filter, group_by: group ?? "severity" }, { signal }),
    enabled: group !== undefined,
    ...atEachVisit,
  });

/** The first issues of a group. */
export const issuesOfGroup = (filter: IssueFilter, group: Group, value: string) =>
  queryOptions({
    queryKey: [...keys.issuePages, "group", group, value, filter],
    queryFn: ({ signal }) =>
      call("list_issues", { ...filter, ...groupFilter(group, value), order: "blocking", limit: PAGE_SIZE }, { signal }),
    ...atEachVisit,
  });

/** The filter that leaves only a group. */
export function groupFilter(group: Group, value: string): IssueFilter {
  switch (group) {
    case "file":
      return value === "" ? { without_file: true } : { file: value };
    case "severity":
      return { severities: [value as "high"] };
    case "persona":
      return { persona: value };
    case "review":
      return { review_id: value };
  }
}

/** How many issues there are in each status or severity. Live: events make it old. */
export const issueCounts = (filter: IssueFilter, by: "status" | "severity") =>
  queryOptions({
    queryKey: keys.issueCounts({ ...filter, by }),
    queryFn: ({ signal }) => call("count_issues", { ...filter, group_by: by }, { signal }),
    // The numbers of the old filter are better than none while the new ones load.
    placeholderData: (previous) => previous,
  });
