import { useRef } from "react";
import type { Issue } from "../../api/generated";
import { useKeys } from "../../keys/KeysContext";
import { VirtualTable } from "../../ui/VirtualTable";
import { GroupHead } from "./GroupHead";
import { columns, IssueRow } from "./IssueRow";
import type { useIssueRows } from "./useIssueRows";

interface IssueTableProps {
  list: ReturnType<typeof useIssueRows>;
  selected: ReadonlyMap<string, Issue>;
  onSelect: (issue: Issue, isSelected: boolean) => void;
  onSettle: (issue: Issue) => void;
}

const ROW_PX = 53;

const WORDS = {
  label: "Issues",
  one: "issue",
  many: "issues",
  columns: [
    ["Select", columns.select],
    ["Severity", columns.severity],
    ["Issue", columns.title],
    ["Where", columns.where],
    ["Review", columns.review],
    ["Seat", columns.seat],
    ["Status", columns.status],
    ["Age", columns.age],
  ],
} as const;

/** Issues as rows, under headings if they are grouped. `x` selects the row with the focus, `e` settles it. */
export function IssueTable({ list, selected, onSelect, onSettle }: IssueTableProps) {
  const box = useRef<HTMLDivElement>(null);
  const focused = (): Issue | null => {
    const index = document.activeElement?.closest("[data-index]")?.getAttribute("data-index") ?? null;
    const row = index === null || !box.current?.contains(document.activeElement) ? undefined : list.rows[Number(index)];
    return row?.kind === "issue" ? row.issue : null;
  };
  useKeys({
    select: () => {
      const issue = focused();
      if (issue !== null) onSelect(issue, !selected.has(issue.issue_id));
    },
    settleRows: () => {
      const issue = focused() ?? [...selected.values()][0];
      if (issue !== undefined) onSettle(issue);
    },
  });
  const issueCount = list.issues.length;
  const words = list.rows.length === issueCount ? WORDS : { ...WORDS, one: "row", many: "rows" };
  return (
    <div ref={box}>
      <VirtualTable
        rows={list.rows}
        keyOf={(row) => row.key}
        rowPx={ROW_PX}
        words={words}
        total={null}
        next={list.next}
      >
        {(row) =>
          row.kind === "issue" ? (
            <IssueRow
              issue={row.issue}
              isSelected={selected.has(row.issue.issue_id)}
              onSelect={(isSelected) => onSelect(row.issue, isSelected)}
            />
          ) : row.kind === "group" ? (
            <GroupHead
              by={row.by}
              group={row.group}
              isOpen={row.isOpen}
              onToggle={() => list.toggle(row.group.group)}
            />
          ) : (
            // biome-ignore lint/a11y/useSemanticElements: rows are placed by the virtual list
            <p role="cell" className="px-3 py-2 text-dim">
              {row.words}
            </p>
          )
        }
      </VirtualTable>
      {list.leftOut > 0 && <p className="px-3 text-xs text-dim">{list.leftOut} more groups: narrow the filters.</p>}
      {list.isPartial && (
        <p className="px-3 text-xs text-dim">There are too many issues to count them all: narrow the filters.</p>
      )}
    </div>
  );
}
