import { useCallback, useMemo, useRef, useState } from "react";
import { contextSize, type FileContext, type FileSections, sectionsOf } from "./context";
import { foldReason } from "./describe";
import { type DiffNote, placeNotes, type Side } from "./notes";
import type { ParsedPatch, PatchFile } from "./patch";
import { buildRows, type Row } from "./rows";
import { useContexts } from "./useContexts";
import { useViewed, viewedState } from "./viewed";

export type DiffModel = ReturnType<typeof useDiffModel>;

interface Input {
  patch: ParsedPatch;
  reviewKey: string;
  notes: readonly DiffNote[];
  layout: "unified" | "split";
  loadFile: (path: string, side: Side) => Promise<string | null>;
}

/** What a diff shows: its lines, where its notes stand, what is folded and what was seen. */
export function useDiffModel({ patch, reviewKey, notes, layout, loadFile }: Input) {
  const { files } = patch;
  const { marks, set: setViewed } = useViewed(reviewKey);
  const { contexts, expand, showWhole, showAround } = useContexts(files, loadFile);
  const usualContext = useMemo(() => contextSize(patch), [patch]);
  const sections = useSections(files, contexts, usualContext);
  const placed = useMemo(() => placeNotes(files, sections, notes), [files, sections, notes]);
  // Decided once: a note or a mark that comes later must not fold or unfold what the reader looks at.
  const [folds, setFolds] = useState<ReadonlyMap<number, boolean>>(
    () =>
      new Map(
        files.map((file) => {
          const isNoise = foldReason(file) !== null && placed.files[file.index]?.count === 0;
          return [file.index, isNoise || viewedState(file, marks) === "viewed"];
        }),
      ),
  );
  const folded = useMemo(() => new Set([...folds].filter(([, isFolded]) => isFolded).map(([file]) => file)), [folds]);
  const rows: readonly Row[] = useMemo(
    () => buildRows({ files, sections, notes: placed, folded, layout }),
    [files, sections, placed, folded, layout],
  );
  const fold = useCallback((file: number, isFolded: boolean) => {
    setFolds((known) => (known.get(file) === isFolded ? known : new Map(known).set(file, isFolded)));
  }, []);
  const markViewed = useCallback(
    (file: PatchFile, isViewed: boolean) => {
      setViewed(file, isViewed);
      fold(file.index, isViewed);
    },
    [setViewed, fold],
  );
  return {
    files,
    sections,
    contexts,
    placed,
    folded,
    rows,
    seen: marks,
    fold,
    markViewed,
    expand,
    showWhole,
    showAround,
  };
}

/** Only files whose context changed are cut anew. */
function useSections(files: readonly PatchFile[], contexts: readonly FileContext[], usual: number): FileSections[] {
  const cache = useRef<{ context: FileContext; sections: FileSections }[]>([]);
  return useMemo(
    () =>
      files.map((file, index) => {
        const context = contexts[index];
        const known = cache.current[index];
        if (context === undefined) return { sections: [], tail: null };
        if (known !== undefined && known.context === context) return known.sections;
        const sections = sectionsOf(file, context, usual);
        cache.current[index] = { context, sections };
        return sections;
      }),
    [files, contexts, usual],
  );
}
