// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the link in the row takes the focus
import { Link } from "@tanstack/react-router";
import type { ReviewRow } from "../../api/generated";
import { rowAttribute } from "../../keys/useRowKeys";
import { Name } from "../../text/UserText";
import { escalationWords, isOpenToAll, myTurnWords, type Person, turnsOf, waitingWords } from "../../turns";
import { Press } from "../../ui/Press";
import * as figures from "../../ui/RowFigures";
import { Status } from "../../ui/Status";

const { columns } = figures;

interface ReviewTableRowProps {
  row: ReviewRow;
  person: Person;
  onPreview: () => void;
}

/** The cells of a review: one line and a small one below it; on a narrow screen a card. */
export function ReviewTableRow({ row, person, onPreview }: ReviewTableRowProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 xl:flex-nowrap">
      <span role="cell" className={`flex ${columns.status}`}>
        <Status status={row.status} />
        <Press
          aria-label={`Preview ${row.number}`}
          onPress={onPreview}
          // Above the link that covers the row.
          className="relative z-10 ml-1 min-h-6 min-w-6 rounded text-dim hover:bg-hover hover:text-text"
        >
          <span aria-hidden="true">⌄</span>
        </Press>
      </span>
      <span role="cell" className={columns.title}>
        <Link
          to="/r/$review"
          params={{ review: row.number }}
          {...rowAttribute(row.review_id)}
          className={figures.titleLink}
        >
          <span className={figures.titleNumber}>{row.number}</span>
          <Name className={figures.titleText}>{row.intent}</Name>
        </Link>
        <SmallPrint row={row} person={person} />
      </span>
      <span role="cell" className={columns.issues}>
        <figures.Issues row={row} />
      </span>
      <span role="cell" className={columns.seats}>
        <figures.RowSeats row={row} />
      </span>
      <span
        role="presentation"
        className="flex min-w-0 items-center gap-x-3 text-dim max-sm:order-last max-sm:w-full sm:max-xl:ml-auto"
      >
        <span role="cell" className={columns.author}>
          <figures.Author row={row} />
        </span>
        <span role="cell" className={columns.cost}>
          <figures.Cost row={row} />
        </span>
        <span role="cell" className={columns.age}>
          <figures.RowAge row={row} />
        </span>
      </span>
    </div>
  );
}

/** Branch and base, size, round, and whom it waits for. */
function SmallPrint({ row, person }: { row: ReviewRow; person: Person }) {
  const unread = row.unread_messages ?? 0;
  return (
    <span className={`${figures.smallPrint} xl:flex-nowrap xl:overflow-hidden xl:whitespace-nowrap`}>
      <MyTurn row={row} person={person} />
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
      {myTurn(row, person) === undefined && row.escalate !== true && row.status !== "closed" && (
        <span className="truncate">{waitingWords(row)}</span>
      )}
    </span>
  );
}

/** A free seat is not this person's turn alone. */
function myTurn(row: ReviewRow, person: Person) {
  return turnsOf(row, person).find((turn) => !isOpenToAll(turn));
}

function MyTurn({ row, person }: { row: ReviewRow; person: Person }) {
  const turn = myTurn(row, person);
  if (row.escalate === true) {
    return <span className="font-medium text-bad">escalated: {escalationWords(row.escalate_why)}</span>;
  }
  return turn === undefined ? null : <span className="font-medium text-accent">{myTurnWords(turn, row)}</span>;
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
