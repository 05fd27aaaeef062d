import { Button } from "../../ui/Button";
import { useReview } from "./ReviewContext";
import { type EventEntry, patchFate } from "./stream";

const FATES = {
  pending: "waits for the proposer",
  accepted: "✓ accepted",
  rejected: "✗ rejected",
  replaced: "replaced by something newer",
} as const;

/** A counter-patch that came with a verdict: what became of it, and how to see and answer it. */
export function PatchOffer({ offer, persona }: { offer: EventEntry; persona: string }) {
  const { review, events, can, go, openDialog } = useReview();
  const fate = patchFate(events, offer);
  const isPending = fate === "pending" && offer.round === review.current_round;
  return (
    <div className="mt-1 flex flex-wrap items-center gap-1 border-t border-line pt-1">
      <span className="font-medium">⊕ Counter-patch</span>
      <span className="text-xs text-dim">{FATES[fate]}</span>
      <span className="grow" />
      <span className="-mx-2 flex">
        <Button
          kind="quiet"
          onPress={() => go({ patch: persona, tab: "diff", round: patchRound(offer, review) }, true)}
        >
          View
        </Button>
        {isPending && can.decide_patch === null && (
          <>
            <Button kind="quiet" onPress={() => openDialog({ kind: "patch", persona, answer: "accept" })}>
              Accept
            </Button>
            <Button kind="quiet" onPress={() => openDialog({ kind: "patch", persona, answer: "reject" })}>
              Reject
            </Button>
          </>
        )}
      </span>
    </div>
  );
}

function patchRound(offer: EventEntry, review: { current_round: number }): number | undefined {
  return offer.round === review.current_round ? undefined : offer.round;
}
