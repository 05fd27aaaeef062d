import { Navigate } from "@tanstack/react-router";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { usePool } from "../../pool";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { DaySummary } from "./DaySummary";
import { InboxLists } from "./InboxLists";
import { NoReviewerRuns } from "./PoolNotices";
import { useInbox } from "./queries";

/** What needs the person, what runs, and what was decided today. */
export function InboxPage() {
  const { isOperator } = useMe();
  const pool = usePool();
  const { inbox, isFirstRun, error, retry, hasMoreMine, hasMoreOpen } = useInbox();
  if (isFirstRun) return <Navigate to="/start" replace />;
  return (
    <Page title="Inbox" cli={isOperator ? cliLines.listMyTurnAsOperator() : cliLines.listMyTurn()}>
      {error !== null && <Failure error={error} what="The inbox" retry={retry} />}
      {inbox === null && error === null && <SkeletonRows count={6} label="the inbox" />}
      {inbox !== null && (
        <>
          <DaySummary />
          <NoReviewerRuns pool={pool} needsMe={inbox.needsMe} />
          <InboxLists inbox={inbox} pool={pool} hasMoreMine={hasMoreMine} hasMoreOpen={hasMoreOpen} />
        </>
      )}
    </Page>
  );
}
