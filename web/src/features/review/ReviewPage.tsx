import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { isCode } from "../../api/client";
import { useMe } from "../../me";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { mySeat } from "./model";
import { pastReview, reviewId, reviewStatus } from "./queries";
import { ReviewBody } from "./ReviewBody";

const route = getRouteApi("/r/$review");

/** Often enough that a person who reads keeps its seat. */
const RENEW_MS = 4 * 60_000;

/** One review: what it is, its content, the conversation, and what the reader can do. */
export function ReviewPage() {
  const { review: param } = route.useParams();
  const { at } = route.useSearch();
  const me = useMe();
  const id = useQuery({ ...reviewId(param, me.name), enabled: me.whoami !== null });
  const status = useQuery({
    ...reviewStatus(id.data ?? "", me.name),
    enabled: id.data !== undefined,
    // The seat of a person who looks at the page stays theirs: each read renews the claim.
    refetchInterval: ({ state }) => {
      const seat = state.data === undefined ? null : mySeat(state.data, me);
      return seat?.lease_ends_at === undefined ? false : RENEW_MS;
    },
  });
  const past = useQuery({
    ...pastReview(id.data ?? "", at ?? 0, me.name),
    enabled: id.data !== undefined && at !== undefined,
    // Until the next moment has loaded, the last one stays on screen.
    placeholderData: keepPreviousData,
  });
  const error = id.error ?? status.error;
  if (status.data !== undefined && id.data !== undefined) {
    if (at === undefined) {
      return <ReviewBody key={id.data} moment={{ id: id.data, at: null }} review={status.data} live={status.data} />;
    }
    if (past.isError) return <NoSuchMoment param={param} at={at} error={past.error} />;
    if (past.data?.review_id === id.data) {
      const moment = { id: id.data, at: past.data.version };
      return <ReviewBody key={id.data} moment={moment} review={past.data} live={status.data} />;
    }
  }
  return (
    <Page title={param}>
      {error === null ? (
        <SkeletonRows count={12} label="the review" />
      ) : isCode(error, "unknown_review", "ambiguous_review") ? (
        <p>
          There is no review {param}. <Link to="/r">Show all reviews</Link>
        </p>
      ) : (
        <Failure error={error} what="The review" retry={() => void (id.isError ? id.refetch() : status.refetch())} />
      )}
    </Page>
  );
}

function NoSuchMoment({ param, at, error }: { param: string; at: number; error: Error }) {
  return (
    <Page title={param}>
      <Failure error={error} what={`The review after event ${at}`} />
      <p className="mt-3">
        <Link to="/r/$review" params={{ review: param }}>
          Show the review as it is now
        </Link>
      </p>
    </Page>
  );
}
