import "./stats.css";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { cliLines } from "../../cliLines";
import { useNow } from "../../time";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SkeletonRows } from "../../ui/Skeleton";
import { Charts } from "./Charts";
import { GroupTable } from "./GroupTable";
import { CHARTS_FROM, type Daily, dayOf, periodBefore, periodFrom, type Stats } from "./model";
import { PeriodBar } from "./PeriodBar";
import { dailyStats, periodStats } from "./queries";
import { type Division, divisionOf, PERIOD_WORDS, periodOf, type StatsSearch } from "./search";
import { Tiles } from "./Tiles";

/** How the reviews of a period went. */
export function StatsPage() {
  const search = useSearch({ from: "/stats" });
  const navigate = useNavigate({ from: "/stats" });
  const setSearch = (next: StatsSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  // The same all day long, so that the queries stay the same.
  const today = Date.parse(dayOf(useNow()));
  const { stats, before, daily } = useStats(search, today);
  const setDivision = (by: Division) => setSearch({ ...search, by });
  return (
    <Page title="Stats" cli={cliLine(search, today)}>
      <PeriodBar search={search} onChange={setSearch} />
      {stats.isError && stats.data === undefined ? (
        <Failure error={stats.error} what="The statistics" retry={() => void stats.refetch()} />
      ) : stats.data === undefined ? (
        <SkeletonRows count={8} label="statistics" />
      ) : stats.data.reviews.total === 0 ? (
        <NoReviews search={search} />
      ) : (
        <div className={`flex flex-col gap-3 ${stats.isPlaceholderData ? "opacity-60" : ""}`}>
          <Tiles stats={stats.data} before={before} period={periodOf(search)} />
          <DayCharts stats={stats.data} daily={daily} search={search} nowMs={today} />
          <GroupTable stats={stats.data} division={divisionOf(search)} onChange={setDivision} />
        </div>
      )}
    </Page>
  );
}

function useStats(search: StatsSearch, nowMs: number) {
  const scope = search.project === undefined ? {} : { project: search.project };
  const name = periodOf(search);
  const earlier = periodBefore(name, nowMs);
  const stats = useQuery(periodStats({ ...scope, ...periodFrom(name, nowMs) }, divisionOf(search)));
  const before = useQuery({ ...periodStats({ ...scope, ...earlier }, null), enabled: earlier !== null });
  const daily = useQuery(dailyStats({ ...scope, ...periodFrom(name, nowMs) }));
  // Changes against another period than the one on display would be wrong.
  const isSame = earlier !== null && !stats.isPlaceholderData && !before.isPlaceholderData;
  return { stats, before: isSame ? (before.data ?? null) : null, daily };
}

interface DayChartsProps {
  stats: Stats;
  daily: { data: Daily | undefined; error: unknown; refetch: () => unknown };
  search: StatsSearch;
  nowMs: number;
}

function DayCharts({ stats, daily, search, nowMs }: DayChartsProps) {
  if (stats.reviews.total < CHARTS_FROM) {
    return <Empty title={`Charts appear after ${CHARTS_FROM} reviews.`}>There are {stats.reviews.total} so far.</Empty>;
  }
  if (daily.data === undefined) {
    return daily.error === null ? (
      <SkeletonRows count={6} label="charts" />
    ) : (
      <Failure error={daily.error} what="The charts" retry={() => void daily.refetch()} />
    );
  }
  return <Charts stats={stats} daily={daily.data} period={periodOf(search)} nowMs={nowMs} />;
}

function NoReviews({ search }: { search: StatsSearch }) {
  const name = periodOf(search);
  const title = name === "all" ? "No reviews yet." : `No review in the last ${PERIOD_WORDS[name]}.`;
  return (
    <Empty title={title} cli={cliLines.request()}>
      Charts appear after {CHARTS_FROM} reviews.
    </Empty>
  );
}

function cliLine(search: StatsSearch, nowMs: number): string {
  const { since } = periodFrom(periodOf(search), nowMs);
  return cliLines.stats({ by: divisionOf(search), project: search.project, since });
}
