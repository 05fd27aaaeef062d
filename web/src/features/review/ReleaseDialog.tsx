import { useState } from "react";
import { call } from "../../api/client";
import { Name } from "../../text/UserText";
import { Field } from "../../ui/Field";
import { useSend } from "./actions";
import { useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { mySeat } from "./model";
import { useReview } from "./ReviewContext";

/** Gives the person's seat back. */
export function ReleaseDialog({ onClose }: { onClose: () => void }) {
  const { id, review, me } = useReview();
  const [seat] = useState(() => mySeat(review, me));
  const [reason, setReason] = useDraftText(`release.${id}`);
  const { send, isSending, error } = useSend(
    (text: string) =>
      call("release_claim", {
        review_id: id,
        reviewer_id: me.name,
        claim_generation: seat?.claim_generation,
        ...(text !== "" && { reason: text }),
      }),
    () => {
      setReason("");
      onClose();
    },
  );
  return (
    <FormDialog
      title={`Give back your seat of ${review.number}`}
      action="Give it back"
      onClose={onClose}
      onSend={() => send(reason.trim())}
      isSending={isSending}
      hasDraft={reason !== ""}
      error={error}
    >
      <p>
        The seat <Name className="font-semibold">{seat?.persona ?? ""}</Name> is free for others at once. Your drafts
        stay in this browser.
      </p>
      <Field label="Reason (optional)" value={reason} onChange={setReason} isMultiline rows={2} autoFocus />
    </FormDialog>
  );
}
