import { lazy, Suspense, useRef, useState } from "react";
import type { Answer } from "../../api/client";
import type { Issue, Severity as SeverityName } from "../../api/generated";
import { ActiveFilter } from "../../ui/ActiveFilter";
import { Button } from "../../ui/Button";
import { FindField } from "../../ui/FindField";
import { Options } from "../../ui/Options";
import { SEVERITIES, Severity } from "../../ui/Status";
import { Toggle } from "../../ui/Toggle";
import {
  FILTER_NAMES,
  GROUPS,
  type IssuesSearch,
  STATUSES,
  severitiesOf,
  statusesOf,
  TEXT_FILTERS,
  withFilter,
} from "./search";

/** Its lists and popovers are loaded when the pointer or the focus comes near. */
const loadMenu = () => import("./IssueFilterMenu").then(({ IssueFilterMenu }) => ({ default: IssueFilterMenu }));
const IssueFilterMenu = lazy(loadMenu);
const preloadMenu = () => void loadMenu().catch(() => {});

export interface IssueFiltersProps {
  search: IssuesSearch;
  onChange: (search: IssuesSearch) => void;
  /** By status, under the other filters. */
  counts: Answer<"count_issues"> | null;
  /** The issues on display, for suggestions. */
  issues: readonly Issue[];
}

const tab =
  "inline-flex min-h-7 items-center gap-1 rounded-full border border-line px-3 whitespace-nowrap text-dim hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg data-selected:font-medium data-selected:text-text";
const box =
  "inline-flex min-h-7 items-center rounded border border-line px-3 font-medium hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg";

export function IssueFilters(props: IssueFiltersProps) {
  const { search, onChange } = props;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <FindField
          label="Search in issues"
          placeholder="Words of an issue"
          value={search.q ?? ""}
          onChange={(q) => onChange(withFilter(search, "q", q))}
        />
        <Toggle
          isSelected={search.blocks === "yes"}
          onChange={(isOn) => onChange(withFilter(search, "blocks", isOn ? "yes" : null))}
          className={box}
        >
          Blocking
        </Toggle>
        <Toggle
          isSelected={search.reviews === "all"}
          onChange={(isOn) => onChange(withFilter(search, "reviews", isOn ? "all" : null))}
          className={box}
        >
          Ended reviews too
        </Toggle>
        <More {...props} />
        <Active search={search} onChange={onChange} />
      </div>
      <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
        <StatusToggles {...props} />
        <SeverityToggles search={search} onChange={onChange} />
        <Options
          label="Group by"
          value={search.group ?? "none"}
          options={(["none", ...GROUPS] as const).map((key) => ({ key, label: key === "persona" ? "seat" : key }))}
          onChange={(group) => onChange(withFilter(search, "group", group === "none" ? null : group))}
        />
      </div>
    </div>
  );
}

function StatusToggles({ search, onChange, counts }: IssueFiltersProps) {
  const chosen = statusesOf(search);
  const choose = (status: (typeof STATUSES)[number], isOn: boolean) => {
    const next = STATUSES.filter((one) => (one === status ? isOn : chosen.length === 0 || chosen.includes(one)));
    const isAny = next.length === 0 || next.length === STATUSES.length;
    onChange(withFilter(search, "status", isAny ? "any" : next.join(",") === "open" ? null : next.join(",")));
  };
  return (
    <fieldset aria-label="Status" className="flex min-w-0 flex-wrap gap-1">
      {STATUSES.map((status) => (
        <Toggle
          key={status}
          isSelected={chosen.length === 0 || chosen.includes(status)}
          onChange={(isOn) => choose(status, isOn)}
          className={tab}
        >
          {status.replace("_", " ").replace("wont", "won't")}{" "}
          <span className="text-dim tabular-nums">
            {counts?.groups.find(({ group }) => group === status)?.issues.toLocaleString("en") ?? (counts && 0)}
          </span>
        </Toggle>
      ))}
    </fieldset>
  );
}

function SeverityToggles({ search, onChange }: Pick<IssueFiltersProps, "search" | "onChange">) {
  const folded: readonly SeverityName[] = ["critical", "high", "medium"];
  const chosen = search.severity === undefined ? folded : severitiesOf(search);
  const choose = (severity: SeverityName, isOn: boolean) => {
    const next = SEVERITIES.filter((one) => (one === severity ? isOn : chosen.includes(one)));
    const isFirst = next.length === 0 || next.join(",") === folded.join(",");
    onChange(withFilter(search, "severity", isFirst ? null : next.join(",")));
  };
  return (
    <fieldset aria-label="Severity" className="flex min-w-0 flex-wrap gap-1">
      {SEVERITIES.map((severity) => (
        <Toggle
          key={severity}
          isSelected={chosen.includes(severity)}
          onChange={(isOn) => choose(severity, isOn)}
          className={tab}
        >
          <Severity severity={severity} />
        </Toggle>
      ))}
    </fieldset>
  );
}

function More(props: IssueFiltersProps) {
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
          <IssueFilterMenu {...props} trigger={trigger} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The filters of the menu that are in force, each with a button that removes it. */
function Active({ search, onChange }: Pick<IssueFiltersProps, "search" | "onChange">) {
  return ([...TEXT_FILTERS, "type"] as const).map((name) => {
    const value = search[name];
    if (value === undefined) return null;
    const remove = () => onChange(withFilter(search, name, null));
    return <ActiveFilter key={name} name={FILTER_NAMES[name]} value={value.replace("_", " ")} onRemove={remove} />;
  });
}
