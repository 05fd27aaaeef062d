import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type RefObject, useEffect, useRef } from "react";
import { joined, type LogPage, newRows, newWords } from "./model";
import { logHead, logPages } from "./queries";
import type { LogFilter, LogView } from "./search";

/** Nearer to the top than this, new rows may appear by themselves. */
const TOP_PX = 200;

/**
 * The pages of the log. While the reader is at its top, new events join it. Further down, and while a row has the focus, they
 * are counted, so that no row moves under the eye. A list that begins with an older event stays as it is.
 */
export function useLog(view: LogView, filter: LogFilter, from: number | null, table: RefObject<HTMLElement | null>) {
  const queries = useQueryClient();
  const options = logPages(view, filter, from);
  const list = useInfiniteQuery(options);
  const pages = list.data?.pages ?? [];
  const first = pages[0];
  const head = useQuery({
    ...logHead(view, filter),
    enabled: from === null && first !== undefined,
    ...(first !== undefined && { initialData: first }),
  });
  const newest = from === null ? head.data : undefined;

  const showNew = () => {
    if (newest === undefined) return;
    queries.setQueryData<InfiniteData<LogPage, string | undefined>>(options.queryKey, (data) => {
      if (data === undefined) return data;
      const all = joined(data.pages, newest);
      return { pages: all, pageParams: all.map((_, index) => data.pageParams[index]) };
    });
  };
  const isReading = () => scrollY >= TOP_PX || table.current?.contains(document.activeElement) === true;
  const latest = useRef(showNew);
  latest.current = showNew;
  const hasNew = newest !== undefined && newRows(pages, newest).length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the newest rows were loaded again
  useEffect(() => {
    if (hasNew && !isReading()) latest.current();
  }, [newest, hasNew]);

  // A page may be empty and still have a successor: the broker looks at a part of the log at a time.
  const rows = pages.flatMap((page) => page.rows);
  const isSearching = rows.length === 0 && list.hasNextPage && !list.isFetchNextPageError;
  const { fetchNextPage, isFetching } = list;
  useEffect(() => {
    if (isSearching && !isFetching) void fetchNextPage();
  }, [isSearching, isFetching, fetchNextPage]);

  return {
    list,
    rows,
    /** How far an empty search has come: the number of the last event it looked at. */
    searchedTo: isSearching ? (pages.at(-1)?.next ?? null) : null,
    newWords: newest === undefined ? null : newWords(pages, newest),
    showNew: () => {
      scrollTo({ top: 0 });
      showNew();
    },
  };
}
