import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isCode } from "../../api/client";
import { Button } from "../../ui/Button";
import { Failure } from "../../ui/Failure";
import { SkeletonRows } from "../../ui/Skeleton";
import { preloadPane } from "../diff/Diff";
import { parsePatch } from "../diff/patch";
import { type DiffPlace, DiffView } from "./DiffView";
import { NoteView } from "./NoteView";
import { comparison } from "./queries";
import { useReview } from "./ReviewContext";
import { useNotes } from "./useNotes";
import { useRoundDiff } from "./useRoundDiff";

preloadPane();

/** The diff of the round on screen, or what changed since another round. */
export function DiffPanel(props: DiffPlace) {
  const { showLatest } = useReview();
  const { address, diff } = useRoundDiff();
  const { since } = address;
  const text = diff.data?.text ?? null;
  const patch = useMemo(() => (text === null ? null : parsePatch(text)), [text]);
  if (diff.isError && patch === null) {
    return (
      <div className="p-4">
        <Failure error={diff.error} what="The diff" retry={() => void diff.refetch()} />
        {isCode(diff.error, "stale_content") && (
          <Button className="mt-2" onPress={() => showLatest("whole")}>
            Show the current content
          </Button>
        )}
      </div>
    );
  }
  if (patch === null) return <SkeletonRows count={16} label="the diff" />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {since !== null && <SinceNote address={{ ...address, since }} />}
      {patch.files.length === 0 ? (
        <EmptyDiff />
      ) : (
        <DiffView {...props} patch={patch} contentHash={`${address.hash} ${since?.hash ?? ""}`} />
      )}
    </div>
  );
}

function SinceNote({ address }: { address: Parameters<typeof comparison>[0] }) {
  const { data } = useQuery(comparison(address));
  const { review } = useReview();
  if (data === undefined) return null;
  return (
    <p className="border-b border-line bg-accent-bg px-4 py-1 text-sm">
      What changed from round {address.since.round} to round {address.round}.{" "}
      {data.note !== null && <span>{data.note} </span>}
      {data.isDescriptionChanged && review.has_diff && <span>The description changed too, see About.</span>}
    </p>
  );
}

/** Nothing to show at lines, but no finding is left out. */
function EmptyDiff() {
  const { shown } = useReview();
  const notes = useNotes();
  return (
    <div className="flex flex-col gap-2 overflow-y-auto p-4">
      <p className="text-dim">
        {shown.since === null ? "The diff is empty." : "No file changed between these rounds."}
      </p>
      {notes.diff.map((note) => (
        <NoteView key={note.id} id={note.id} notes={notes} />
      ))}
    </div>
  );
}
