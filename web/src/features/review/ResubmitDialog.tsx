import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/client";
import { Name } from "../../text/UserText";
import { proposerOf } from "../../turns";
import { Field } from "../../ui/Field";
import { useSend } from "./actions";
import { useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { isOpen, isProposer, shortHash } from "./model";
import { description } from "./queries";
import { useReview } from "./ReviewContext";

/** Submits the next round: the branch at its head now, a new description, or the same content again. */
export function ResubmitDialog({ onClose }: { onClose: () => void }) {
  const { id, review, me, showLatest } = useReview();
  const [note, setNote] = useDraftText(`resubmit.${id}`);
  const isPlan = !review.has_diff;
  const { data: before } = useQuery({
    ...description({ id, at: null }, review.current_round, review.content_hash),
    enabled: isPlan,
  });
  const [plan, setPlan] = useState<string | null>(null);
  const text = plan ?? before ?? "";
  const [diff, setDiff] = useState("");
  const isPasted = diff.trim() !== "";
  const { target, branch_head } = review;
  const readsBranch = target?.kind === "branch";
  const isSame = isPlan ? text === before : !isPasted && !(readsBranch && branch_head !== target.head);
  const isRepeat = isSame && (isOpen(review.status) || review.status === "approved");
  const { send, isSending, error } = useSend(
    () =>
      call("resubmit_review", {
        review_id: id,
        proposer_id: proposerOf(review),
        ...(note.trim() !== "" && { change_note: note.trim() }),
        ...(isPlan && text !== before && { description: text }),
        // git refuses a patch whose last line does not end.
        ...(isPasted && { diff: diff.endsWith("\n") ? diff : `${diff}\n` }),
      }),
    () => {
      setNote("");
      showLatest("next");
      onClose();
    },
  );
  return (
    <FormDialog
      title={`Ask for a new review of ${review.number}`}
      action={`Submit round ${review.current_round + 1}`}
      onClose={onClose}
      onSend={() => send(undefined)}
      isSending={isSending}
      hasDraft={note !== ""}
      error={error}
      problem={
        isRepeat && (isPlan || !readsBranch || branch_head !== undefined)
          ? "The content is the same and no reviewer has objected, so there is nothing to submit."
          : null
      }
    >
      <p className="text-dim">
        {readsBranch ? (
          <>
            The broker reads <Name>{target.name}</Name> again
            {branch_head !== undefined && `, at ${shortHash(branch_head)} (this round has ${shortHash(target.head)})`}.{" "}
          </>
        ) : isPlan ? (
          "Change the plan, or send it as it is. "
        ) : (
          "Paste a new diff, or send the same one again. "
        )}
        All seats have to vote again, and an approval no longer counts.
        {!isProposer(review, me) && (
          <>
            {" "}
            You do this for <Name>{proposerOf(review)}</Name>.
          </>
        )}
      </p>
      {!isPlan && !readsBranch && (
        <Field
          label="Diff"
          value={diff}
          onChange={setDiff}
          isMultiline
          rows={6}
          placeholder="empty: the same diff again"
          hint="As `git diff` prints it, against the same base."
        />
      )}
      {isPlan && <Field label="Plan" value={text} onChange={setPlan} isMultiline rows={12} />}
      <Field
        label="What changed, or why it should be looked at again"
        value={note}
        onChange={setNote}
        isMultiline
        rows={3}
        autoFocus={!isPlan}
      />
    </FormDialog>
  );
}
