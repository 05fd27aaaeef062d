import { Toggle } from "../../ui/Toggle";
import { type LogSearch, type LogView, viewOf, withView } from "./search";

const VIEWS: readonly (readonly [LogView, string])[] = [
  ["activity", "Activity"],
  ["audit", "Audit log"],
];

/** The important events in words, or every event with its facts. */
export function ViewSwitch({ search, onChange }: { search: LogSearch; onChange: (search: LogSearch) => void }) {
  return (
    <fieldset className="flex rounded border border-line">
      <legend className="sr-only">Events to show</legend>
      {VIEWS.map(([view, label]) => (
        <Toggle
          key={view}
          isSelected={viewOf(search) === view}
          onChange={() => onChange(withView(search, view))}
          className="min-h-7 rounded px-3 hover:bg-hover data-selected:bg-accent-bg data-selected:font-semibold"
        >
          {label}
        </Toggle>
      ))}
    </fieldset>
  );
}
