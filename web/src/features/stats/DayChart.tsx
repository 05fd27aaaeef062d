import { type PointerEvent, useState } from "react";
import { type DayFigures, dayText, dayWords, type Series, topOf } from "./series";

/** The drawing is stretched to its place; a day is one unit wide. */
const HEIGHT = 100;
const GAP = 0.15;

/** Numbers by day as bars or lines. A day is chosen with the pointer, or with the slider below. */
export function DayChart({ figures, isSmall = false }: { figures: DayFigures; isSmall?: boolean }) {
  const { days, title } = figures;
  const [chosen, setChosen] = useState(days.length - 1);
  const index = Math.min(chosen, days.length - 1);
  const top = topOf(figures);
  const follow = (event: PointerEvent<SVGSVGElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setChosen(Math.max(0, Math.min(days.length - 1, Math.floor(((event.clientX - left) / width) * days.length))));
  };
  return (
    <div className="flex flex-col">
      {!isSmall && (
        <p aria-hidden="true" className="text-xs text-dim tabular-nums">
          {figures.format(top)}
        </p>
      )}
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${days.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        onPointerMove={follow}
        onPointerDown={follow}
        className={`w-full border-b border-line-strong ${isSmall ? "h-10" : "h-36"}`}
      >
        <rect x={index} y={0} width={1} height={HEIGHT} className="chart-day" />
        {figures.kind === "stacked" ? <Bars figures={figures} top={top} /> : <Lines figures={figures} top={top} />}
      </svg>
      <input
        type="range"
        aria-label={`Day of ${title}`}
        aria-valuetext={dayText(figures, index)}
        min={0}
        max={days.length - 1}
        value={index}
        onChange={({ target }) => setChosen(Number(target.value))}
        className="chart-slider w-full"
      />
      <p className="flex flex-wrap justify-between gap-x-3 text-xs text-dim tabular-nums">
        <span className="text-text">{dayText(figures, index)}</span>
        {!isSmall && (
          <span aria-hidden="true">
            {dayWords(days[0] ?? "")} to {dayWords(days.at(-1) ?? "")}
          </span>
        )}
      </p>
    </div>
  );
}

function heightOf(value: number | null | undefined, top: number): number {
  return value === null || value === undefined || top === 0 ? 0 : (value / top) * HEIGHT;
}

function Bars({ figures: { days, series }, top }: { figures: DayFigures; top: number }) {
  return days.map((day, index) => {
    let below = 0;
    return series.map(({ name, look, values }, part) => {
      const height = heightOf(values[index], top);
      below += height;
      return (
        height > 0 && (
          <rect
            key={`${day} ${name}`}
            x={index + GAP / 2}
            y={HEIGHT - below}
            width={1 - GAP}
            height={height}
            className={`chart-part chart-${look}`}
            data-part={part}
          />
        )
      );
    });
  });
}

function Lines({ figures: { series }, top }: { figures: DayFigures; top: number }) {
  return series.map((each, part) => (
    <g key={each.name} className={`chart-line chart-${each.look}`} data-part={part}>
      {stretches(each).map((points) => (
        <polyline
          key={points[0]?.[0]}
          vectorEffect="non-scaling-stroke"
          points={points.map(([x, value]) => `${x},${HEIGHT - heightOf(value, top)}`).join(" ")}
        />
      ))}
    </g>
  ));
}

/** The points between gaps. A day alone becomes a short line. */
function stretches({ values }: Series): [x: number, value: number][][] {
  const all: [number, number][][] = [];
  let current: [number, number][] = [];
  for (const [index, value] of values.entries()) {
    if (value === null) {
      if (current.length > 0) all.push(current);
      current = [];
    } else current.push([index + 0.5, value]);
  }
  if (current.length > 0) all.push(current);
  return all.map((points) => {
    const [only] = points;
    if (points.length > 1 || only === undefined) return points;
    return [
      [only[0] - 0.4, only[1]],
      [only[0] + 0.4, only[1]],
    ];
  });
}
