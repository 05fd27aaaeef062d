import { useQuery } from "@tanstack/react-query";
import { inertLine } from "../../text/inert";
import { Toggle } from "../../ui/Toggle";
import { projects } from "./queries";
import { PERIOD_WORDS, PERIODS, periodOf, type StatsSearch } from "./search";

interface PeriodBarProps {
  search: StatsSearch;
  onChange: (search: StatsSearch) => void;
}

/** The period, and the project if there are several. */
export function PeriodBar({ search, onChange }: PeriodBarProps) {
  const { period: _, ...rest } = search;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <fieldset className="flex rounded border border-line">
        <legend className="sr-only">Period</legend>
        {PERIODS.map((period) => (
          <Toggle
            key={period}
            isSelected={periodOf(search) === period}
            onChange={() => onChange(period === "30d" ? rest : { ...rest, period })}
            className="min-h-7 rounded px-3 hover:bg-hover data-selected:bg-accent-bg data-selected:font-semibold"
          >
            {PERIOD_WORDS[period]}
          </Toggle>
        ))}
      </fieldset>
      <ProjectChoice search={search} onChange={onChange} />
      <span className="text-xs text-dim">Reviews submitted in this time, by days in UTC</span>
    </div>
  );
}

function ProjectChoice({ search, onChange }: PeriodBarProps) {
  const names = useQuery(projects()).data?.projects.map(({ name }) => name) ?? [];
  const { project, ...rest } = search;
  const all = project === undefined || names.includes(project) ? names : [...names, project];
  if (all.length < 2 && project === undefined) return null;
  return (
    <label className="flex items-center gap-2">
      Project
      <select
        value={project ?? ""}
        onChange={({ target }) => onChange(target.value === "" ? rest : { ...rest, project: target.value })}
        className="min-h-7 rounded border border-line-strong bg-bg px-2"
      >
        <option value="">all</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {inertLine(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
