import { Banner } from "../../ui/Banner";
import { Button } from "../../ui/Button";
import { useReview } from "./ReviewContext";

/** What is on screen is not the current content: a newer one arrived, or the reader looks at an earlier round. */
export function NewContent() {
  const { review, shown, showLatest } = useReview();
  if (shown.isCurrent || shown.hash === null) return null;
  const isNewRound = shown.round !== review.current_round;
  if (shown.isOutdated) {
    return (
      <Banner
        tone="info"
        title={
          isNewRound ? `Round ${review.current_round} has arrived` : "An accepted counter-patch replaced the content"
        }
        actions={
          <>
            {isNewRound && (
              <Button kind="primary" onPress={() => showLatest("changes")}>
                Show what changed
              </Button>
            )}
            <Button onPress={() => showLatest("whole")}>
              Show {isNewRound ? `round ${review.current_round}` : "it"}
            </Button>
          </>
        }
      >
        <p className="text-dim">You still see what you were reading. A verdict counts only for the current content.</p>
      </Banner>
    );
  }
  return (
    <Banner
      tone="info"
      title={`You see round ${shown.round} of ${review.current_round}`}
      actions={<Button onPress={() => showLatest("whole")}>Show round {review.current_round}</Button>}
    />
  );
}
