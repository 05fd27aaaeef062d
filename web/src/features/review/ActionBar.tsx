import { keyOf } from "../../keys/bindings";
import { turnsOf } from "../../turns";
import { Button } from "../../ui/Button";
import { ActionMenu } from "./ActionMenu";
import { DiffOptions } from "./DiffOptions";
import { mySeat } from "./model";
import { useReview } from "./ReviewContext";

interface ActionBarProps {
  onWrite: () => void;
  /** `null` if no line is selected. */
  onComment: (() => void) | null;
  isMenuOpen: boolean;
  onMenu: (isOpen: boolean) => void;
}

/** What the reader can do now, and how the diff is shown. */
export function ActionBar({ onWrite, onComment, isMenuOpen, onMenu }: ActionBarProps) {
  const { moment, review, me, can, drafts, go, openDialog } = useReview();
  const seat = mySeat(review, me);
  const tools = new Set(turnsOf(review, me).map(({ tool }) => tool));
  const isMyVote = tools.has("submit_verdict") || tools.has("claim_review");
  return (
    <section
      aria-label="Actions"
      className="sticky bottom-0 z-20 flex flex-wrap items-center gap-2 border-t border-line bg-raised px-4 py-2 max-md:gap-1 max-md:px-2"
      data-print="hide"
    >
      {moment.at !== null && (
        // On a narrow screen the slider scrolls away.
        <Button kind="primary" onPress={() => go({ at: undefined }, true)} className="xl:hidden">
          Event {moment.at}: back to now
        </Button>
      )}
      {can.vote === null && (
        <>
          <Button
            kind={isMyVote ? "primary" : "plain"}
            shortcut={keyOf("approve")}
            onPress={() => openDialog({ kind: "verdict", verdict: "approved" })}
          >
            Approve
          </Button>
          <Button
            shortcut={keyOf("requestChanges")}
            onPress={() => openDialog({ kind: "verdict", verdict: "changes_requested" })}
          >
            Request changes
          </Button>
        </>
      )}
      {can.vote === null && seat === null && can.take_seat === null && (
        <Button
          shortcut={keyOf("takeSeat")}
          onPress={() => openDialog({ kind: "seat", how: "claim", persona: null })}
          className="max-md:hidden"
        >
          Take a seat
        </Button>
      )}
      {tools.has("create_review") && can.resubmit === null && (
        <Button kind="primary" onPress={() => openDialog({ kind: "resubmit" })}>
          Submit a new round
        </Button>
      )}
      {can.close === null && (
        <Button kind={tools.has("close_review") ? "primary" : "plain"} onPress={() => openDialog({ kind: "close" })}>
          Close
        </Button>
      )}
      {onComment !== null && can.comment === null && (
        <Button shortcut={keyOf("comment")} onPress={onComment}>
          Comment
        </Button>
      )}
      {can.message === null && (
        <Button shortcut={keyOf("reply")} onPress={onWrite} className="max-md:hidden">
          Message
        </Button>
      )}
      <ActionMenu isOpen={isMenuOpen} onOpenChange={onMenu} />
      {drafts.length > 0 && (
        <Button kind="quiet" onPress={() => go({ tab: "findings" }, true)}>
          {drafts.length === 1 ? "1 draft" : `${drafts.length} drafts`}
        </Button>
      )}
      <span className="grow" />
      {review.has_diff && (
        <div className="max-xl:hidden">
          <DiffOptions />
        </div>
      )}
    </section>
  );
}
