import { type PlacedNotes, rangeWords } from "./notes";
import type { PatchFile } from "./patch";
import type { ViewerProps } from "./viewer";

interface HeadNotePlaceProps {
  id: string;
  file: number;
  notes: PlacedNotes;
  files: readonly PatchFile[];
  onShowLine: ViewerProps["onShowLine"];
}

/** Says where a note belongs that stands in the head of its file because its line is not shown. */
export function HeadNotePlace({ id, file, notes, files, onShowLine }: HeadNotePlaceProps) {
  const note = notes.files[file]?.head.find((each) => each.id === id);
  const own = files[file];
  if (note === undefined || own === undefined || note.start === null) return null;
  const { side, start } = note;
  const end = Math.max(note.end ?? start, start);
  const canShow = own.hunks.length > 0 && own.change !== "added" && own.change !== "deleted";
  return (
    <p className="diff-note-place">
      {rangeWords({ side, start, end })}, not among the lines shown{" "}
      {canShow && (
        <button type="button" onClick={() => onShowLine(file, side, end)}>
          Show the line
        </button>
      )}
    </p>
  );
}
