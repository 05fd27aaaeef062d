import type { ReviewRow } from "../../api/generated";
import { useMe } from "../../me";
import { columns } from "../../ui/RowFigures";
import type { NextPage } from "../../ui/useVirtualRows";
import { VirtualTable } from "../../ui/VirtualTable";
import { ReviewTableRow } from "./ReviewTableRow";

interface ReviewTableProps {
  rows: readonly ReviewRow[];
  /** How many there are in all. `null`: unknown. */
  total: number | null;
  next: NextPage;
}

const ROW_PX = 53;

const WORDS = {
  label: "Reviews",
  one: "review",
  many: "reviews",
  columns: [
    ["Status", columns.status],
    ["Review", columns.title],
    ["Open issues", columns.issues],
    ["Seats", columns.seats],
    ["Author", columns.author],
    ["Cost", columns.cost],
    ["Age", columns.age],
  ],
} as const;

/** Reviews as rows. */
export function ReviewTable({ rows, total, next }: ReviewTableProps) {
  const me = useMe();
  return (
    <VirtualTable rows={rows} keyOf={(row) => row.review_id} rowPx={ROW_PX} words={WORDS} total={total} next={next}>
      {(row) => <ReviewTableRow row={row} person={me} />}
    </VirtualTable>
  );
}
