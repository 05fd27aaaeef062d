import { useQueryClient } from "@tanstack/react-query";
import { memo, type RefObject, useCallback, useContext, useEffect, useMemo, useRef } from "react";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import { Diff, type DiffHandle, type LineRange } from "../diff/Diff";
import type { ParsedPatch } from "../diff/patch";
import { useDiffPreferences } from "./diffPreferences";
import { NoteView } from "./NoteView";
import { useReview } from "./ReviewContext";
import { useDiffTarget } from "./useDiffTarget";
import { NotesContext, useNotes, useStableNotes } from "./useNotes";

/** What the rest of the page needs of the diff: where it is, and which lines are selected. */
export interface DiffPlace {
  handle: RefObject<DiffHandle | null>;
  selection: LineRange | null;
  onSelect: (range: LineRange | null) => void;
}

interface DiffViewProps extends DiffPlace {
  patch: ParsedPatch;
  contentHash: string;
}

const DiffMemo = memo(Diff);

/** The address names the selected line when the reader rests there: another address draws the whole page. */
const ADDRESS_MS = 200;

const renderNote = (id: string) => <DiffNoteView id={id} />;

function DiffNoteView({ id }: { id: string }) {
  const notes = useContext(NotesContext);
  return notes === null ? null : <NoteView id={id} notes={notes} />;
}

/** The diff with everything that stands at its lines. Typing does not draw it again. */
export function DiffView({ patch, contentHash, handle, selection, onSelect }: DiffViewProps) {
  const { id, comment, go } = useReview();
  const { layout, wrap, words, view } = useDiffPreferences();
  const notes = useNotes();
  const placed = useStableNotes(notes.diff);
  const noteIds = useMemo(() => new Set(placed.map((note) => note.id)), [placed]);
  useDiffTarget(handle, noteIds);
  const latest = useRef({ comment, go, onSelect });
  latest.current = { comment, go, onSelect };
  const onComment = useCallback((range: LineRange) => latest.current.comment({ in: "diff", ...range }), []);
  const addressTimer = useRef(0);
  useEffect(() => () => clearTimeout(addressTimer.current), []);
  const select = useCallback((range: LineRange | null) => {
    latest.current.onSelect(range);
    clearTimeout(addressTimer.current);
    const name = () =>
      latest.current.go({ file: range?.path, line: range?.start, side: range?.side === "old" ? "old" : undefined });
    addressTimer.current = window.setTimeout(name, ADDRESS_MS);
  }, []);
  return (
    <NotesContext value={notes}>
      {notes.later > 0 && (
        <p className="border-b border-line px-4 py-1 text-xs text-dim">
          {notes.later} {notes.later === 1 ? "finding" : "findings"} of later rounds: see Findings.
        </p>
      )}
      <div className="min-h-0 flex-1">
        <DiffMemo
          patch={patch}
          reviewKey={id}
          contentHash={contentHash}
          notes={placed}
          renderNote={renderNote}
          layout={layout}
          wrap={wrap}
          words={words}
          view={view}
          selection={selection}
          onSelect={select}
          onComment={onComment}
          loadFile={useLoadFile()}
          handle={handle}
        />
      </div>
    </NotesContext>
  );
}

/** Loads a file of the content on screen, for lines around the hunks. */
function useLoadFile() {
  const queries = useQueryClient();
  const { moment, shown } = useReview();
  const { id, at } = moment;
  const { round, hash, since } = shown;
  return useCallback(
    async (path: string, side: "old" | "new") => {
      // The old side of a comparison is the new side of the earlier round.
      const isEarlier = since !== null && side === "old";
      const args = isEarlier
        ? { review_id: id, at: at ?? undefined, path, round: since, side: "new" as const }
        : { review_id: id, at: at ?? undefined, path, round, side, ...(hash !== null && { content_hash: hash }) };
      const file = await queries.fetchQuery({
        queryKey: keys.file(`${hash ?? ""} ${isEarlier ? since : ""}`, path, side),
        queryFn: ({ signal }) => call("get_file", args, { signal }),
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 60_000,
      });
      return file.truncated ? null : (file.text ?? null);
    },
    [queries, id, at, round, hash, since],
  );
}
