import { type Key, ToggleButton, ToggleButtonGroup } from "react-aria-components";
import type { Answer } from "../../api/client";
import type { Status } from "../../api/generated";
import { statusGlyph, statusWord } from "../../ui/Status";
import { type ReviewsSearch, STATUSES, statusesOf, withStatuses } from "./search";

interface StatusTabsProps {
  search: ReviewsSearch;
  counts: Answer<"count_reviews"> | null;
  onChange: (search: ReviewsSearch) => void;
}

const tab =
  "inline-flex min-h-7 items-center gap-1 rounded-full border border-line px-3 whitespace-nowrap text-dim hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg data-selected:font-medium data-selected:text-text";

/** The statuses with their numbers. Several can be chosen; "all" removes the choice. */
export function StatusTabs({ search, counts, onChange }: StatusTabsProps) {
  const chosen = statusesOf(search);
  const all = counts === null ? null : Object.values(counts.by_status).reduce((sum, count) => sum + count, 0);
  const select = (keys: Set<Key>) => {
    const wantsAll = keys.has("all") && chosen.length > 0;
    onChange(withStatuses(search, wantsAll ? [] : STATUSES.filter((status) => keys.has(status))));
  };
  return (
    <ToggleButtonGroup
      aria-label="Status"
      selectionMode="multiple"
      selectedKeys={chosen.length === 0 ? ["all"] : chosen}
      onSelectionChange={select}
      className="-mx-4 flex gap-1 overflow-x-auto px-4 py-1 md:mx-0 md:flex-wrap md:px-0"
    >
      <ToggleButton id="all" className={tab}>
        all <Count of={all} />
      </ToggleButton>
      {STATUSES.map((status) => (
        <ToggleButton key={status} id={status} className={tab}>
          <span aria-hidden="true">{statusGlyph(status)}</span> {statusWord(status)}{" "}
          <Count of={counts?.by_status[status as Status] ?? null} />
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}

function Count({ of }: { of: number | null }) {
  return of === null ? null : <span className="text-dim tabular-nums">{of.toLocaleString("en")}</span>;
}
