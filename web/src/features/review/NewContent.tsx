import { Banner } from "../../ui/Banner";
import { Button } from "../../ui/Button";
import { useReview } from "./ReviewContext";

/**
 * A newer content arrived while the reader looks at this one. It stands below the content, so that what the reader looks at
 * stays where it is.
 */
export function NewContent() {
  const { review, shown, showLatest } = useReview();
  if (!shown.isOutdated) return null;
  const isNewRound = shown.round !== review.current_round;
  return (
    <Banner
      tone="info"
      title={isNewRound ? `Round ${review.current_round} has arrived` : "The content of this round was replaced"}
      actions={
        <span className="flex flex-wrap gap-2">
          {isNewRound && (
            <Button kind="primary" onPress={() => showLatest("changes")}>
              Show what changed
            </Button>
          )}
          <Button onPress={() => showLatest("whole")}>
            Show {isNewRound ? `round ${review.current_round}` : "it"}
          </Button>
        </span>
      }
    >
      <p className="text-dim">You still see what you were reading. A verdict counts only for the current content.</p>
    </Banner>
  );
}
