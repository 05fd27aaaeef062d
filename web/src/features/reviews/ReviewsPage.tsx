import { useNavigate, useSearch } from "@tanstack/react-router";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { Button } from "../../ui/Button";
import { ChangedPill } from "../../ui/ChangedPill";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SavedViews } from "../../ui/SavedViews";
import { SkeletonRows } from "../../ui/Skeleton";
import { FilterBar } from "./FilterBar";
import { ReviewTable } from "./ReviewTable";
import { StatusTabs } from "./StatusTabs";
import { filterOf, hasFilters, parseReviewsSearch, type ReviewsSearch, statusesOf } from "./search";
import { useReviewPages } from "./useReviewPages";

/** All reviews, by filters that stand in the address. */
export function ReviewsPage() {
  const me = useMe();
  const search = useSearch({ from: "/r" });
  const navigate = useNavigate({ from: "/r" });
  const setSearch = (next: ReviewsSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const { list, counts, changed, isOld, showChanges } = useReviewPages(filterOf(search, me), me.whoami !== null);
  const rows = list.data?.pages.flatMap((page) => page.reviews) ?? [];
  const total = counts === null || search.turn === "me" ? null : totalOf(counts.by_status, search);
  return (
    <Page title="Reviews" cli={cliLine(search)}>
      <div className="flex flex-col gap-3">
        <FilterBar search={search} onChange={setSearch} rows={rows} />
        <SavedViews list="reviews" search={search} onOpen={(view) => setSearch(parseReviewsSearch(view))} />
        <StatusTabs search={search} counts={search.turn === "me" ? null : counts} onChange={setSearch} />
      </div>
      <ChangedPill changed={changed} isOld={isOld} onShow={showChanges} />
      {list.isPending ? (
        <SkeletonRows count={10} label="reviews" />
      ) : list.isError && rows.length === 0 ? (
        <Failure error={list.error} what="The reviews" retry={() => void list.refetch()} />
      ) : rows.length === 0 ? (
        <NoReviews isFiltered={hasFilters(search)} onClear={() => setSearch({})} />
      ) : (
        <ReviewTable
          rows={rows}
          total={total}
          next={{
            has: list.hasNextPage,
            isLoading: list.isFetchingNextPage,
            error: list.isFetchNextPageError ? list.error : null,
            load: () => void list.fetchNextPage({ cancelRefetch: false }),
          }}
        />
      )}
    </Page>
  );
}

function NoReviews({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) {
    return (
      <Empty title="No reviews yet." cli={cliLines.request()}>
        Propose a change from a terminal, or let an agent do it.
      </Empty>
    );
  }
  return (
    <Empty title="No review matches these filters.">
      <Button onPress={onClear}>Clear the filters</Button>
    </Empty>
  );
}

function totalOf(byStatus: Record<string, number>, search: ReviewsSearch): number {
  const wanted = statusesOf(search);
  const names = wanted.length === 0 ? Object.keys(byStatus) : wanted;
  return names.reduce((sum, name) => sum + (byStatus[name] ?? 0), 0);
}

function cliLine(search: ReviewsSearch): string {
  const [first, ...others] = statusesOf(search);
  if (search.turn === "me") return cliLines.listMyTurn();
  return first === undefined || others.length > 0 ? cliLines.listAll() : cliLines.listStatus(first);
}
