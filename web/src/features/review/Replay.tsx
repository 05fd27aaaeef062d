import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { inertLine } from "../../text/inert";
import { Name } from "../../text/UserText";
import { exactTime } from "../../time";
import { Button } from "../../ui/Button";
import type { Review } from "./model";
import { pastReview } from "./queries";
import { useReview } from "./ReviewContext";
import { ReviewSentence } from "./ReviewText";
import { happened } from "./stream";
import { useTimeline } from "./useTimeline";

/** The history of the review as a slider. While it is open the page shows the review as it was after one event. */
export function Replay({ live }: { live: Review }) {
  const { moment } = useReview();
  const start = useStartReplay(live.version);
  useKeys(moment.at === null ? { replay: start } : {});
  return moment.at === null ? null : <ReplayBar at={moment.at} last={live.version} />;
}

/** Opens the slider at the last event, which looks like the present, as soon as that is loaded. */
export function useStartReplay(version: number) {
  const { id, me, go } = useReview();
  const queries = useQueryClient();
  return () => {
    const loaded = queries.ensureQueryData(pastReview(id, version, me.name));
    // If it cannot be loaded, the page says why.
    void loaded.catch(() => {}).then(() => go({ at: version }, true));
  };
}

/** The page loads at most so often while the slider moves. */
const STEP_MS = 150;

function ReplayBar({ at, last }: { at: number; last: number }) {
  const { review, go, search } = useReview();
  const wanted = search.at ?? at;
  const [position, setPosition] = useState(wanted);
  const steppedAt = useRef(0);
  const stepTo = (event: number) => setPosition(Math.min(Math.max(event, 1), last));
  // The address may change without the slider: a link, or back and forward in the browser.
  const followed = useRef(wanted);
  useEffect(() => {
    if (wanted === followed.current) return;
    followed.current = wanted;
    setPosition(wanted);
  }, [wanted]);
  useEffect(() => {
    if (position === followed.current) return;
    const timer = setTimeout(
      () => {
        steppedAt.current = Date.now();
        followed.current = position;
        go({ at: position });
      },
      Math.max(0, steppedAt.current + STEP_MS - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [position, go]);
  const leave = () => go({ at: undefined }, true);
  useKeys({
    replay: leave,
    backToNow: leave,
    nextEvent: () => stepTo(position + 1),
    previousEvent: () => stepTo(position - 1),
    firstEvent: () => stepTo(1),
    lastEvent: () => stepTo(last),
  });
  return (
    <section
      aria-label="Replay"
      aria-busy={position !== at}
      className="flex flex-col gap-1 border-b-2 border-accent bg-accent-bg px-4 py-2 xl:sticky xl:top-0 xl:z-30"
    >
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1">
        <p role="status" aria-label="Moment" className="min-w-0 grow basis-56">
          <span className="font-semibold">
            As it was at <time dateTime={review.updated_at}>{exactTime(review.updated_at)}</time>, event {at} of {last}
          </span>
          <What at={at} />
        </p>
        <Button kind="primary" shortcut={keyOf("backToNow")} onPress={leave}>
          Back to now
        </Button>
      </div>
      <div className="flex items-center gap-2" data-print="hide">
        <Button isDisabled={position <= 1} onPress={() => stepTo(position - 1)} aria-label="Previous event">
          ◀
        </Button>
        <Slider position={position} last={last} onChange={stepTo} />
        <Button isDisabled={position >= last} onPress={() => stepTo(position + 1)} aria-label="Next event">
          ▶
        </Button>
      </div>
    </section>
  );
}

/** What the event was, in a few words. */
function What({ at }: { at: number }) {
  const { id } = useReview();
  const entry = useTimeline(id).find(({ version }) => version === at);
  if (entry === undefined) return null;
  const { actor } = entry.event;
  return (
    <span>
      : {actor !== undefined && <Name className="font-medium">{actor}</Name>} <ReviewSentence text={happened(entry)} />
    </span>
  );
}

interface SliderProps {
  position: number;
  last: number;
  onChange: (event: number) => void;
}

/** Its marks are the rounds. */
function Slider({ position, last, onChange }: SliderProps) {
  const { id } = useReview();
  const entries = useTimeline(id);
  const rounds = entries.filter(({ kind }) => kind === "round");
  const entry = entries.find(({ version }) => version === position);
  const what = entry === undefined ? "" : `: ${[entry.event.actor, happened(entry)].filter(Boolean).join(" ")}`;
  return (
    <>
      <input
        type="range"
        min={1}
        max={last}
        value={position}
        onChange={(event) => onChange(Number(event.target.value))}
        aria-label="Event"
        aria-valuetext={inertLine(`event ${position} of ${last}${what}`)}
        list="replay-rounds"
        className="h-7 min-w-0 flex-1 accent-accent"
      />
      <datalist id="replay-rounds">
        {rounds.map(({ version, round }) => (
          <option key={version} value={version} label={`round ${round}`} />
        ))}
      </datalist>
    </>
  );
}
