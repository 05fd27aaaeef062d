import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Button, Input, SearchField, ToggleButton } from "react-aria-components";
import type { ReviewRow } from "../../api/generated";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { inertLine } from "../../text/inert";
import { Button as PlainButton } from "../../ui/Button";
import { KeyHint } from "../../ui/KeyHint";
import { FILTER_NAMES, type MenuFilter, type ReviewsSearch, TEXT_FILTERS, withFilter } from "./search";

/** Its lists and popovers are not needed to show the first rows. */
const FilterMenu = lazy(() => import("./FilterMenu").then(({ FilterMenu }) => ({ default: FilterMenu })));

interface FilterBarProps {
  search: ReviewsSearch;
  onChange: (search: ReviewsSearch) => void;
  /** The rows on display, for suggestions. */
  rows: readonly ReviewRow[];
}

export function FilterBar({ search, onChange, rows }: FilterBarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Find search={search} onChange={onChange} />
      <ToggleButton
        isSelected={search.turn === "me"}
        onChange={(isOn) => onChange(withFilter(search, "turn", isOn ? "me" : null))}
        className="inline-flex min-h-7 items-center rounded border border-line px-3 font-medium hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg"
      >
        My turn
      </ToggleButton>
      <Suspense fallback={<PlainButton isDisabled>Filter</PlainButton>}>
        <FilterMenu search={search} onChange={onChange} rows={rows} />
      </Suspense>
      <ActiveFilters search={search} onChange={onChange} />
    </div>
  );
}

const TYPING_MS = 250;

function Find({ search, onChange }: Omit<FilterBarProps, "rows">) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(search.q ?? "");
  const shown = search.q ?? "";
  // What was sent last: the address may also change by Back, or by "Clear the filters".
  const sent = useRef(shown);
  useKeys({ find: () => input.current?.focus() });
  useEffect(() => {
    if (shown !== sent.current) {
      sent.current = shown;
      setText(shown);
    }
  }, [shown]);
  const latest = useRef(onChange);
  latest.current = onChange;
  const wanted = text.trim();
  useEffect(() => {
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      latest.current(withFilter(search, "q", wanted));
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted, search]);
  return (
    <SearchField
      aria-label="Search by title or number"
      value={text}
      onChange={setText}
      className="group flex min-h-7 w-full items-center gap-2 rounded border border-line-strong bg-bg px-2 focus-within:border-accent sm:w-72"
    >
      <Magnifier />
      <Input
        ref={input}
        placeholder="Title or number"
        className="min-w-0 grow bg-transparent py-1 text-sm outline-none placeholder:text-dim [&::-webkit-search-cancel-button]:hidden"
      />
      <Button className="rounded-sm px-1 text-dim group-data-empty:hidden hover:bg-hover">
        <span aria-hidden="true">✕</span>
      </Button>
      <span className="hidden text-dim group-data-empty:inline">
        <KeyHint keys={keyOf("find")} />
      </span>
    </SearchField>
  );
}

function Magnifier() {
  return (
    <svg aria-hidden="true" viewBox="0 0 16 16" className="size-4 shrink-0 fill-none stroke-dim stroke-2">
      <circle cx="7" cy="7" r="4.5" />
      <path d="M10.5 10.5 14 14" />
    </svg>
  );
}

/** The filters of the menu that are in force, each with a button that removes it. */
function ActiveFilters({ search, onChange }: Omit<FilterBarProps, "rows">) {
  const names: MenuFilter[] = [...TEXT_FILTERS, "category"];
  return names.map((name) => {
    const value = search[name];
    if (value === undefined) return null;
    return (
      <Button
        key={name}
        onPress={() => onChange(withFilter(search, name, null))}
        className="inline-flex min-h-7 items-center gap-2 rounded-full border border-accent bg-accent-bg px-3 hover:bg-hover"
      >
        <span className="sr-only">Remove the filter </span>
        <span className="text-dim">{FILTER_NAMES[name]}</span>
        {inertLine(value, 40)}
        <span aria-hidden="true">✕</span>
      </Button>
    );
  });
}
