import { lazy, Suspense, useRef, useState } from "react";
import type { ReviewRow } from "../../api/generated";
import { ActiveFilter } from "../../ui/ActiveFilter";
import { Button } from "../../ui/Button";
import { FindField } from "../../ui/FindField";
import { Toggle } from "../../ui/Toggle";
import { FILTER_NAMES, type MenuFilter, type ReviewsSearch, TEXT_FILTERS, withFilter } from "./search";

/** Its lists and popovers are loaded when the pointer or the focus comes near. */
const loadMenu = () => import("./FilterMenu").then(({ FilterMenu }) => ({ default: FilterMenu }));
const FilterMenu = lazy(loadMenu);
const preloadMenu = () => void loadMenu().catch(() => {});

interface FilterBarProps {
  search: ReviewsSearch;
  onChange: (search: ReviewsSearch) => void;
  /** The rows on display, for suggestions. */
  rows: readonly ReviewRow[];
}

export function FilterBar({ search, onChange, rows }: FilterBarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <FindField
        label="Search by title or number"
        placeholder="Title or number"
        value={search.q ?? ""}
        onChange={(q) => onChange(withFilter(search, "q", q))}
      />
      <Toggle
        isSelected={search.turn === "me"}
        onChange={(isOn) => onChange(withFilter(search, "turn", isOn ? "me" : null))}
        className="inline-flex min-h-7 items-center rounded border border-line px-3 font-medium hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg"
      >
        My turn
      </Toggle>
      <Filter search={search} onChange={onChange} rows={rows} />
      <ActiveFilters search={search} onChange={onChange} />
    </div>
  );
}

function Filter(props: FilterBarProps) {
  const [isOpen, setOpen] = useState(false);
  const trigger = useRef<HTMLButtonElement>(null);
  return (
    <>
      <Button
        ref={trigger}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPointerEnter={preloadMenu}
        onFocus={preloadMenu}
        onPress={() => setOpen(!isOpen)}
      >
        Filter
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <FilterMenu {...props} trigger={trigger} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The filters of the menu that are in force, each with a button that removes it. */
function ActiveFilters({ search, onChange }: Omit<FilterBarProps, "rows">) {
  const names: MenuFilter[] = [...TEXT_FILTERS, "category"];
  return names.map((name) => {
    const value = search[name];
    if (value === undefined) return null;
    return (
      <ActiveFilter
        key={name}
        name={FILTER_NAMES[name]}
        value={value}
        onRemove={() => onChange(withFilter(search, name, null))}
      />
    );
  });
}
