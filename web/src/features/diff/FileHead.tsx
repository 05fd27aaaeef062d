import { inert } from "../../text/inert";
import { kindGlyph, kindWords, sizeWords } from "./describe";
import { NoteCount } from "./NoteCount";
import type { FileNotes } from "./notes";
import type { PatchFile } from "./patch";
import type { Viewed } from "./viewed";

interface FileHeadProps {
  file: PatchFile;
  isFolded: boolean;
  /** Why the file was folded at first. */
  foldReason: string | null;
  viewed: Viewed;
  notes: FileNotes;
  onFold: (isFolded: boolean) => void;
  onViewed: (isViewed: boolean) => void;
  /** Shows the whole file; `null` if there is nothing more to show. */
  onWhole: (() => void) | null;
}

/** The head of a file: what it is, what happens to it, and whether it was seen. */
export function FileHead(props: FileHeadProps) {
  const { file, isFolded, foldReason, viewed, notes, onFold, onViewed, onWhole } = props;
  const words = kindWords(file);
  const name = file.path === "" ? "Outside of any file" : file.path;
  return (
    <div className="diff-head" data-viewed={viewed === "viewed" || undefined}>
      <button
        type="button"
        className="diff-head-fold"
        aria-expanded={!isFolded}
        aria-label={`${isFolded ? "Unfold" : "Fold"} ${inert(name)}`}
        onClick={() => onFold(!isFolded)}
      >
        <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span>
      </button>
      <KindGlyph file={file} />
      <h3 className="diff-head-name">
        {file.oldPath !== null && file.newPath !== null && file.oldPath !== file.newPath && (
          <>
            <Path path={file.oldPath} isOld />
            <span className="diff-head-arrow"> → </span>
          </>
        )}
        <Path path={name} />
      </h3>
      {words !== "" && (
        <span className="diff-head-words" data-problem={file.problem ? true : undefined} title={words}>
          {words}
        </span>
      )}
      {isFolded && foldReason !== null && (
        <span className="diff-head-words">
          {foldReason} folded, {sizeWords(file)}
        </span>
      )}
      <span className="diff-head-end">
        {onWhole !== null && !isFolded && (
          <button type="button" className="diff-head-button diff-head-whole" onClick={onWhole}>
            whole file
          </button>
        )}
        <NoteCount count={notes.count} worst={notes.worst} />
        <Changes additions={file.additions} deletions={file.deletions} />
        {file.kind !== "unreadable" && (
          <label className="diff-head-viewed">
            {viewed === "changed" && <span className="diff-head-changed">changed since you looked</span>}
            <input
              type="checkbox"
              checked={viewed === "viewed"}
              aria-label={`Viewed ${inert(name)}`}
              onChange={(event) => onViewed(event.target.checked)}
            />
            <span className="diff-head-viewed-word">viewed</span>
          </label>
        )}
      </span>
    </div>
  );
}

export function KindGlyph({ file }: { file: PatchFile }) {
  return (
    <span
      className="diff-kind"
      data-change={file.kind === "unreadable" ? "unreadable" : file.change}
      aria-hidden="true"
    >
      {kindGlyph(file)}
    </span>
  );
}

function Path({ path, isOld = false }: { path: string; isOld?: boolean }) {
  const slash = path.lastIndexOf("/") + 1;
  return (
    <bdi className={isOld ? "diff-path diff-path-old" : "diff-path"} title={inert(path)}>
      <span className="diff-path-folder">{inert(path.slice(0, slash))}</span>
      <span className="diff-path-name">{inert(path.slice(slash))}</span>
    </bdi>
  );
}

/** Added and removed lines. Nothing for a file without lines. */
export function Changes({ additions, deletions }: { additions: number; deletions: number }) {
  if (additions === 0 && deletions === 0) return null;
  return (
    <span className="diff-changes">
      {additions > 0 && (
        <span className="text-ok">
          <span className="sr-only">{additions} added</span>
          <span aria-hidden="true">+{additions}</span>
        </span>
      )}
      {deletions > 0 && (
        <span className="text-bad">
          <span className="sr-only">{deletions} removed</span>
          <span aria-hidden="true">−{deletions}</span>
        </span>
      )}
    </span>
  );
}
