import { lazy, Suspense, useEffect, useRef, useState } from "react";
import type { ReviewRow } from "../../api/generated";
import { keyOf } from "../../keys/bindings";
import { useActiveActions, useKeys } from "../../keys/KeysContext";
import { inertLine } from "../../text/inert";
import { Button } from "../../ui/Button";
import { KeyHint } from "../../ui/KeyHint";
import { Press } from "../../ui/Press";
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
      <Find search={search} onChange={onChange} />
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

const TYPING_MS = 250;

function Find({ search, onChange }: Omit<FilterBarProps, "rows">) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(search.q ?? "");
  const shown = search.q ?? "";
  // What was sent last: the address may also change by Back, or by "Clear the filters".
  const sent = useRef(shown);
  useKeys({ find: () => input.current?.focus() });
  const { run } = useActiveActions();
  useEffect(() => {
    if (shown !== sent.current) {
      sent.current = shown;
      setText(shown);
    }
  }, [shown]);
  const latest = useRef(onChange);
  latest.current = onChange;
  const wanted = text.trim();
  const clear = () => {
    setText("");
    input.current?.focus();
  };
  useEffect(() => {
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      latest.current(withFilter(search, "q", wanted));
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted, search]);
  return (
    <search className="flex min-h-7 w-full items-center gap-2 rounded border border-line-strong bg-bg px-2 focus-within:border-accent sm:w-72">
      <Magnifier />
      <input
        ref={input}
        type="search"
        aria-label="Search by title or number"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key, nativeEvent }) => {
          if (nativeEvent.isComposing || (key !== "Enter" && key !== "ArrowDown")) return;
          // On to the rows.
          nativeEvent.preventDefault();
          run("down");
        }}
        placeholder="Title or number"
        className="min-w-0 grow bg-transparent py-1 text-sm outline-none placeholder:text-dim [&::-webkit-search-cancel-button]:hidden"
      />
      {text === "" ? (
        <span className="text-dim">
          <KeyHint keys={keyOf("find")} />
        </span>
      ) : (
        <Press onPress={clear} aria-label="Clear search" className="rounded-sm px-1 text-dim hover:bg-hover">
          <span aria-hidden="true">✕</span>
        </Press>
      )}
    </search>
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
      <Press
        key={name}
        onPress={() => onChange(withFilter(search, name, null))}
        className="inline-flex min-h-7 items-center gap-2 rounded-full border border-accent bg-accent-bg px-3 hover:bg-hover"
      >
        <span className="sr-only">Remove the filter </span>
        <span className="text-dim">{FILTER_NAMES[name]}</span>
        {inertLine(value, 40)}
        <span aria-hidden="true">✕</span>
      </Press>
    );
  });
}
