import { call } from "../../api/client";
import { Name } from "../../text/UserText";
import { proposerOf } from "../../turns";
import { useSend } from "./actions";
import { FormDialog } from "./FormDialog";
import { isProposer } from "./model";
import { useReview } from "./ReviewContext";

interface PatchDialogProps {
  persona: string;
  answer: "accept" | "reject";
  onClose: () => void;
}

/** Accepts or rejects a counter-patch. */
export function PatchDialog({ persona, answer, onClose }: PatchDialogProps) {
  const { id, review, me, go, showLatest } = useReview();
  const isAccept = answer === "accept";
  const { send, isSending, error } = useSend(
    () => {
      const args = { review_id: id, persona, caller_id: me.name };
      return isAccept ? call("accept_counter_patch", args) : call("reject_counter_patch", args);
    },
    () => {
      go({ patch: undefined });
      if (isAccept) showLatest("next");
      onClose();
    },
  );
  return (
    <FormDialog
      title={`${isAccept ? "Accept" : "Reject"} the counter-patch of ${persona}`}
      action={isAccept ? "Accept" : "Reject"}
      onClose={onClose}
      onSend={() => send(undefined)}
      isSending={isSending}
      error={error}
    >
      <p>
        {isAccept
          ? `It replaces the diff of ${review.number}. Approvals of the old content no longer count, and reviewers look again.`
          : "The reviewer sees it and votes again."}
        {!isProposer(review, me) && (
          <>
            {" "}
            You decide for <Name>{proposerOf(review)}</Name>.
          </>
        )}
      </p>
    </FormDialog>
  );
}
