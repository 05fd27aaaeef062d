// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by the virtual list, which elements of a table are not
// biome-ignore-all lint/a11y/useFocusableInteractive: the button in the row takes the focus
import { Link } from "@tanstack/react-router";
import { rowAttribute } from "../../keys/useRowKeys";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { Press } from "../../ui/Press";
import { Status } from "../../ui/Status";
import { Age } from "../../ui/Time";
import type { NextPage } from "../../ui/useVirtualRows";
import { VirtualTable } from "../../ui/VirtualTable";
import { EventDetails } from "./EventDetails";
import { kindWords, type LogRow } from "./model";
import type { LogSearch, LogView } from "./search";

const ROW_PX = 41;

const columns = {
  age: "shrink-0 xl:w-12 xl:text-right",
  seq: "w-20 shrink-0 text-right tabular-nums max-xl:hidden",
  kind: "w-44 shrink-0 truncate max-md:w-auto",
  review: "w-16 shrink-0",
  what: "min-w-0 flex-1 max-xl:order-last max-xl:w-full max-xl:flex-none",
  status: "w-40 shrink-0 max-xl:w-auto",
};

const WHEN = [
  ["Age", columns.age],
  ["Event", columns.seq],
  ["Kind", columns.kind],
  ["Review", columns.review],
  ["What", columns.what],
] as const;

const WORDS = {
  activity: { label: "Activity", one: "event", many: "events", columns: WHEN },
  audit: { label: "Audit log", one: "event", many: "events", columns: [...WHEN, ["Status", columns.status]] as const },
} as const;

interface LogTableProps {
  view: LogView;
  rows: readonly LogRow[];
  search: LogSearch;
  opened: { isOpen: (seq: number) => boolean; toggle: (seq: number) => void };
  next: NextPage;
}

/** Events as rows. A row opens under itself. */
export function LogTable({ view, rows, search, opened, next }: LogTableProps) {
  return (
    <VirtualTable
      rows={rows}
      keyOf={(row) => String(row.seq)}
      rowPx={ROW_PX}
      words={WORDS[view]}
      total={null}
      next={next}
    >
      {(row) => (
        <>
          <Cells view={view} row={row} isOpen={opened.isOpen(row.seq)} onToggle={() => opened.toggle(row.seq)} />
          {opened.isOpen(row.seq) && <EventDetails seq={row.seq} search={search} />}
        </>
      )}
    </VirtualTable>
  );
}

interface CellsProps {
  view: LogView;
  row: LogRow;
  isOpen: boolean;
  onToggle: () => void;
}

function Cells({ view, row, isOpen, onToggle }: CellsProps) {
  return (
    <div role="presentation" className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2 xl:flex-nowrap">
      <span role="cell" className={`${columns.age} text-dim`}>
        <Age at={row.at} />
      </span>
      <span role="cell" className={`${columns.seq} text-dim`}>
        {row.seq}
      </span>
      <span role="cell" className={`${columns.kind} text-dim`}>
        {kindWords(row.kind)}
      </span>
      <span role="cell" className={`relative z-1 ${columns.review}`}>
        {row.review !== null && (
          <Link to="/r/$review" params={{ review: row.review }}>
            {row.review}
          </Link>
        )}
      </span>
      <span role="cell" className={columns.what}>
        <Press
          {...rowAttribute(String(row.seq))}
          aria-expanded={isOpen}
          onPress={onToggle}
          className={`w-full text-left after:absolute after:inset-x-0 after:top-0 after:h-10 focus-visible:outline-none focus-visible:after:rounded-sm focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent ${isOpen ? "" : "line-clamp-2 xl:line-clamp-1"}`}
        >
          <Name>{row.text}</Name>
          {row.preview !== null && (
            <>
              {" "}
              <bdi className="text-dim">{inertLine(row.preview)}</bdi>
            </>
          )}
        </Press>
      </span>
      {view === "audit" && (
        <span role="cell" className={columns.status}>
          {row.status !== null && <Status status={row.status} />}
        </span>
      )}
    </div>
  );
}
