import { call } from "../../api/client";
import { Name } from "../../text/UserText";
import { proposerOf } from "../../turns";
import { useSend } from "./actions";
import { FormDialog } from "./FormDialog";
import { isProposer } from "./model";
import { useReview } from "./ReviewContext";

/** Ends a decided review. */
export function CloseDialog({ onClose }: { onClose: () => void }) {
  const { id, review, me, issues } = useReview();
  const { send, isSending, error } = useSend(
    () => call("close_review", { review_id: id, closer_role: "proposer", caller_id: me.name }),
    () => onClose(),
  );
  const open = issues.filter(({ status }) => status === "open").length;
  return (
    <FormDialog
      title={`Close ${review.number}`}
      action="Close the review"
      onClose={onClose}
      onSend={() => send(undefined)}
      isSending={isSending}
      error={error}
    >
      <p>
        A closed review cannot be changed any more.
        {open > 0 && ` ${open === 1 ? "One open finding becomes" : `${open} open findings become`} "won't fix".`}
        {!isProposer(review, me) && (
          <>
            {" "}
            You close it for <Name>{proposerOf(review)}</Name>.
          </>
        )}
      </p>
    </FormDialog>
  );
}
