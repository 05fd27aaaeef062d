import { useQuery } from "@tanstack/react-query";
import type { RefObject } from "react";
import { Dialog, Popover } from "react-aria-components";
import { call } from "../../api/client";
import type { FindingKind, Issue } from "../../api/generated";
import { keys } from "../../api/keys";
import { Choice, Suggest } from "../../ui/Choice";
import type { IssueFiltersProps } from "./IssueFilters";
import { FILTER_NAMES, KINDS, TEXT_FILTERS, type TextFilter, withFilter } from "./search";

interface IssueFilterMenuProps extends IssueFiltersProps {
  /** The button that opened it. */
  trigger: RefObject<HTMLElement | null>;
  onClose: () => void;
}

/** The filters beside text, status and severity, while they are open. */
export function IssueFilterMenu({ trigger, onClose, search, onChange, issues }: IssueFilterMenuProps) {
  const { data } = useQuery({
    queryKey: keys.projects,
    queryFn: ({ signal }) => call("list_projects", {}, { signal }),
  });
  const seen: Record<TextFilter, readonly string[]> = {
    project: data?.projects.map(({ name }) => name) ?? [],
    persona: valuesOf(issues, (issue) => issue.persona),
    reviewer: valuesOf(issues, (issue) => issue.reviewer_id),
    file: valuesOf(issues, (issue) => issue.file),
    review: valuesOf(issues, (issue) => issue.number),
  };
  return (
    <Popover
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      triggerRef={trigger}
      placement="bottom start"
      className="w-72 rounded border border-line bg-bg shadow-dialog"
    >
      <Dialog aria-label="Filters" className="flex flex-col gap-3 p-4 outline-none">
        {TEXT_FILTERS.map((name) => (
          <Suggest
            key={name}
            label={FILTER_NAMES[name]}
            value={search[name] ?? ""}
            suggestions={seen[name]}
            onChange={(value) => onChange(withFilter(search, name, value))}
          />
        ))}
        <Choice
          label={FILTER_NAMES.type}
          value={search.type ?? ""}
          options={KINDS.map((value) => ({ value, label: value.replace("_", " ") }))}
          onChange={(value) => onChange(withFilter(search, "type", value as FindingKind))}
        />
      </Dialog>
    </Popover>
  );
}

function valuesOf(issues: readonly Issue[], of: (issue: Issue) => string | undefined): string[] {
  const values = issues.map(of).filter((value): value is string => value !== undefined);
  return [...new Set(values)].sort((a, b) => a.localeCompare(b));
}
