// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
import { type DayFigures, dayWords } from "./series";

/** The numbers of a chart, the latest day first. */
export function DayTable({ figures: { title, days, series, format } }: { figures: DayFigures }) {
  const words = (value: number | null | undefined) => (value === null || value === undefined ? "—" : format(value));
  return (
    <section className="max-h-72 overflow-auto" tabIndex={0} aria-label={`${title} by day`}>
      <table className="w-full text-sm tabular-nums">
        <thead className="text-left text-dim">
          <tr>
            <th scope="col" className="pr-3 font-medium">
              Day
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="pr-3 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...days.keys()].reverse().map((index) => (
            <tr key={days[index]} className="border-t border-line">
              <th scope="row" className="pr-3 text-left font-normal whitespace-nowrap">
                {dayWords(days[index] ?? "")}
              </th>
              {series.map(({ name, values }) => (
                <td key={name} className="pr-3 text-right">
                  {words(values[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
