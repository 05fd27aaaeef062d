import { type Stats, tilesOf } from "./model";
import { PERIOD_WORDS, type PeriodName } from "./search";

interface TilesProps {
  stats: Stats;
  before: Stats | null;
  period: PeriodName;
}

/** The figures of the period, and how they changed against the one before. */
export function Tiles({ stats, before, period }: TilesProps) {
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
      {tilesOf(stats, before).map(({ label, value, details, change }) => (
        <div key={label} className="flex min-w-0 flex-col rounded border border-line p-3">
          <dt className="text-xs text-dim">{label}</dt>
          <dd className="text-lg font-semibold tabular-nums">{value}</dd>
          {details !== undefined && <dd className="text-xs text-dim">{details}</dd>}
          {change !== null && (
            <dd className="mt-1 text-xs">
              {change} <span className="text-dim">to the {PERIOD_WORDS[period]} before</span>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
