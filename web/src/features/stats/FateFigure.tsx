import { type SEVERITIES, Severity } from "../../ui/Status";
import { Figure } from "./Figure";
import { count, type Stats } from "./model";
import { FATE_WORDS, FATES, fateRows } from "./series";

/** What has become of the issues of each severity. */
export function FateFigure({ issues }: { issues: Stats["issues"] }) {
  const rows = fateRows(issues);
  if (rows.length === 0) return null;
  return (
    <Figure
      title="What became of issues"
      legend={FATES.map((fate) => FATE_WORDS[fate])}
      chart={<FateBars rows={rows} />}
      table={<FateTable rows={rows} />}
    />
  );
}

interface Row {
  severity: (typeof SEVERITIES)[number];
  counts: number[];
}

function FateBars({ rows }: { rows: readonly Row[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {rows.map(({ severity, counts }) => (
        <li key={severity} className="flex flex-col gap-1">
          <p className="flex flex-wrap justify-between gap-x-3 text-xs">
            <Severity severity={severity} />
            <span className="text-dim tabular-nums">{fateWords(counts)}</span>
          </p>
          <Bar counts={counts} />
        </li>
      ))}
    </ul>
  );
}

function fateWords(counts: readonly number[]): string {
  const parts = FATES.map((fate, index) => [FATE_WORDS[fate][0], counts[index] ?? 0] as const);
  return parts
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${count(number)} ${name}`)
    .join(", ");
}

function Bar({ counts }: { counts: readonly number[] }) {
  const total = counts.reduce((sum, each) => sum + each, 0);
  let left = 0;
  return (
    <svg aria-hidden="true" viewBox={`0 0 ${total} 1`} preserveAspectRatio="none" className="h-3 w-full rounded-sm">
      {FATES.map((fate, index) => {
        const width = counts[index] ?? 0;
        left += width;
        return (
          width > 0 && (
            <rect
              key={fate}
              x={left - width}
              width={width}
              height={1}
              className={`chart-part chart-${FATE_WORDS[fate][1]}`}
              data-part={index}
            />
          )
        );
      })}
    </svg>
  );
}

function FateTable({ rows }: { rows: readonly Row[] }) {
  return (
    <table className="w-full text-sm tabular-nums">
      <thead className="text-left text-dim">
        <tr>
          <th scope="col" className="font-medium">
            Severity
          </th>
          {FATES.map((fate) => (
            <th key={fate} scope="col" className="pl-3 text-right font-medium">
              {FATE_WORDS[fate][0]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ severity, counts }) => (
          <tr key={severity} className="border-t border-line">
            <th scope="row" className="text-left font-normal">
              <Severity severity={severity} />
            </th>
            {FATES.map((fate, index) => (
              <td key={fate} className="pl-3 text-right">
                {count(counts[index] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
