import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../api/client";
import type { ReviewRow } from "../../api/generated";
import { keys } from "../../api/keys";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { usePool } from "../../pool";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { CopyText } from "../../ui/CopyText";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SENTENCE, stepsOf } from "./model";
import { Step } from "./Step";
import { WhoReviews } from "./WhoReviews";

const newestReviews = () =>
  queryOptions({
    queryKey: keys.list({ details: false }),
    queryFn: ({ signal }) => call("list_reviews", { limit: 20 }, { signal }),
  });

/** The first run: three steps that tick by themselves. */
export function StartPage() {
  const me = useMe();
  const pool = usePool();
  const reviews = useQuery(newestReviews());
  const { isConnected, first, hasReviewer } = stepsOf(reviews.data?.reviews ?? [], me.isFixed || !me.isSuggested, pool);
  const isReady = isConnected && first !== null && hasReviewer;
  return (
    <Page title="Start">
      <p className="-mt-2 max-w-3xl text-dim">
        {isReady ? (
          <>
            All three steps are done. New reviews appear in the <Link to="/">inbox</Link>.
          </>
        ) : (
          "Agents propose changes, reviewers vote, you see and decide. Each step ticks by itself when it is done."
        )}
      </p>
      {reviews.isError && <Failure error={reviews.error} what="The reviews" retry={() => void reviews.refetch()} />}
      <ol className="flex max-w-3xl flex-col gap-3">
        <Step number={1} title="Connect an agent" isDone={isConnected}>
          <p>
            Adds the broker to Claude Code, Codex and Gemini, as far as they are installed. Run it in your repository:
          </p>
          <CliLine line={cliLines.init()} />
        </Step>
        <Step number={2} title="Propose the first change" isDone={first !== null}>
          {first === null ? <Propose /> : <FirstReview row={first} />}
        </Step>
        <Step number={3} title="Decide who reviews" isDone={hasReviewer}>
          <WhoReviews pool={pool} />
        </Step>
      </ol>
      <section className="max-w-3xl rounded border border-dashed border-line p-4" aria-label="Watch one">
        <h2 className="text-base font-semibold">Or watch one first</h2>
        <p className="mt-1 mb-3 text-dim">
          Plays a whole review with scripted agents, on a page and in a repository of its own.
        </p>
        <CliLine line={cliLines.demoServe()} />
      </section>
    </Page>
  );
}

function Propose() {
  return (
    <>
      <p>Propose the branch that you are on:</p>
      <CliLine line={cliLines.request()} />
      <p>Or paste this to your agent:</p>
      <CopyText label="Copy the sentence for your agent" text={SENTENCE} />
    </>
  );
}

function FirstReview({ row }: { row: ReviewRow }) {
  return (
    <p>
      <Link to="/r/$review" params={{ review: row.number }}>
        Open {row.number}
      </Link>
      : <Name>{row.intent}</Name>
    </p>
  );
}
