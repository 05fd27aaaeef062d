import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { isCode } from "../../api/client";
import { cliLines } from "../../cliLines";
import { useKeys } from "../../keys/KeysContext";
import { useMe } from "../../me";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { CliLine } from "../../ui/CliLine";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { usePageTitle } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { Chip } from "../../ui/Status";
import { LogBar } from "./LogBar";
import { LogView, type LogViewHandle } from "./LogView";
import { doingWords, reviewerLook } from "./model";
import { reviewers } from "./reviewers";
import { useLog } from "./useLog";
import { useLogSearch } from "./useLogSearch";

/** The output of one reviewer, as it is written. */
export function LogPage() {
  const { reviewer } = useParams({ from: "/pool/$reviewer" });
  // Another reviewer is another page: nothing of the last one stays.
  return <LogOf key={reviewer} reviewer={reviewer} />;
}

function LogOf({ reviewer }: { reviewer: string }) {
  const search = useSearch({ from: "/pool/$reviewer" });
  const navigate = useNavigate({ from: "/pool/$reviewer" });
  const heading = usePageTitle(`Log of ${inertLine(reviewer, 60)}`);
  const view = useRef<LogViewHandle>(null);
  const log = useLog(reviewer);
  const find = useLogSearch(reviewer, search.q ?? "", (offset) => view.current?.show(offset));
  const { query } = find;
  useEffect(() => {
    const q = query.trim();
    void navigate({ search: q === "" ? {} : { q }, replace: true, resetScroll: false });
  }, [query, navigate]);
  useKeys({
    followLog: () => (log.isFollowing ? log.pause() : log.follow()),
    toLogEnd: () => view.current?.toEnd(),
    toLogStart: () => view.current?.toStart(),
    nextMatch: () => find.step(1),
    previousMatch: () => find.step(-1),
    toPool: () => void navigate({ to: "/pool" }),
  });
  const { buffer, isLoaded, error } = log;
  const isMissing = isCode(error, "no_log");
  return (
    <div className="mx-auto flex h-[calc(100dvh-var(--banners,0px))] w-full max-w-7xl flex-col gap-3 p-4 max-md:h-[calc(100dvh-var(--banners,0px)-3rem)] md:p-6">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Link to="/pool" className="text-dim">
          Reviewers
        </Link>
        <h1 ref={heading} tabIndex={-1} className="text-lg font-semibold">
          <Name>{reviewer}</Name>
        </h1>
        <Facts reviewer={reviewer} />
      </header>
      <LogBar log={log} find={find} />
      {isLoaded && buffer.lines.length > 0 ? (
        <LogView log={log} label={`Log of ${inertLine(reviewer, 60)}`} marked={markedOf(find)} handle={view} />
      ) : isMissing ? (
        <Empty title="No output yet, or its log was removed.">
          The broker keeps the logs of the last 100 reviewers.
        </Empty>
      ) : error !== null && !isLoaded ? (
        <Failure error={error} what="The log" retry={log.follow} />
      ) : isLoaded ? (
        <Empty title="It has printed nothing yet." />
      ) : (
        <SkeletonRows count={12} label="log" />
      )}
      <footer data-print="hide">
        <CliLine line={cliLines.reviewerLogs(reviewer)} />
      </footer>
    </div>
  );
}

function markedOf({ query, found, at }: ReturnType<typeof useLogSearch>): number | null {
  return query.trim() === "" ? null : (found.offsets[at] ?? null);
}

/** What the pool says about it, if it is among those on the page. */
function Facts({ reviewer }: { reviewer: string }) {
  const { whoami } = useMe();
  const { data } = useQuery({ ...reviewers(), enabled: whoami !== null });
  const known = [...(data?.reviewers ?? []), ...(data?.dedicated ?? []), ...(data?.ended ?? [])];
  const found = known.find(({ reviewer_id, name }) => reviewer_id === reviewer || name === reviewer);
  if (found === undefined) return null;
  const [glyph, word, colours] = reviewerLook(found);
  return (
    <>
      <Chip glyph={glyph} word={word} colours={colours} />
      <Name className="text-dim">{doingWords(found)}</Name>
    </>
  );
}
