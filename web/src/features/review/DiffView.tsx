import { useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useMemo } from "react";
import { call } from "../../api/client";
import { keys } from "../../api/keys";
import { Diff, type DiffHandle, type LineRange } from "../diff/Diff";
import type { ParsedPatch } from "../diff/patch";
import { useDiffPreferences } from "./diffPreferences";
import { NoteView } from "./NoteView";
import { useReview } from "./ReviewContext";
import { useDiffTarget } from "./useDiffTarget";
import { useNotes } from "./useNotes";

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

/** The diff with everything that stands at its lines. */
export function DiffView({ patch, contentHash, handle, selection, onSelect }: DiffViewProps) {
  const { id, shown, comment, go } = useReview();
  const { layout, wrap, view } = useDiffPreferences();
  const notes = useNotes();
  const noteIds = useMemo(() => new Set(notes.diff.map((note) => note.id)), [notes]);
  useDiffTarget(handle, noteIds);
  const loadFile = useLoadFile();
  const renderNote = useCallback((noteId: string) => <NoteView id={noteId} notes={notes} />, [notes]);
  const onComment = useCallback((range: LineRange) => comment({ in: "diff", ...range }), [comment]);
  const select = (range: LineRange | null) => {
    onSelect(range);
    go({ file: range?.path, line: range?.start, side: range?.side === "old" ? "old" : undefined });
  };
  return (
    <>
      {notes.later > 0 && (
        <p className="border-b border-line px-4 py-1 text-xs text-dim">
          {notes.later} {notes.later === 1 ? "finding" : "findings"} of later rounds: see Findings.
        </p>
      )}
      <div className="min-h-0 flex-1">
        <Diff
          patch={patch}
          reviewKey={id}
          contentHash={contentHash}
          notes={notes.diff}
          renderNote={renderNote}
          layout={layout}
          wrap={wrap}
          view={view}
          selection={selection}
          onSelect={select}
          onComment={onComment}
          loadFile={loadFile}
          handle={handle}
          key={shown.hash}
        />
      </div>
    </>
  );
}

/** Loads a file of the content on screen, for lines around the hunks. */
function useLoadFile() {
  const queries = useQueryClient();
  const { id, shown } = useReview();
  const { round, hash, since } = shown;
  return useCallback(
    async (path: string, side: "old" | "new") => {
      // The old side of a comparison is the new side of the earlier round.
      const isEarlier = since !== null && side === "old";
      const args = isEarlier
        ? { review_id: id, path, round: since, side: "new" as const }
        : { review_id: id, path, round, side, ...(hash !== null && { content_hash: hash }) };
      const file = await queries.fetchQuery({
        queryKey: keys.file(`${hash ?? ""} ${isEarlier ? since : ""}`, path, side),
        queryFn: ({ signal }) => call("get_file", args, { signal }),
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 60_000,
      });
      return file.truncated ? null : (file.text ?? null);
    },
    [queries, id, round, hash, since],
  );
}
