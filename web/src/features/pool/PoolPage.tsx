import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { cliLines } from "../../cliLines";
import { useRowKeys } from "../../keys/useRowKeys";
import { useMe } from "../../me";
import type { Pool } from "../../pool";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { EndedReviewers } from "./EndedReviewers";
import { runningOf } from "./model";
import { PersonaList } from "./PersonaList";
import { type OpenDialog, PoolDialogs } from "./PoolDialogs";
import { PoolHead } from "./PoolHead";
import { QueuedSeats } from "./QueuedSeats";
import { ReviewerRow } from "./ReviewerRow";
import { reviewers } from "./reviewers";

/** The broker's own reviewers: what the pool does and why, each reviewer, and the personas they act as. */
export function PoolPage() {
  const { whoami } = useMe();
  const query = useQuery({ ...reviewers(), enabled: whoami !== null });
  return (
    <Page title="Reviewers" cli={cliLines.reviewerList()}>
      {query.data !== undefined ? (
        <PoolBody data={query.data} />
      ) : query.isError ? (
        <Failure error={query.error} what="The reviewers" retry={() => void query.refetch()} />
      ) : (
        <SkeletonRows count={6} label="reviewers" />
      )}
    </Page>
  );
}

function PoolBody({ data }: { data: Pool }) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list);
  const running = runningOf(data);
  const dedicated = data.dedicated ?? [];
  return (
    <>
      <PoolHead pool={data} onOpen={setDialog} />
      <div ref={list} className="flex flex-col gap-6">
        <Section title={`Running (${running.length} of ${data.max_size})`}>
          {running.length === 0 ? (
            <p className="text-dim">No reviewer runs.</p>
          ) : (
            <ul className="rounded border border-line">
              {running.map((reviewer) => (
                <ReviewerRow key={reviewer.reviewer_id} reviewer={reviewer} onStop={setDialog} />
              ))}
            </ul>
          )}
        </Section>
        {dedicated.length > 0 && (
          <Section title={`Dedicated (${data.dedicated_total ?? dedicated.length})`}>
            <ul className="rounded border border-line">
              {dedicated.map((reviewer) => (
                <ReviewerRow key={reviewer.reviewer_id} reviewer={reviewer} onStop={setDialog} />
              ))}
            </ul>
          </Section>
        )}
        <QueuedSeats pool={data} />
        <EndedReviewers first={data} />
      </div>
      <PersonaList />
      <PoolDialogs open={dialog} pool={data} onClose={() => setDialog(null)} />
    </>
  );
}

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">{title}</h2>
      {children}
    </section>
  );
}
