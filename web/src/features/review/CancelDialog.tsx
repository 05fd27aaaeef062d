import { call } from "../../api/client";
import { Field } from "../../ui/Field";
import { useSend } from "./actions";
import { useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { useReview } from "./ReviewContext";

/** Withdraws the review. */
export function CancelDialog({ onClose }: { onClose: () => void }) {
  const { id, review, me } = useReview();
  const [reason, setReason] = useDraftText(`cancel.${id}`);
  const { send, isSending, error } = useSend(
    (text: string) => call("cancel_review", { review_id: id, reason: text, caller_id: me.name }),
    () => {
      setReason("");
      onClose();
    },
  );
  return (
    <FormDialog
      title={`Cancel ${review.number}`}
      action="Cancel the review"
      isDanger
      onClose={onClose}
      onSend={() => send(reason.trim())}
      isSending={isSending}
      hasDraft={reason !== ""}
      error={error}
      problem={reason.trim() === "" ? "Its reviewers see the reason, so give one." : null}
    >
      <Field label="Reason" value={reason} onChange={setReason} isMultiline rows={3} isRequired autoFocus />
    </FormDialog>
  );
}
