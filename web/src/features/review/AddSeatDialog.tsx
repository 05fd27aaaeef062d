import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client";
import { personas } from "../../personas";
import { Field } from "../../ui/Field";
import { useSend } from "./actions";
import { Choice } from "./Choice";
import { useDraftText } from "./drafts";
import { FormDialog } from "./FormDialog";
import { isProposer } from "./model";
import { useReview } from "./ReviewContext";

/** Asks for one more reviewer. */
export function AddSeatDialog({ onClose }: { onClose: () => void }) {
  const { id, review, me } = useReview();
  const { data } = useQuery(personas());
  const [reviewer, setReviewer] = useDraftText(`seat.${id}`);
  const role = isProposer(review, me) ? ("proposer" as const) : ("operator" as const);
  const { send, isSending, error } = useSend(
    (name: string) => call("add_seat", { review_id: id, reviewer: name, role, caller_id: me.name }),
    () => {
      setReviewer("");
      onClose();
    },
  );
  const known = (data?.personas ?? []).map(({ name, focus }) => ({ key: name, label: `${name}: ${focus}` }));
  const others = known.filter(({ key }) => !review.seats.some(({ persona }) => persona === key));
  const name = reviewer.trim();
  const hasSeat = review.seats.some(({ persona }) => persona === name);
  return (
    <FormDialog
      title={`Add a seat to ${review.number}`}
      action="Add the seat"
      onClose={onClose}
      onSend={() => send(name)}
      isSending={isSending}
      hasDraft={name !== ""}
      error={error}
      problem={name === "" ? "Say who should review." : hasSeat ? "The review has this seat already." : null}
    >
      <Field
        label="Reviewer"
        value={reviewer}
        onChange={setReviewer}
        hint={`A persona such as "security", or "@${me.name}" for one person or agent, which only that name can take.`}
        autoFocus
      />
      {others.length > 0 && <Choice label="Known personas" value="" options={others} onChange={setReviewer} />}
      {role === "operator" && !review.seats.some(({ persona }) => persona === `@${me.name}`) && (
        <Choice
          label="Or"
          value=""
          options={[{ key: `@${me.name}`, label: `@${me.name}: me` }]}
          onChange={setReviewer}
        />
      )}
      <p className="text-dim">The seat is required like the others, and seats are never removed.</p>
    </FormDialog>
  );
}
