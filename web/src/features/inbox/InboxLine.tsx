import { Link } from "@tanstack/react-router";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { myTurnWords, waitingWords } from "../../turns";
import { Press } from "../../ui/Press";
import * as figures from "../../ui/RowFigures";
import { Status } from "../../ui/Status";
import type { InboxRow } from "./model";

interface InboxLineProps {
  item: InboxRow;
  /** Marks the row as done, or takes the mark back. */
  done?: { label: string; onPress: () => void };
}

const { columns } = figures;

/** A review: how it stands, why it is here, who votes, what it cost. A card on a narrow screen. */
export function InboxLine({ item, done }: InboxLineProps) {
  const { row } = item;
  return (
    <li
      data-row-frame=""
      className="relative flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2 last:border-b-0 focus-within:bg-hover hover:bg-hover xl:flex-nowrap"
    >
      <span className={`flex ${columns.status}`}>
        <Status status={row.status} />
      </span>
      <span className={columns.title}>
        <Link
          to="/r/$review"
          params={{ review: row.number }}
          {...rowAttribute(row.review_id)}
          className={figures.titleLink}
        >
          <span className={figures.titleNumber}>{row.number}</span>
          <Name className={figures.titleText}>{row.intent}</Name>
        </Link>
        <Why item={item} />
      </span>
      <span className={columns.issues}>
        <figures.Issues row={row} />
      </span>
      <span className={columns.seats}>
        <figures.RowSeats row={row} />
      </span>
      <span className="flex min-w-0 items-center gap-x-3 text-dim max-sm:order-last max-sm:w-full sm:max-xl:ml-auto">
        <span className={columns.author}>
          <figures.Author row={row} />
        </span>
        <span className={columns.cost}>
          <figures.Cost row={row} />
        </span>
        <span className={columns.age}>
          <figures.RowAge row={row} />
        </span>
      </span>
      <span className="flex shrink-0 justify-end max-sm:ml-auto max-xl:empty:hidden xl:w-16">
        {done !== undefined && (
          <Press
            onPress={done.onPress}
            aria-label={`${done.label}: ${row.number}`}
            className="relative z-10 min-h-6 rounded px-2 text-xs text-dim hover:bg-line hover:text-text"
          >
            {done.label}
          </Press>
        )}
      </span>
    </li>
  );
}

/** Why it is the person's turn, or whom it waits for. */
function Why({ item: { row, turns } }: { item: InboxRow }) {
  const [turn] = turns;
  const unread = row.unread_messages ?? 0;
  return (
    <span className={figures.smallPrint}>
      {turn === undefined ? (
        <span>{waitingWords(row)}</span>
      ) : (
        <span className={turn.why === "escalated" ? "font-medium text-bad" : "font-medium text-accent"}>
          {myTurnWords(turn, row)}
        </span>
      )}
      {unread > 0 && (
        <span>
          {unread} new {unread === 1 ? "message" : "messages"}
        </span>
      )}
    </span>
  );
}
