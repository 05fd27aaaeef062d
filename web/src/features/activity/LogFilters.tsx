import { lazy, Suspense, useRef, useState } from "react";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { inertLine } from "../../text/inert";
import { Button } from "../../ui/Button";
import { KeyHint } from "../../ui/KeyHint";
import { Press } from "../../ui/Press";
import { kindWords, type LogRow } from "./model";
import { FILTER_NAMES, kindsOf, type LogSearch, TEXT_FILTERS, withFilter } from "./search";

/** Its lists and popovers are loaded when the pointer or the focus comes near. */
const loadMenu = () => import("./LogFilterMenu").then(({ LogFilterMenu }) => ({ default: LogFilterMenu }));
const LogFilterMenu = lazy(loadMenu);
const preloadMenu = () => void loadMenu().catch(() => {});

interface LogFiltersProps {
  search: LogSearch;
  onChange: (search: LogSearch) => void;
  /** The rows on display, for suggestions. */
  rows: readonly LogRow[];
}

/** The button of the filters, and those in force. */
export function LogFilters(props: LogFiltersProps) {
  const [isOpen, setOpen] = useState(false);
  const trigger = useRef<HTMLButtonElement>(null);
  useKeys({ find: () => setOpen(true) });
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
        Filter <KeyHint keys={keyOf("find")} />
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <LogFilterMenu {...props} trigger={trigger} onClose={() => setOpen(false)} />
        </Suspense>
      )}
      <ActiveFilters {...props} />
    </>
  );
}

/** The filters in force, each with a button that removes it. */
function ActiveFilters({ search, onChange }: Omit<LogFiltersProps, "rows">) {
  const names = [...TEXT_FILTERS, "kind" as const];
  return names.map((name) => {
    const value = name === "kind" ? kindsOf(search).map(kindWords).join(", ") : search[name];
    if (value === undefined || value === "") return null;
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
