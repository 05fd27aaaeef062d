import { type InfiniteData, useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Issue } from "../../api/generated";
import { keys } from "../../api/keys";
import { useChangedReviews } from "../../live/useChangedReviews";
import { groupedRows, issueRow, type OpenGroup, type Row } from "./model";
import { issueCounts, issueGroups, issuePages, issuesOfGroup } from "./queries";
import { filterOf, type IssuesSearch, shownFilterOf } from "./search";

/** Nearer to the top than this, and without the focus in the list, new rows may appear by themselves. */
const TOP_PX = 200;
/** Groups that are open at first. */
const OPEN_FIRST = 3;

/**
 * The rows of the page: issues by urgency, or groups with their issues. Events make the counts old; the rows follow while
 * the person is at the top, else a pill says that they changed.
 */
export function useIssueRows(search: IssuesSearch) {
  const queries = useQueryClient();
  const filter = shownFilterOf(search);
  const { group } = search;
  const list = useInfiniteQuery(issuePages(filter, group === undefined));
  const groups = useQuery(issueGroups(filter, group));
  const opened = useOpenGroups(search, groups.data?.groups.map((one) => one.group) ?? []);
  const contents = useQueries({
    queries: group === undefined ? [] : opened.names.map((name) => issuesOfGroup(filter, group, name)),
  });
  const byName = new Map(
    opened.names.map((name, index): [string, OpenGroup] => {
      const { data, isError } = contents[index] ?? { data: undefined, isError: false };
      return [name, { issues: data?.issues ?? null, hasMore: data?.next_cursor !== undefined, error: isError }];
    }),
  );
  const rows: Row[] =
    group === undefined
      ? (list.data?.pages.flatMap((page) => page.issues.map(issueRow)) ?? [])
      : groupedRows(group, groups.data?.groups ?? [], byName);
  const live = useLiveRows(search, () => {
    // A long list starts at its top again.
    queries.setQueriesData<InfiniteData<unknown>>({ queryKey: [...keys.issuePages, "list"] }, firstPage);
    return queries.invalidateQueries({ queryKey: keys.issuePages });
  });
  const first = group === undefined ? list : groups;
  return {
    rows,
    issues: rows.flatMap((row): Issue[] => (row.kind === "issue" ? [row.issue] : [])),
    isPending: first.isPending,
    error: first.isError ? first.error : null,
    retry: () => void first.refetch(),
    next: {
      has: group === undefined && list.hasNextPage,
      isLoading: list.isFetchingNextPage,
      error: list.isFetchNextPageError ? list.error : null,
      load: () => void list.fetchNextPage({ cancelRefetch: false }),
    },
    toggle: opened.toggle,
    leftOut: group === undefined ? 0 : (groups.data?.more_groups ?? 0),
    isPartial: groups.data?.partial === true,
    ...live,
    showChanges: () => {
      scrollTo({ top: 0 });
      live.reload();
    },
  };
}

function firstPage(data: InfiniteData<unknown> | undefined): InfiniteData<unknown> | undefined {
  return data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };
}

/** The groups that were opened, and the first ones that were not closed. */
function useOpenGroups(search: IssuesSearch, names: readonly string[]) {
  const text = JSON.stringify(search);
  const [state, setState] = useState({ text, chosen: new Map<string, boolean>() });
  const chosen = state.text === text ? state.chosen : new Map<string, boolean>();
  const isOpen = (name: string) => chosen.get(name) ?? names.indexOf(name) < OPEN_FIRST;
  return {
    names: names.filter(isOpen),
    toggle: (name: string) => setState({ text, chosen: new Map(chosen).set(name, !isOpen(name)) }),
  };
}

function useLiveRows(search: IssuesSearch, load: () => Promise<void>) {
  const { statuses: _, ...others } = filterOf(search);
  const byStatus = useQuery(issueCounts(others, "status"));
  const bySeverity = useQuery(issueCounts(filterOf({ ...search, severity: "critical,high,medium,low" }), "severity"));
  const text = JSON.stringify(search);
  const changes = useChangedReviews(text);
  const [changed, setChanged] = useState({ text, count: 0 });
  const reload = useReload(load);
  const showChanges = () => {
    changes.clear();
    setChanged({ text, count: 0 });
    reload();
  };
  const latest = useRef(showChanges);
  latest.current = showChanges;
  const countsLoadedAt = byStatus.dataUpdatedAt;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when events have made the counts load again
  useEffect(() => {
    if (changes.size === 0) return;
    const isInList = document.activeElement?.closest("[data-index]") !== null;
    if (scrollY < TOP_PX && !isInList) latest.current();
    else setChanged({ text, count: changes.size });
  }, [countsLoadedAt]);
  return {
    counts: byStatus.data ?? null,
    low: bySeverity.data?.groups.find(({ group }) => group === "low")?.issues ?? 0,
    // Of another search nothing is known yet.
    changed: changed.text === text ? changed.count : 0,
    reload: showChanges,
  };
}

/** One load after the other: events in quick succession do not stop it, and what comes during a load causes one more. */
function useReload(load: () => Promise<void>): () => void {
  const isWanted = useRef(false);
  const isLoading = useRef(false);
  const latest = useRef(load);
  latest.current = load;
  return async () => {
    isWanted.current = true;
    if (isLoading.current) return;
    isLoading.current = true;
    while (isWanted.current) {
      isWanted.current = false;
      await latest.current();
    }
    isLoading.current = false;
  };
}
