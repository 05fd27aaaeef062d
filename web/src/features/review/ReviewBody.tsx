import { getRouteApi } from "@tanstack/react-router";
import { lazy, type RefObject, Suspense, useEffect, useRef, useState } from "react";
import type { Verdict } from "../../api/generated";
import { ShownMoment } from "../../time";
import type { DiffHandle, LineRange } from "../diff/Diff";
import { ActionBar } from "./ActionBar";
import type { Review } from "./model";
import { NewContent } from "./NewContent";
import { NextReview } from "./NextReview";
import type { Moment } from "./queries";
import { Replay } from "./Replay";
import { type OpenDialog, ReviewContext } from "./ReviewContext";
import { ReviewHead } from "./ReviewHead";
import { ReviewKeys } from "./ReviewKeys";
import { ReviewPanes } from "./ReviewPanes";
import { SeatStrip } from "./SeatStrip";
import { useReviewView } from "./useReviewView";

/** The forms. They are loaded when the page has settled, or when the first of them opens. */
const loadDialogs = () => import("./ReviewDialogs").then(({ ReviewDialogs }) => ({ default: ReviewDialogs }));
const ReviewDialogs = lazy(loadDialogs);
const IDLE_MS = 1_000;

const route = getRouteApi("/r/$review");

/** The page of a review that is loaded. `review` is what is on screen, `live` the present. */
export function ReviewBody({ moment, review, live }: { moment: Moment; review: Review; live: Review }) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [sent, setSent] = useState<Verdict | null>(null);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { file, line, side } = route.useSearch();
  const [selection, setSelection] = useState<LineRange | null>(() =>
    file === undefined || line === undefined ? null : { path: file, side: side ?? "new", start: line, end: line },
  );
  const handle = useRef<DiffHandle>(null);
  const composer = useRef<HTMLTextAreaElement>(null);
  const { view, seenVersion } = useReviewView(moment, review, setDialog, () => handle.current?.focus());
  useEffect(() => {
    const timer = setTimeout(() => void loadDialogs().catch(() => {}), IDLE_MS);
    return () => clearTimeout(timer);
  }, []);
  const isPast = moment.at !== null;
  const place = { handle, selection, onSelect: setSelection };
  const write = () => {
    view.go({ tab: "conversation" });
    focusWhenDrawn(composer);
  };
  const comment = () => {
    if (selection !== null && !isPast) view.comment({ in: "diff", ...selection });
    else handle.current?.focus();
  };
  const settle = () => {
    const card = document.activeElement?.closest<HTMLElement>("[data-finding]");
    if (!isPast) setDialog({ kind: "settle", issueId: card?.dataset.finding ?? null, status: null });
  };
  return (
    <ReviewContext value={view}>
      <ShownMoment value={isPast ? Date.parse(review.updated_at) : null}>
        <div
          data-print="whole"
          className="flex flex-col xl:sticky xl:top-0 xl:h-[calc(100dvh-var(--banners,0px))] xl:overflow-y-auto"
        >
          <Replay live={live} />
          <ReviewHead />
          <SeatStrip />
          <ReviewPanes {...place} seenVersion={seenVersion} composer={composer} />
          <NewContent />
          {sent !== null && <NextReview verdict={sent} onClose={() => setSent(null)} />}
          <ActionBar
            onWrite={write}
            onComment={selection === null ? null : comment}
            isMenuOpen={isMenuOpen}
            onMenu={setMenuOpen}
          />
        </div>
        <ReviewKeys {...place} onWrite={write} onComment={comment} onMenu={() => setMenuOpen(true)} onSettle={settle} />
        {dialog !== null && (
          <Suspense fallback={null}>
            <ReviewDialogs
              dialog={dialog}
              onClose={() => setDialog(null)}
              onVerdict={(verdict) => {
                setDialog(null);
                setSent(verdict);
              }}
            />
          </Suspense>
        )}
      </ShownMoment>
    </ReviewContext>
  );
}

/** The part may have to be drawn first. */
function focusWhenDrawn(field: RefObject<HTMLElement | null>, framesLeft = 30): void {
  if (field.current !== null) field.current.focus();
  else if (framesLeft > 0) requestAnimationFrame(() => focusWhenDrawn(field, framesLeft - 1));
}
