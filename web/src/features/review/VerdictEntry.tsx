import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RaisedIssue, ReviewMetrics } from "../../api/generated";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { duration } from "../../time";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { Money } from "../../ui/Money";
import { Severity, Verdict } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { FindingLink } from "./FindingLink";
import { PatchOffer } from "./PatchOffer";
import { verdictReason } from "./queries";
import { useReview } from "./ReviewContext";
import { ReviewText } from "./ReviewText";
import { type EventEntry, isCut } from "./stream";

/** A verdict with its reason in full, the findings it raised, and what it cost. */
export function VerdictEntry({ entry }: { entry: EventEntry }) {
  const { actor, persona, verdict, summary, reason, raised = [], settled = [], metrics, held_ms } = entry.event;
  return (
    <article
      aria-label={inertLine(`Verdict of ${persona ?? actor ?? "a reviewer"}`)}
      className="min-w-0 rounded border border-line bg-raised px-3 py-2"
    >
      <header className="flex flex-wrap items-baseline gap-x-2">
        <Name className="font-semibold">{actor ?? "a reviewer"}</Name>
        {persona !== undefined && <Name className="text-xs text-dim">{persona}</Name>}
        {verdict !== undefined && <Verdict verdict={verdict} />}
        <span className="grow" />
        <span className="text-xs text-dim">
          <Time at={entry.at} />
        </span>
      </header>
      {summary !== undefined && <Name className="font-medium">{summary}</Name>}
      {reason !== undefined && <Reason entry={entry} reason={reason} />}
      {raised.length > 0 && <Raised issues={raised} />}
      {settled.length > 0 && (
        <p className="text-xs text-dim">
          Settled:{" "}
          {settled.map(({ issue_id, status }, index) => (
            <span key={issue_id}>
              {index > 0 && ", "}
              <FindingLink id={issue_id} /> {status?.replace("_", " ")}
            </span>
          ))}
        </p>
      )}
      {entry.event.counter_patch === "offered" && persona !== undefined && (
        <PatchOffer offer={entry} persona={persona} />
      )}
      <Effort metrics={metrics} heldMs={held_ms} />
    </article>
  );
}

/** The timeline has the start of a long reason; the rest is loaded on request. */
function Reason({ entry, reason }: { entry: EventEntry; reason: string }) {
  const { id } = useReview();
  const [isWanted, setWanted] = useState(false);
  const whole = useQuery({ ...verdictReason(id, entry.round, entry.version), enabled: isWanted });
  return (
    <>
      <ReviewText text={whole.data ?? reason} />
      {isCut(reason) && whole.data === undefined && (
        <Button
          kind="quiet"
          isSending={whole.isFetching}
          onPress={() => (isWanted ? void whole.refetch() : setWanted(true))}
        >
          Show all of it
        </Button>
      )}
      <Refusal error={whole.error} />
    </>
  );
}

function Raised({ issues }: { issues: readonly RaisedIssue[] }) {
  return (
    <ul className="mt-1 flex flex-col gap-1 border-t border-line pt-1">
      {issues.map(({ issue_id, severity, title, is_suggestion }) => (
        <li key={issue_id} className="flex items-baseline gap-2">
          {is_suggestion === true ? (
            <span className="whitespace-nowrap text-dim">suggestion</span>
          ) : (
            <Severity severity={severity} />
          )}
          <FindingLink id={issue_id} />
          <Name className="min-w-0">{title}</Name>
        </li>
      ))}
    </ul>
  );
}

function Effort({ metrics, heldMs }: { metrics: ReviewMetrics | undefined; heldMs: number | undefined }) {
  const took = heldMs ?? metrics?.duration_ms;
  const tokens = (metrics?.input_tokens ?? 0) + (metrics?.output_tokens ?? 0);
  if (took === undefined && metrics === undefined) return null;
  return (
    <p className="mt-1 text-xs text-dim">
      {took !== undefined && `took ${duration(took)}`}
      {metrics !== undefined && (
        <>
          {" · "}
          <Money usd={metrics.cost_usd} />
        </>
      )}
      {tokens > 0 && ` · ${Math.round(tokens / 1000)}k tokens`}
      {metrics?.model !== undefined && (
        <>
          {" · "}
          <Name>{metrics.model}</Name>
        </>
      )}
    </p>
  );
}
