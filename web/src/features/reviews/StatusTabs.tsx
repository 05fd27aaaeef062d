import type { Answer } from "../../api/client";
import type { Status } from "../../api/generated";
import { statusGlyph, statusWord } from "../../ui/Status";
import { Toggle } from "../../ui/Toggle";
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
  const choose = (wanted: (status: Status) => boolean) => onChange(withStatuses(search, STATUSES.filter(wanted)));
  return (
    <fieldset
      aria-label="Status"
      className="-mx-4 flex min-w-0 gap-1 overflow-x-auto px-4 py-1 md:mx-0 md:flex-wrap md:px-0"
    >
      <Toggle isSelected={chosen.length === 0} onChange={() => choose(() => false)} className={tab}>
        all <Count of={all} />
      </Toggle>
      {STATUSES.map((status) => (
        <Toggle
          key={status}
          isSelected={chosen.includes(status)}
          onChange={(isOn) => choose((one) => (one === status ? isOn : chosen.includes(one)))}
          className={tab}
        >
          <span aria-hidden="true">{statusGlyph(status)}</span> {statusWord(status)}{" "}
          <Count of={counts?.by_status[status] ?? null} />
        </Toggle>
      ))}
    </fieldset>
  );
}

function Count({ of }: { of: number | null }) {
  return of === null ? null : <span className="text-dim tabular-nums">{of.toLocaleString("en")}</span>;
}
