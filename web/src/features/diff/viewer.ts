import type { ReactNode, Ref } from "react";
import type { FileContext, FileSections } from "./context";
import type { FindMarks } from "./find";
import type { LineRange, PlacedNotes, Side } from "./notes";
import type { PatchFile } from "./patch";
import type { Row } from "./rows";

/** A place in the diff that a reader looks at. `line` is `null` in the head of a file. */
export interface Place {
  file: number;
  side: Side;
  line: number | null;
}

export interface GapAction {
  file: number;
  gap: number;
  /** Where the lines appear: below the hunk above the gap, above the hunk below it, or all of them. */
  from: "start" | "end" | "all";
}

/** What both views of a diff take. `Diff` is the only user. */
export interface ViewerProps {
  files: readonly PatchFile[];
  sections: readonly FileSections[];
  contexts: readonly FileContext[];
  notes: PlacedNotes;
  folded: ReadonlySet<number>;
  rows: readonly Row[];
  layout: "unified" | "split";
  wrap: boolean;
  /** Mark the words that changed within a line. The table does not. */
  words: boolean;
  selection: LineRange | null;
  onSelect: (range: LineRange | null) => void;
  onComment: (range: LineRange) => void;
  onExpand: (action: GapAction) => void;
  /** Shows the line of a note that stands in the head of its file. */
  onShowLine: (file: number, side: Side, line: number) => void;
  renderHead: (file: number) => ReactNode;
  renderNote: (id: string) => ReactNode;
  renderElsewhere: () => ReactNode;
  /** The reader scrolled: this is the first line in sight, or at least its file. */
  onPlace: (place: Place) => void;
  marks: FindMarks;
  handle: Ref<ViewerHandle>;
}

export interface ViewerHandle {
  /** Scrolls to a line, or to the head of a file. */
  show: (place: Place) => void;
  showNote: (id: string) => void;
  /** Scrolls to a line that could not be read, by its number in the patch. */
  showRaw: (file: number, number: number) => void;
  isInSight: (place: Place) => boolean;
  /** Moves the focus to the selected line, or to the first line in sight. */
  focus: () => void;
}
