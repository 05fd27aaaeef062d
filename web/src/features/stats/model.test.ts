import { describe, expect, test } from "vitest";
import { change, changeOfRate, type Daily, type Day, everyDay, money, periodBefore, periodFrom } from "./model";
import { parseStatsSearch } from "./search";
import { dayFigures, dayText, fateRows, topOf } from "./series";

const NOW = Date.parse("2026-11-19T23:59:59Z");

function day(name: string, more: Partial<Day> = {}): Day {
  const none = { count: 0 };
  return {
    day: name,
    reviews: 3,
    approved: 1,
    rejected: 1,
    cancelled: 0,
    rounds_mean: 1,
    time_to_verdict: none,
    time_to_decision: { count: 2, p50_ms: 60_000, p90_ms: 120_000, p95_ms: 120_000 },
    verdicts: 2,
    issues_by_severity: { high: 1, low: 2 },
    issues_by_fate: {},
    ...more,
  };
}

const daily = (...days: Day[]): Daily => ({ days, more_days: 0, more_personas: 0 });

describe("periods", () => {
  test("are whole days with today, and the one before ends where they begin", () => {
    expect(periodFrom("7d", NOW)).toEqual({ since: "2026-11-13" });
    expect(periodBefore("7d", NOW)).toEqual({ since: "2026-11-06", until: "2026-11-13" });
    expect(periodFrom("all", NOW)).toEqual({});
    expect(periodBefore("all", NOW)).toBeNull();
  });

  test("an address that is not understood means 30 days by persona", () => {
    expect(parseStatsSearch({ period: "year", by: 3, project: {} })).toEqual({});
    expect(parseStatsSearch({ period: "30d", by: "persona" })).toEqual({});
    expect(parseStatsSearch({ period: "7d", by: "reviewer", project: 7 })).toEqual({
      period: "7d",
      by: "reviewer",
      project: "7",
    });
  });
});

describe("days", () => {
  test("without reviews are filled in", () => {
    const days = everyDay("7d", daily(day("2026-11-14"), day("2026-11-18")), NOW);
    expect(days.map(({ day: name, figures }) => [name.slice(-2), figures !== null])).toEqual([
      ["13", false],
      ["14", true],
      ["15", false],
      ["16", false],
      ["17", false],
      ["18", true],
      ["19", false],
    ]);
  });

  test("of all time are those from the first review to the last, at most 100", () => {
    expect(everyDay("all", daily(day("2026-11-17"), day("2026-11-18")), NOW)).toHaveLength(2);
    expect(everyDay("all", daily(day("2020-01-01"), day("2026-11-18")), NOW)).toHaveLength(100);
    expect(everyDay("all", daily(day("2020-01-01"), day("2020-01-03")), NOW)).toHaveLength(3);
    expect(everyDay("all", daily(), NOW)).toHaveLength(1);
  });
});

test("a chart counts what is known, and an unknown cost is a dash", () => {
  const [outcomes, decision, , severities, cost] = dayFigures("7d", daily(day("2026-11-18")), NOW);
  if (outcomes === undefined || decision === undefined || severities === undefined || cost === undefined) throw Error();
  expect(dayText(outcomes, 5)).toBe("18 Nov: approved 1, rejected 1, cancelled 0, not decided 1");
  expect(dayText(decision, 5)).toBe("18 Nov: median 1 min, 90 % 2 min, 95 % 2 min");
  expect(dayText(decision, 4)).toBe("17 Nov: median —, 90 % —, 95 % —");
  expect(dayText(cost, 5)).toBe("18 Nov: cost —");
  expect([topOf(outcomes), topOf(decision), topOf(severities), topOf(cost)]).toEqual([3, 120_000, 3, 0]);
  expect(money(0)).toBe("$0.00");
});

test("fates are listed by severity, without empty rows", () => {
  const issues = {
    total: 3,
    by_severity: {},
    by_status: {},
    fates: { low: { fixed: 1 }, critical: { open: 2 } },
    disputes: { total: 0, upheld: 0, rejected: 0 },
    suggestions: 0,
  };
  expect(fateRows(issues)).toEqual([
    { severity: "critical", counts: [0, 0, 0, 0, 2] },
    { severity: "low", counts: [1, 0, 0, 0, 0] },
  ]);
});

test("changes are said in percent or points", () => {
  expect(change(15, 10)).toBe("+50 %");
  expect(change(5, 10)).toBe("−50 %");
  expect(change(10, 10)).toBe("unchanged");
  expect(change(10, 0)).toBeNull();
  expect(change(undefined, 3)).toBeNull();
  expect(changeOfRate(0.5, 0.25)).toBe("+25 points");
  expect(changeOfRate(0.5, undefined)).toBeNull();
});
