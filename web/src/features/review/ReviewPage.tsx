import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { isCode } from "../../api/client";
import { useMe } from "../../me";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { mySeat } from "./model";
import { reviewId, reviewStatus } from "./queries";
import { ReviewBody } from "./ReviewBody";

const route = getRouteApi("/r/$review");

/** Often enough that a person who reads keeps its seat. */
const RENEW_MS = 4 * 60_000;

/** One review: what it is, its content, the conversation, and what the reader can do. */
export function ReviewPage() {
  const { review: param } = route.useParams();
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
  const error = id.error ?? status.error;
  if (status.data !== undefined && id.data !== undefined)
    return <ReviewBody key={id.data} id={id.data} review={status.data} />;
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
