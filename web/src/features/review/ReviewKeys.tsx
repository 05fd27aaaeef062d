import { useNavigate } from "@tanstack/react-router";
import type { ActionId } from "../../keys/bindings";
import { type Handlers, useKeys } from "../../keys/KeysContext";
import type { DiffPlace } from "./DiffView";
import { useDiffPreferences } from "./diffPreferences";
import { useReview } from "./ReviewContext";

interface ReviewKeysProps extends DiffPlace {
  onWrite: () => void;
  onComment: () => void;
  onMenu: () => void;
  onSettle: () => void;
}

/** On a narrow screen another tab may be open instead of the diff. */
function openFindWhenDrawn(handle: DiffPlace["handle"], framesLeft = 30): void {
  if (handle.current !== null) handle.current.openFind();
  else if (framesLeft > 0) requestAnimationFrame(() => openFindWhenDrawn(handle, framesLeft - 1));
}

/** The keys of the review page. Each is a button too. */
export function ReviewKeys({ handle, onWrite, onComment, onMenu, onSettle }: ReviewKeysProps) {
  const { review, shown, seenRound, can, go, showLatest, openDialog } = useReview();
  const { toggleLayout, toggleView, toggleWords, toggleWrap } = useDiffPreferences();
  const navigate = useNavigate();
  const diff = () => handle.current;
  const previous = seenRound ?? (shown.round > 1 ? shown.round - 1 : null);
  const rounds: Handlers = {};
  for (let round = 1; round <= Math.min(9, review.current_round); round += 1) {
    rounds[`round${round}` as ActionId] = () =>
      round === review.current_round ? showLatest("whole") : go({ round, since: undefined, patch: undefined }, true);
  }
  useKeys({
    ...rounds,
    toParent: () => void navigate({ to: "/r" }),
    nextFile: () => diff()?.nextFile(1),
    previousFile: () => diff()?.nextFile(-1),
    nextChange: () => diff()?.nextChange(1),
    previousChange: () => diff()?.nextChange(-1),
    nextFinding: () => void diff()?.nextNote(1),
    previousFinding: () => void diff()?.nextNote(-1),
    viewed: () => diff()?.markViewedAndNext(),
    findInDiff: () => {
      if (diff() === null) go({ tab: "diff", patch: undefined });
      openFindWhenDrawn(handle);
    },
    split: toggleLayout,
    table: toggleView,
    wrap: toggleWrap,
    words: toggleWords,
    comment: onComment,
    reply: onWrite,
    ...(previous !== null && {
      compare: () => go({ since: shown.since === null ? previous : undefined, patch: undefined }, true),
    }),
    ...(can.vote === null && {
      approve: () => openDialog({ kind: "verdict", verdict: "approved" }),
      requestChanges: () => openDialog({ kind: "verdict", verdict: "changes_requested" }),
    }),
    settle: onSettle,
    ...(can.take_seat === null && { takeSeat: () => openDialog({ kind: "seat", how: "claim", persona: null }) }),
    actions: onMenu,
  });
  return null;
}
