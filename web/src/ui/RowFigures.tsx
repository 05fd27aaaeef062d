import type { ReviewRow } from "../api/generated";
import { inertLine } from "../text/inert";
import { Name } from "../text/UserText";
import { proposerOf } from "../turns";
import { Money } from "./Money";
import { Seats } from "./Seats";
import { SeverityCounts } from "./Status";
import { Age } from "./Time";

/** The widths of the columns that rows of reviews share on a wide screen. */
export const columns = {
  status: "shrink-0 xl:w-40",
  title: "min-w-0 max-xl:order-first max-xl:w-full xl:flex-1",
  issues: "shrink-0 max-xl:empty:hidden xl:w-24",
  seats: "shrink-0 max-xl:empty:hidden xl:w-24",
  author: "truncate xl:w-32 xl:shrink-0",
  cost: "shrink-0 text-right xl:w-14",
  age: "shrink-0 text-right max-xl:ml-auto xl:w-14",
};

/** Number and title, which open the review from anywhere in its row. */
export const titleLink =
  "flex items-baseline gap-2 text-text no-underline after:absolute after:inset-0 hover:no-underline focus-visible:outline-none focus-visible:after:rounded-sm focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent";
export const titleNumber = "shrink-0 whitespace-nowrap text-dim xl:w-16";
export const titleText = "line-clamp-2 font-medium xl:line-clamp-1";
/** The small line below the title. */
export const smallPrint = "flex flex-wrap gap-x-3 text-xs text-dim xl:pl-18";

export function Issues({ row }: { row: ReviewRow }) {
  const open = row.open_issues;
  if (open === undefined || Object.values(open).every((count) => count === 0)) return null;
  return <SeverityCounts counts={open} />;
}

export function RowSeats({ row }: { row: ReviewRow }) {
  return row.seats === undefined ? null : <Seats seats={row.seats} />;
}

export function Author({ row }: { row: ReviewRow }) {
  return (
    <span title={inertLine(`Proposed by ${proposerOf(row)}`)}>
      <Name>{proposerOf(row)}</Name>
    </span>
  );
}

/** On a narrow screen an unknown cost is left out. */
export function Cost({ row }: { row: ReviewRow }) {
  return (
    <span className={row.cost_usd === undefined ? "max-xl:hidden" : ""}>
      <span className="sr-only">cost </span>
      <Money usd={row.cost_usd} />
    </span>
  );
}

export function RowAge({ row }: { row: ReviewRow }) {
  return (
    <>
      <span className="sr-only">age </span>
      <Age at={row.created_at} />
    </>
  );
}
