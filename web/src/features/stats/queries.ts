import { queryOptions } from "@tanstack/react-query";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import type { Period } from "./model";
import type { Division } from "./search";

interface Scope extends Period {
  project?: string;
}

/** The figures of a period, and of each persona, reviewer or category in it. */
export const periodStats = (scope: Scope, division: Division | null) => {
  const args = { ...scope, ...(division !== null && { group_by: division }) };
  return queryOptions({
    queryKey: keys.periodStats("all", args),
    queryFn: ({ signal }) => call("get_review_stats", args, { signal }),
    // The figures of another period are better than none while these load.
    placeholderData: (previous) => previous,
  });
};

export const dailyStats = (scope: Scope) => {
  const args = { ...scope, personas: true };
  return queryOptions({
    queryKey: keys.periodStats("days", args),
    queryFn: ({ signal }) => call("get_daily_stats", args, { signal }),
    placeholderData: (previous) => previous,
  });
};

export const projects = () =>
  queryOptions({ queryKey: keys.projects, queryFn: ({ signal }) => call("list_projects", {}, { signal }) });
