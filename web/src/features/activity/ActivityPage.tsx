import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { cliLines } from "../../cliLines";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { Pill } from "../../ui/Pill";
import { SkeletonRows } from "../../ui/Skeleton";
import { Download } from "./Download";
import { LogFilters } from "./LogFilters";
import { LogTable } from "./LogTable";
import { filterOf, hasFilters, kindsOf, type LogSearch, viewOf, withoutFilters } from "./search";
import { useLog } from "./useLog";
import { ViewSwitch } from "./ViewSwitch";

/** What happened, newest first: the important events in words, or all of them with their facts. */
export function ActivityPage() {
  const search = useSearch({ from: "/log" });
  const navigate = useNavigate({ from: "/log" });
  const setSearch = (next: LogSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const table = useRef<HTMLDivElement>(null);
  const view = viewOf(search);
  const from = search.seq ?? null;
  const { list, rows, searchedTo, newWords, showNew } = useLog(view, filterOf(search), from, table);
  const opened = useOpened(from);
  return (
    <Page title="Activity" cli={cliLine(search)} actions={<Download search={search} />}>
      <div className="flex flex-wrap items-center gap-2">
        <ViewSwitch search={search} onChange={setSearch} />
        <LogFilters search={search} onChange={setSearch} rows={rows} />
      </div>
      {from !== null && <FromEvent seq={from} search={search} />}
      <Pill words={newWords} onShow={showNew} />
      {list.isPending ? (
        <SkeletonRows count={12} label="events" />
      ) : list.isError && rows.length === 0 ? (
        <Failure error={list.error} what="The log" retry={() => void list.refetch()} />
      ) : searchedTo !== null ? (
        <Searching to={searchedTo} />
      ) : rows.length === 0 ? (
        <NoEvents isFiltered={hasFilters(search)} onClear={() => setSearch(withoutFilters(search))} />
      ) : (
        <div ref={table}>
          <LogTable
            view={view}
            rows={rows}
            search={search}
            opened={opened}
            next={{
              has: list.hasNextPage,
              isLoading: list.isFetchingNextPage,
              error: list.isFetchNextPageError ? list.error : null,
              load: () => void list.fetchNextPage({ cancelRefetch: false }),
            }}
          />
        </div>
      )}
    </Page>
  );
}

const NONE: ReadonlySet<number> = new Set();

/** The rows that are open. The event that the address names is open first; another one begins anew. */
function useOpened(from: number | null) {
  const [state, setState] = useState({ from, toggled: NONE });
  const toggled = state.from === from ? state.toggled : NONE;
  return {
    isOpen: (seq: number) => toggled.has(seq) !== (seq === from),
    toggle: (seq: number) =>
      setState((before) => {
        const after = new Set(before.from === from ? before.toggled : NONE);
        if (!after.delete(seq)) after.add(seq);
        return { from, toggled: after };
      }),
  };
}

function FromEvent({ seq, search }: { seq: number; search: LogSearch }) {
  const { seq: _, ...rest } = search;
  return (
    <p role="note" className="rounded border border-line bg-raised px-3 py-2">
      This list begins with event {seq} and does not follow new ones.{" "}
      <Link to="/log" search={rest}>
        Go to the newest events
      </Link>
    </p>
  );
}

function Searching({ to }: { to: string }) {
  return (
    <p role="status" className="animate-appear-late px-3 py-6 text-dim">
      Nothing found yet. Looking at the events before {Number(to).toLocaleString("en")}…
    </p>
  );
}

function NoEvents({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) {
    return (
      <Empty title="Nothing has happened yet." cli={cliLines.request()}>
        Each step of a review appears here, from the first proposal on.
      </Empty>
    );
  }
  return (
    <Empty title="No event matches these filters.">
      <Button onPress={onClear}>Clear the filters</Button>
    </Empty>
  );
}

function cliLine(search: LogSearch): string {
  const { actor, review, project, since, until } = search;
  const filters = { review, actor, kind: kindsOf(search).join(","), project, since, until };
  return viewOf(search) === "audit" ? cliLines.audit(filters) : cliLines.activity(filters);
}
