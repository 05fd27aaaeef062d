import { useQuery } from "@tanstack/react-query";
import { Navigate } from "@tanstack/react-router";
import { cliLines } from "../../cliLines";
import { useMe } from "../../me";
import { usePool } from "../../pool";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { DaySummary } from "./DaySummary";
import { InboxLists } from "./InboxLists";
import { PoolNotices } from "./PoolNotices";
import { totals, useInbox } from "./queries";

/** What needs the person, what runs, and what was decided today. */
export function InboxPage() {
  const { isOperator } = useMe();
  const pool = usePool();
  const counts = useQuery(totals()).data?.by_status;
  const { inbox, error, retry, hasMoreOpen } = useInbox();
  const isEmptyDatabase = counts !== undefined && Object.values(counts).every((count) => count === 0);
  if (isEmptyDatabase) return <Navigate to="/start" replace />;
  return (
    <Page title="Inbox" cli={isOperator ? cliLines.listMyTurnAsOperator() : cliLines.listMyTurn()}>
      {error !== null && <Failure error={error} what="The inbox" retry={retry} />}
      {inbox === null && error === null && <SkeletonRows count={6} label="the inbox" />}
      {inbox !== null && (
        <>
          <DaySummary />
          <PoolNotices pool={pool} needsMe={inbox.needsMe} />
          <InboxLists inbox={inbox} hasMoreOpen={hasMoreOpen} />
        </>
      )}
    </Page>
  );
}
