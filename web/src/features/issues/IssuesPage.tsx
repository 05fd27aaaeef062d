import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Issue } from "../../api/generated";
import { cliLines } from "../../cliLines";
import { Button } from "../../ui/Button";
import { ChangedPill } from "../../ui/ChangedPill";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Page } from "../../ui/Page";
import { SavedViews } from "../../ui/SavedViews";
import { SkeletonRows } from "../../ui/Skeleton";
import { IssueActions } from "./IssueActions";
import { IssueFilters } from "./IssueFilters";
import { IssueTable } from "./IssueTable";
import { SettleDialog } from "./SettleDialog";
import { cliOptions, hasFilters, type IssuesSearch, isLowFolded, parseIssuesSearch, withFilter } from "./search";
import { useIssueRows } from "./useIssueRows";

/** Issues of all reviews, the blocking ones first, by filters that stand in the address. */
export function IssuesPage() {
  const search = useSearch({ from: "/i" });
  const navigate = useNavigate({ from: "/i" });
  const setSearch = (next: IssuesSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const list = useIssueRows(search);
  const [selected, setSelected] = useState<ReadonlyMap<string, Issue>>(new Map());
  const [settling, setSettling] = useState<readonly Issue[] | null>(null);
  const select = (issue: Issue, isSelected: boolean) => {
    const next = new Map(selected);
    if (isSelected) next.set(issue.issue_id, issue);
    else next.delete(issue.issue_id);
    setSelected(next);
  };
  const chosen = [...selected.values()];
  return (
    <Page title="Issues" cli={cliLines.issues(cliOptions(search))}>
      <IssueFilters search={search} onChange={setSearch} counts={list.counts} issues={list.issues} />
      <SavedViews list="issues" search={search} onOpen={(view) => setSearch(parseIssuesSearch(view))} />
      <IssueActions
        search={search}
        selected={chosen}
        shown={list.issues}
        onClear={() => setSelected(new Map())}
        onSettle={() => setSettling(chosen)}
      />
      <ChangedPill changed={list.changed} isOld={false} onShow={list.showChanges} />
      {list.isPending ? (
        <SkeletonRows count={10} label="issues" />
      ) : list.error !== null && list.rows.length === 0 ? (
        <Failure error={list.error} what="The issues" retry={list.retry} />
      ) : list.rows.length === 0 ? (
        <NoIssues search={search} fixed={fixedOf(list.counts)} low={list.low} onChange={setSearch} />
      ) : (
        <IssueTable
          list={list}
          selected={selected}
          onSelect={select}
          onSettle={(issue) => setSettling(chosen.length > 0 ? chosen : [issue])}
        />
      )}
      {isLowFolded(search) && list.low > 0 && list.rows.length > 0 && (
        <LowFold low={list.low} onShow={() => setSearch(withFilter(search, "severity", "critical,high,medium,low"))} />
      )}
      {settling !== null && (
        <SettleDialog
          issues={settling}
          onDone={() => {
            setSelected(new Map());
            list.reload();
          }}
          onClose={() => setSettling(null)}
        />
      )}
    </Page>
  );
}

function fixedOf(counts: ReturnType<typeof useIssueRows>["counts"]): number {
  return counts?.groups.find(({ group }) => group === "fixed")?.issues ?? 0;
}

function LowFold({ low, onShow }: { low: number; onShow: () => void }) {
  return (
    <p className="flex flex-wrap items-center gap-3 text-dim">
      {low.toLocaleString("en")} low {low === 1 ? "issue is" : "issues are"} folded.
      <Button onPress={onShow}>Show low issues</Button>
    </p>
  );
}

interface NoIssuesProps {
  search: IssuesSearch;
  fixed: number;
  low: number;
  onChange: (search: IssuesSearch) => void;
}

function NoIssues({ search, fixed, low, onChange }: NoIssuesProps) {
  if (isLowFolded(search) && low > 0) {
    return (
      <Empty title="Only low issues match.">
        <LowFold low={low} onShow={() => onChange(withFilter(search, "severity", "low"))} />
      </Empty>
    );
  }
  if (hasFilters(search)) {
    return (
      <Empty title="No issue matches these filters.">
        <Button onPress={() => onChange(search.group === undefined ? {} : { group: search.group })}>
          Clear the filters
        </Button>
      </Empty>
    );
  }
  return (
    <Empty title="No open issues.">
      {fixed > 0
        ? `${fixed.toLocaleString("en")} fixed so far in open reviews.`
        : "Reviewers raise them with a verdict."}
    </Empty>
  );
}
