/** The period of the statistics and what divides them, as they stand in the address. */

export const PERIODS = ["7d", "30d", "90d", "all"] as const;
export type PeriodName = (typeof PERIODS)[number];

export const PERIOD_WORDS = {
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  all: "All",
} as const satisfies Record<PeriodName, string>;

export const DIVISIONS = ["persona", "reviewer", "category"] as const;
export type Division = (typeof DIVISIONS)[number];

export interface StatsSearch {
  /** 30 days without it. */
  period?: PeriodName;
  /** Personas without it. */
  by?: Division;
  project?: string;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseStatsSearch({ period, by, project }: Record<string, unknown>): StatsSearch {
  const knownPeriod = PERIODS.find((each) => each === period);
  const division = DIVISIONS.find((each) => each === by);
  const name = typeof project === "string" || typeof project === "number" ? String(project).slice(0, MAX_LENGTH) : "";
  return {
    ...(knownPeriod !== undefined && knownPeriod !== "30d" && { period: knownPeriod }),
    ...(division !== undefined && division !== "persona" && { by: division }),
    ...(name !== "" && { project: name }),
  };
}

export const periodOf = ({ period }: StatsSearch): PeriodName => period ?? "30d";
export const divisionOf = ({ by }: StatsSearch): Division => by ?? "persona";
