// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import { Link } from "@tanstack/react-router";
import type { ReviewRow } from "../../api/generated";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { escalationWords, proposerOf, waitingWords } from "../../turns";
import { Money } from "../../ui/Money";
import { Seats } from "../../ui/Seats";
import { SeverityCounts, Status } from "../../ui/Status";
import { Age } from "../../ui/Time";

/** The cells of a review: one line and a small one below it; on a narrow screen a card. */
export function ReviewTableRow({ row }: { row: ReviewRow }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 lg:flex-nowrap">
      <span role="cell" className="flex w-40 shrink-0">
        <Status status={row.status} />
      </span>
      <span role="cell" className="min-w-0 max-lg:order-first max-lg:w-full lg:flex-1">
        <Link
          to="/r/$review"
          params={{ review: row.number }}
          {...rowAttribute(row.review_id)}
          className="flex items-baseline gap-2 text-text no-underline after:absolute after:inset-0 hover:no-underline"
        >
          <span className="shrink-0 text-dim tabular-nums">{row.number}</span>
          <Name className="line-clamp-2 font-medium lg:line-clamp-1">{row.intent}</Name>
        </Link>
        <SmallPrint row={row} />
      </span>
      <span role="cell" className="shrink-0 lg:w-28">
        {row.open_issues !== undefined && <SeverityCounts counts={row.open_issues} />}
      </span>
      <span role="cell" className="shrink-0 lg:w-24">
        <Seats seats={row.seats ?? []} />
      </span>
      <span role="cell" className="min-w-0 shrink-0 truncate text-dim lg:w-32" title={proposerOf(row)}>
        <Name>{proposerOf(row)}</Name>
      </span>
      <span role="cell" className="shrink-0 text-right text-dim lg:w-14">
        <Money usd={row.cost_usd} />
      </span>
      <span role="cell" className="shrink-0 text-right text-dim max-lg:ml-auto lg:w-14">
        <Age at={row.created_at} />
      </span>
    </div>
  );
}

/** Branch and base, size, round, and whom it waits for. */
function SmallPrint({ row }: { row: ReviewRow }) {
  const unread = row.unread_messages ?? 0;
  return (
    <span className="flex flex-wrap gap-x-3 text-xs text-dim lg:flex-nowrap lg:overflow-hidden lg:whitespace-nowrap">
      {row.escalate === true && (
        <span className="font-medium text-bad">escalated: {escalationWords(row.escalate_why)}</span>
      )}
      {unread > 0 && (
        <span className="text-accent">
          {unread} new {unread === 1 ? "message" : "messages"}
        </span>
      )}
      <Where row={row} />
      {row.additions !== undefined && row.deletions !== undefined && (
        <span className="whitespace-nowrap">
          <span className="text-ok">+{row.additions}</span> <span className="text-bad">−{row.deletions}</span>
          <span className="sr-only"> lines</span>
        </span>
      )}
      {row.current_round > 1 && (
        <span className="whitespace-nowrap">
          round {row.current_round}
          {row.max_rounds !== undefined && ` of ${row.max_rounds}`}
        </span>
      )}
      {row.escalate !== true && row.status !== "closed" && <span className="truncate">{waitingWords(row)}</span>}
    </span>
  );
}

function Where({ row }: { row: ReviewRow }) {
  if (row.branch === undefined) return row.category === "plan_review" ? <span>plan</span> : null;
  return (
    <span className="truncate">
      <Name>{row.branch}</Name>
      {row.base !== undefined && (
        <>
          {" "}
          <span aria-hidden="true">→</span>
          <span className="sr-only">onto</span> <Name>{row.base}</Name>
        </>
      )}
    </span>
  );
}
