import { Name } from "../../text/UserText";
import { DayChart } from "./DayChart";
import { DayTable } from "./DayTable";
import { FateFigure } from "./FateFigure";
import { Figure } from "./Figure";
import { count, type Daily, type Stats } from "./model";
import type { PeriodName } from "./search";
import { type DayFigures, dayFigures, personaFigures } from "./series";

interface ChartsProps {
  stats: Stats;
  daily: Daily;
  period: PeriodName;
  nowMs: number;
}

/** A chart for each question, each with its table. */
export function Charts({ stats, daily, period, nowMs }: ChartsProps) {
  const personas = personaFigures(period, daily, nowMs);
  return (
    <div className="grid grid-cols-1 gap-3 lg:grid-cols-2">
      {dayFigures(period, daily, nowMs).map((figures) => (
        <Figure
          key={figures.title}
          title={figures.title}
          legend={figures.series.map(({ name, look }) => [name, look])}
          chart={<DayChart figures={figures} />}
          table={<DayTable figures={figures} />}
        />
      ))}
      <FateFigure issues={stats.issues} />
      {personas.length > 0 && (
        <Figure
          title="Verdicts by persona"
          legend={[]}
          chart={<PersonaCharts all={personas} more={daily.more_personas} />}
          table={<DayTable figures={together(personas)} />}
        />
      )}
    </div>
  );
}

function PersonaCharts({ all, more }: { all: readonly DayFigures[]; more: number }) {
  return (
    <ul className="flex flex-col gap-3">
      {all.map((figures) => (
        <li key={figures.title}>
          <p className="text-sm font-medium">
            <Name>{figures.title}</Name>
          </p>
          <DayChart figures={figures} isSmall />
        </li>
      ))}
      {more > 0 && <li className="text-xs text-dim">and {count(more)} more</li>}
    </ul>
  );
}

/** The charts of all personas as one table. */
function together(all: readonly DayFigures[]): DayFigures {
  const series = all.flatMap(({ title, series: own }) => own.map((each) => ({ ...each, name: title })));
  return { title: "Verdicts by persona", kind: "stacked", days: all[0]?.days ?? [], series, format: count };
}
