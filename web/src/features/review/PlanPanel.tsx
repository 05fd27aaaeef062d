import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Empty } from "../../ui/Empty";
import { Failure } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { Choice } from "./Choice";
import { NoteView } from "./NoteView";
import { PlanChanges } from "./PlanChanges";
import { PlanOutline } from "./PlanOutline";
import { PlanText } from "./PlanText";
import { description } from "./queries";
import { useReview } from "./ReviewContext";
import { useNotes } from "./useNotes";

/** A review without a diff: its description with comments on blocks, and what changed since another round. */
export function PlanPanel() {
  const { moment, shown } = useReview();
  const [view, setView] = useState("changes");
  const plan = useQuery({ ...description(moment, shown.round, shown.hash ?? ""), enabled: shown.hash !== null });
  const before = useQuery({
    ...description(moment, shown.since ?? 1, shown.sinceHash ?? ""),
    enabled: shown.sinceHash !== null,
  });
  const failed = [plan, before].find((query) => query.isError && query.data === undefined);
  if (failed !== undefined) {
    return <Failure error={failed.error} what="The description" retry={() => void failed.refetch()} />;
  }
  if (plan.data === undefined) return <SkeletonRows count={10} label="the description" />;
  if (plan.data.trim() === "") return <Empty title="This review has neither a diff nor a description." />;
  const isComparing = shown.since !== null && before.data !== undefined;
  return (
    <div className="flex min-h-0 flex-1">
      <PlanOutline text={plan.data} />
      <section
        aria-label="Plan"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="min-w-0 flex-1 overflow-y-auto px-4 py-3"
      >
        {isComparing && (
          <div className="mb-3 flex flex-wrap items-center gap-3 rounded bg-accent-bg px-3 py-1">
            <p>
              {before.data === plan.data
                ? `The description is the same in round ${shown.since}.`
                : `What changed since round ${shown.since}.`}
            </p>
            <Choice label="as" value={view} options={VIEWS} onChange={setView} />
          </div>
        )}
        {isComparing && view === "changes" && <PlanChanges before={before.data ?? ""} after={plan.data} />}
        {isComparing && view === "beside" && (
          <div className="grid gap-6 md:grid-cols-2">
            <div className="min-w-0 opacity-80">
              <h2 className="font-semibold">Round {shown.since}</h2>
              <PlanText text={before.data ?? ""} isQuiet />
            </div>
            <div className="min-w-0">
              <h2 className="font-semibold">Round {shown.round}</h2>
              <PlanText text={plan.data} />
            </div>
          </div>
        )}
        {!isComparing && <PlanText text={plan.data} />}
        <ElsewhereInPlan />
      </section>
    </div>
  );
}

const VIEWS = [
  { key: "changes", label: "marked words" },
  { key: "beside", label: "both rounds side by side" },
];

/** Findings about no lines of the plan, or about files. None is left out. */
function ElsewhereInPlan() {
  const notes = useNotes();
  const elsewhere = [...notes.diff, ...notes.description.filter(({ start }) => start === null)];
  if (elsewhere.length === 0) return null;
  return (
    <div className="mx-auto mt-6 flex max-w-3xl flex-col gap-2">
      <h2 className="font-semibold">About the whole plan</h2>
      {elsewhere.map((note) => (
        <NoteView key={note.id} id={note.id} notes={notes} />
      ))}
    </div>
  );
}
