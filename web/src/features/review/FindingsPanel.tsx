import { useQuery } from "@tanstack/react-query";
import type { Issue } from "../../api/generated";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { Fold } from "../../ui/Fold";
import { SkeletonRows } from "../../ui/Skeleton";
import { DraftList } from "./DraftList";
import { FindingCard } from "./FindingCard";
import { type FindingGroup, groupFindings, placeOf } from "./findings";
import { findings } from "./queries";
import { useReview } from "./ReviewContext";

const TITLES: Record<FindingGroup, string> = {
  blocking: "Blocks approval",
  open: "Open",
  low: "Open, low",
  suggestions: "Suggestions and late findings",
  settled: "Settled",
};

const FOLDED: ReadonlySet<FindingGroup> = new Set(["low", "settled"]);

/** All findings of the review, what blocks first, and the reader's own drafts. */
export function FindingsPanel() {
  const { moment, review, drafts } = useReview();
  const { data, isPending, isError, error, refetch } = useQuery(findings(moment));
  if (isPending) return <SkeletonRows count={6} label="the findings" />;
  if (isError && data === undefined) return <Failure error={error} what="The findings" retry={() => void refetch()} />;
  const groups = groupFindings(data ?? [], review.consensus.blocking ?? []);
  const shown = (Object.keys(TITLES) as FindingGroup[]).filter((group) => groups[group].length > 0);
  return (
    <div className="flex flex-col gap-3 p-3">
      <DraftList />
      {shown.length === 0 && drafts.length === 0 && (
        <Empty title="No findings.">
          {review.has_diff
            ? "Select a line of the diff and press c to write one."
            : "Use the button beside a block of the plan."}
        </Empty>
      )}
      {shown.map((group) => (
        <section key={group} aria-label={TITLES[group]}>
          <Fold
            level={2}
            isOpenFirst={!FOLDED.has(group)}
            title={
              <span className={`font-semibold ${group === "blocking" ? "text-bad" : ""}`}>
                {TITLES[group]} ({groups[group].length})
              </span>
            }
          >
            <FindingList issues={groups[group]} />
          </Fold>
        </section>
      ))}
    </div>
  );
}

function FindingList({ issues }: { issues: readonly Issue[] }) {
  const { shown } = useReview();
  return (
    <ul className="flex flex-col gap-2">
      {issues.map((issue) => (
        <li key={issue.issue_id}>
          <FindingCard issue={issue} place={placeOf(issue, { ...shown, isCurrent: true, since: null })} />
        </li>
      ))}
    </ul>
  );
}
