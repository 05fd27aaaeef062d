import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Answer } from "../../api/client";
import { keys, type ReviewFilter } from "../../api/keys";
import { useLive } from "../../live/LiveContext";
import { useChangedReviews } from "../../live/useChangedReviews";
import { reviewCounts, reviewPages } from "./queries";

type Pages = InfiniteData<Answer<"list_reviews">, string | undefined>;

/** Nearer to the top than this, new rows may appear by themselves. */
const TOP_PX = 200;

/**
 * The pages of a list. While the reader is at its top, events load the first page again. Further down they are counted,
 * and `showChanges` starts at the top again, so that no row moves under the eye.
 */
export function useReviewPages(filter: ReviewFilter, isEnabled: boolean) {
  const queries = useQueryClient();
  const list = useInfiniteQuery(reviewPages(filter, isEnabled));
  // Events make the counts old; when they are loaded again, the list is old as well.
  const counts = useQuery(reviewCounts(filter, isEnabled));
  const changes = useChangedReviews(JSON.stringify(filter));
  const isOld = useIsOlderThanEvents(list.data?.pages[0]?.seq);
  const [changed, setChanged] = useState(0);

  const showFirstPage = () => {
    changes.clear();
    setChanged(0);
    queries.setQueryData<Pages>(keys.pages(filter), (data) => data && firstPage(data));
    void list.refetch();
  };
  const latest = useRef(showFirstPage);
  latest.current = showFirstPage;
  const countsLoadedAt = counts.dataUpdatedAt;

  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when events have made the counts load again
  useEffect(() => {
    if (changes.size === 0) return;
    if (scrollY < TOP_PX) latest.current();
    else setChanged(changes.size);
  }, [countsLoadedAt]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for a list that was kept while another page was open
  useEffect(() => {
    if (!isOld) return;
    // The router restores the place in the list first.
    const frame = requestAnimationFrame(() => scrollY < TOP_PX && latest.current());
    return () => cancelAnimationFrame(frame);
  }, []);

  const showChanges = () => {
    scrollTo({ top: 0 });
    showFirstPage();
  };
  return { list, counts: counts.data ?? null, changed, isOld, showChanges };
}

function firstPage({ pages, pageParams }: Pages): Pages {
  return { pages: pages.slice(0, 1), pageParams: pageParams.slice(0, 1) };
}

/** Whether events came between the loading of the list and the opening of this page. */
function useIsOlderThanEvents(listSeq: number | undefined): boolean {
  const { seq } = useLive();
  const openedAt = useRef(seq);
  return listSeq !== undefined && openedAt.current !== null && listSeq < openedAt.current;
}
