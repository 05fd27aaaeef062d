import { lazy, Suspense, useState } from "react";
import type { ReviewRow } from "../../api/generated";
import { useKeys } from "../../keys/KeysContext";
import { focusedRowId } from "../../keys/useRowKeys";
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

const Preview = lazy(() => import("./Preview").then(({ Preview }) => ({ default: Preview })));

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
  const [preview, setPreview] = useState<string | null>(null);
  const shown = rows.find((row) => row.review_id === preview);
  useKeys({ preview: () => setPreview(focusedRowId()) });
  return (
    <>
      <VirtualTable rows={rows} keyOf={(row) => row.review_id} rowPx={ROW_PX} words={WORDS} total={total} next={next}>
        {(row) => <ReviewTableRow row={row} person={me} onPreview={() => setPreview(row.review_id)} />}
      </VirtualTable>
      {shown !== undefined && (
        <Suspense fallback={null}>
          <Preview row={shown} onClose={() => setPreview(null)} />
        </Suspense>
      )}
    </>
  );
}
