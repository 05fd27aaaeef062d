import { useQuery } from "@tanstack/react-query";
import type { RefObject } from "react";
import { Dialog, Popover } from "react-aria-components";
import type { Category, ReviewRow } from "../../api/generated";
import { personas } from "../../personas";
import { proposerOf } from "../../turns";
import { Choice, Suggest } from "../../ui/Choice";
import { projects } from "./queries";
import { CATEGORIES, FILTER_NAMES, type ReviewsSearch, withFilter } from "./search";

interface FilterMenuProps {
  search: ReviewsSearch;
  onChange: (search: ReviewsSearch) => void;
  rows: readonly ReviewRow[];
  /** The button that opened it. */
  trigger: RefObject<HTMLElement | null>;
  onClose: () => void;
}

/** The filters beside text and status, while they are open. */
export function FilterMenu({ trigger, onClose, ...props }: FilterMenuProps) {
  return (
    <Popover
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      triggerRef={trigger}
      placement="bottom start"
      className="w-72 rounded border border-line bg-bg shadow-dialog"
    >
      <Dialog aria-label="Filters" className="flex flex-col gap-3 p-4 outline-none">
        <Filters {...props} />
      </Dialog>
    </Popover>
  );
}

function Filters({ search, onChange, rows }: Omit<FilterMenuProps, "trigger" | "onClose">) {
  const projectNames = useQuery(projects()).data?.projects.map(({ name }) => name) ?? [];
  const personaNames = useQuery(personas()).data?.personas.map(({ name }) => name) ?? [];
  const seen = <T,>(of: (row: ReviewRow) => T | T[] | undefined) =>
    rows.flatMap((row) => of(row) ?? []).filter((value) => value !== undefined);
  return (
    <>
      <Choice
        label={FILTER_NAMES.project}
        value={search.project ?? ""}
        options={named([...projectNames, ...seen((row) => row.project)], search.project)}
        onChange={(value) => onChange(withFilter(search, "project", value))}
      />
      <Suggest
        label={FILTER_NAMES.proposer}
        value={search.proposer ?? ""}
        suggestions={sorted(seen(proposerOf))}
        onChange={(value) => onChange(withFilter(search, "proposer", value))}
      />
      <Choice
        label={FILTER_NAMES.persona}
        value={search.persona ?? ""}
        options={named([...personaNames, ...seen((row) => row.seats?.map((seat) => seat.persona))], search.persona)}
        onChange={(value) => onChange(withFilter(search, "persona", value))}
      />
      <Suggest
        label={FILTER_NAMES.branch}
        value={search.branch ?? ""}
        suggestions={sorted(seen((row) => row.branch))}
        onChange={(value) => onChange(withFilter(search, "branch", value))}
      />
      <Choice
        label={FILTER_NAMES.category}
        value={search.category ?? ""}
        options={CATEGORIES.map((value) => ({ value, label: value.replace("_", " ") }))}
        onChange={(value) => onChange(withFilter(search, "category", value as Category))}
      />
    </>
  );
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort((a, b) => a.localeCompare(b));
}

/** The chosen value stands in the list even if no row on display has it. */
function named(names: readonly string[], chosen: string | undefined) {
  return sorted(chosen === undefined ? names : [...names, chosen]).map((value) => ({ value, label: value }));
}
