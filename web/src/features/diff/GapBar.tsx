import { inert } from "../../text/inert";
import { type FileContext, type Gap, STEP } from "./context";
import { lineWords } from "./describe";
import type { GapAction } from "./viewer";

interface GapBarProps {
  gap: Gap;
  file: number;
  context: FileContext;
  onExpand: (action: GapAction) => void;
}

/** What the diff leaves out here, and buttons that show it. */
export function GapBar({ gap, file, context, onExpand }: GapBarProps) {
  const isSmall = gap.hidden !== null && gap.hidden <= STEP;
  const canAct = context.state === "none" || context.state === "ready" || context.state === "failed";
  const act = (from: GapAction["from"]) => () => onExpand({ file, gap: gap.index, from });
  return (
    <div className="diff-gap">
      <span className="diff-gap-buttons">
        {canAct && !isSmall && gap.isBelowHunk && (
          <GapButton label={`Show ${STEP} more lines below`} glyph="↓" onPress={act("start")} />
        )}
        {canAct && !isSmall && gap.isAboveHunk && (
          <GapButton label={`Show ${STEP} more lines above`} glyph="↑" onPress={act("end")} />
        )}
        {canAct && (
          <GapButton
            label={gap.hidden === null ? "Show the rest of the file" : `Show ${lineWords(gap.hidden)}`}
            glyph="↕"
            onPress={act("all")}
          />
        )}
      </span>
      <span className="diff-gap-text">{gapWords(gap, context)}</span>
      {gap.section !== "" && <span className="diff-gap-section">{inert(gap.section)}</span>}
    </div>
  );
}

function GapButton({ label, glyph, onPress }: { label: string; glyph: string; onPress: () => void }) {
  return (
    <button type="button" className="diff-gap-button" aria-label={label} title={label} onClick={onPress}>
      {glyph}
    </button>
  );
}

export function gapWords(gap: Gap, { state }: FileContext): string {
  if (state === "loading") return "loading…";
  const what = gap.hidden === null ? "rest of the file" : `${lineWords(gap.hidden)} unchanged`;
  if (state === "failed") return `${what}, could not be loaded`;
  if (state === "unavailable") return `${what}, not available`;
  if (state === "mismatch") return `${what}, not shown: the stored file differs from this diff`;
  return what;
}
