import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client";
import type { Reviewer } from "../../api/generated";
import type { Pool } from "../../pool";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { ReviewerRow } from "./ReviewerRow";

const PAGE_ROWS = 50;

/** The reviewers that have ended, the last first. Older ones are loaded when a person asks for them. */
export function EndedReviewers({ first }: { first: Pool }) {
  // Where the list on display continues. Events only change its beginning.
  const [cursor, setCursor] = useState<string | null>(null);
  const older = useInfiniteQuery({
    queryKey: ["ended-reviewers", cursor] as const,
    queryFn: ({ pageParam, signal }) => call("list_reviewers", { limit: PAGE_ROWS, cursor: pageParam }, { signal }),
    initialPageParam: cursor ?? undefined,
    getNextPageParam: (page) => page.next_cursor,
    enabled: cursor !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = withoutDoubles([...first.ended, ...(older.data?.pages.flatMap((page) => page.ended) ?? [])]);
  const total = first.ended_total ?? rows.length;
  const hasMore = cursor === null ? first.next_cursor !== undefined : older.hasNextPage;
  const loadMore = () => {
    if (cursor === null) setCursor(first.next_cursor ?? null);
    else void older.fetchNextPage({ cancelRefetch: false });
  };
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">Ended ({total.toLocaleString("en")})</h2>
      {rows.length === 0 ? (
        <p className="text-dim">No reviewer has ended yet.</p>
      ) : (
        <ul aria-label="Ended reviewers" className="rounded border border-line">
          {rows.map((reviewer) => (
            <ReviewerRow key={reviewer.reviewer_id} reviewer={reviewer} />
          ))}
        </ul>
      )}
      <Refusal error={older.error} />
      {hasMore && (
        <Button kind="quiet" isSending={older.isFetching} onPress={loadMore} className="self-start">
          Show older ones
        </Button>
      )}
    </section>
  );
}

/** While reviewers end, the first page moves over the older ones. */
function withoutDoubles(rows: readonly Reviewer[]): Reviewer[] {
  return [...new Map(rows.map((row) => [row.reviewer_id, row])).values()];
}
