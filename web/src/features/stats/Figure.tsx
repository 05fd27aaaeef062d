import { type ReactNode, useId, useState } from "react";
import { Toggle } from "../../ui/Toggle";
import type { Look } from "./series";

interface FigureProps {
  title: string;
  /** The parts of the chart, in their order. */
  legend: readonly (readonly [name: string, look: Look])[];
  chart: ReactNode;
  table: ReactNode;
}

/** A chart, or the same numbers as a table. */
export function Figure({ title, legend, chart, table }: FigureProps) {
  const [isTable, setTable] = useState(false);
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col gap-2 rounded border border-line p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        <div className="grow" />
        <Toggle
          isSelected={isTable}
          onChange={setTable}
          aria-label={`${title} as a table`}
          className="rounded border border-line px-2 text-xs hover:bg-hover data-selected:border-accent data-selected:bg-accent-bg"
        >
          Table
        </Toggle>
      </div>
      {!isTable && <Legend parts={legend} />}
      {isTable ? table : chart}
    </section>
  );
}

function Legend({ parts }: { parts: FigureProps["legend"] }) {
  if (parts.length < 2) return null;
  return (
    <ul className="flex flex-wrap gap-x-3 text-xs text-dim">
      {parts.map(([name, look], index) => (
        <li key={name} className="flex items-center gap-1">
          <svg aria-hidden="true" viewBox="0 0 10 10" className="size-2.5">
            <rect width="10" height="10" className={`chart-part chart-${look}`} data-part={index} />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}
