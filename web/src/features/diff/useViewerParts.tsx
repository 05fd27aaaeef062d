import type { ReactNode } from "react";
import { foldReason } from "./describe";
import { FileHead } from "./FileHead";
import type { DiffModel } from "./useDiffModel";
import { viewedState } from "./viewed";
import type { ViewerProps } from "./viewer";

interface Notes {
  renderNote: (id: string) => ReactNode;
  renderUnplaced?: (ids: string[]) => ReactNode;
}

type Parts = Pick<ViewerProps, "renderHead" | "renderElsewhere" | "onShowLine">;

/** The parts that look the same in both views: heads of files, and notes without a place. */
export function useViewerParts(model: DiffModel, { renderNote, renderUnplaced }: Notes): Parts {
  const { files, sections, contexts, placed, folded, seen, fold, markViewed, showWhole, showAround } = model;
  return {
    onShowLine: (index, side, line) => {
      const file = files[index];
      if (file !== undefined) void showAround(file, side, line);
    },
    renderHead: (index) => {
      const [file, notes, shown] = [files[index], placed.files[index], sections[index]];
      if (file === undefined || notes === undefined || shown === undefined) return null;
      const hasMore = shown.tail !== null || shown.sections.some((section) => section.gap !== null);
      const state = contexts[index]?.state ?? "none";
      const canLoad = state === "none" || state === "ready" || state === "failed";
      return (
        <FileHead
          file={file}
          isFolded={folded.has(index)}
          foldReason={foldReason(file)}
          viewed={viewedState(file, seen)}
          notes={notes}
          onFold={(isFolded) => fold(index, isFolded)}
          onViewed={(isViewed) => markViewed(file, isViewed)}
          onWhole={hasMore && canLoad ? () => void showWhole(file) : null}
        />
      );
    },
    renderElsewhere: () => (
      <>
        <h3 className="diff-elsewhere-title">Elsewhere</h3>
        <p className="diff-elsewhere-text">Notes about no file, or about files that this diff does not contain.</p>
        {renderUnplaced?.(placed.elsewhere.map(({ id }) => id)) ??
          placed.elsewhere.map(({ id }) => (
            <div key={id} className="diff-note">
              {renderNote(id)}
            </div>
          ))}
      </>
    ),
  };
}
