import { Link } from "@tanstack/react-router";
import { Button } from "react-aria-components";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { myTurnWords, proposerOf, waitingWords } from "../../turns";
import { Money } from "../../ui/Money";
import { Seats } from "../../ui/Seats";
import { SeverityCounts, Status } from "../../ui/Status";
import { Age } from "../../ui/Time";
import type { InboxRow } from "./model";

interface InboxLineProps {
  item: InboxRow;
  /** Marks the row as done, or takes the mark back. */
  done?: { label: string; onPress: () => void };
}

/** A review in one line: how it stands, why it is here, who votes, what it cost. Cards on a narrow screen. */
export function InboxLine({ item, done }: InboxLineProps) {
  const { row, turns } = item;
  const [turn] = turns;
  const why = turn === undefined ? waitingWords(row) : myTurnWords(turn, row);
  return (
    <li
      data-row-frame=""
      className="group relative flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2 last:border-b-0 focus-within:bg-hover hover:bg-hover lg:flex-nowrap"
    >
      <span className="flex w-40 shrink-0">
        <Status status={row.status} />
      </span>
      <Link
        to="/r/$review"
        params={{ review: row.number }}
        {...rowAttribute(row.review_id)}
        className="flex min-w-0 items-baseline gap-3 text-text no-underline after:absolute after:inset-0 hover:no-underline max-lg:order-last max-lg:w-full lg:flex-1"
      >
        <span className="shrink-0 text-dim tabular-nums lg:w-12">{row.number}</span>
        <Name className="line-clamp-2 font-medium lg:line-clamp-1">{row.intent}</Name>
        <span className="sr-only">, {why}</span>
      </Link>
      <span
        className={`shrink-0 truncate max-lg:order-last max-lg:w-full lg:w-64 ${turn === undefined ? "text-dim" : "font-medium text-accent"}`}
        title={why}
        aria-hidden="true"
      >
        {why}
      </span>
      <RowFigures row={row} />
      {done !== undefined && (
        <Button
          onPress={done.onPress}
          aria-label={`${done.label} ${row.number}`}
          className="relative z-10 -my-1 shrink-0 rounded px-2 py-1 text-xs text-dim hover:bg-line hover:text-text max-lg:ml-auto"
        >
          {done.label}
        </Button>
      )}
    </li>
  );
}

function RowFigures({ row }: { row: InboxRow["row"] }) {
  const unread = row.unread_messages ?? 0;
  return (
    <span className="flex min-w-0 items-center gap-x-3 text-dim max-lg:order-last max-lg:w-full max-lg:flex-wrap">
      <span className="lg:w-20">
        {unread > 0 && (
          <span className="whitespace-nowrap text-accent">
            <span aria-hidden="true">✉</span> {unread} new<span className="sr-only"> messages</span>
          </span>
        )}
      </span>
      <span className="lg:w-20">{row.open_issues !== undefined && <SeverityCounts counts={row.open_issues} />}</span>
      <span className="lg:w-20">
        <Seats seats={row.seats ?? []} />
      </span>
      <span className="truncate lg:w-28" title={`Proposed by ${proposerOf(row)}`}>
        <span className="sr-only">by </span>
        <Name>{proposerOf(row)}</Name>
      </span>
      <span className="text-right lg:w-12">
        <Money usd={row.cost_usd} />
      </span>
      <span className="text-right lg:w-12">
        <Age at={row.created_at} />
        <span className="sr-only"> old</span>
      </span>
    </span>
  );
}
