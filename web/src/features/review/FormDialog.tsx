import { type ReactNode, useState } from "react";
import { keyOf } from "../../keys/bindings";
import { formKeys } from "../../keys/formKeys";
import { useKeys } from "../../keys/KeysContext";
import { useWhyNotSend } from "../../live/useWhyNotSend";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Refusal } from "../../ui/Failure";
import { changesBetween, shortHash } from "./model";
import { useReview } from "./ReviewContext";

interface FormDialogProps {
  title: string;
  onClose: () => void;
  /** The word on the button. */
  action: string;
  isDanger?: boolean;
  onSend: () => void;
  isSending: boolean;
  error: Error | null;
  /** Something was typed, which stays when the form is closed. */
  hasDraft?: boolean;
  /** Why it cannot be sent as it is. */
  problem?: string | null;
  children?: ReactNode;
}

/**
 * A form that changes the review. It names round and content, says what changed since it was opened, and keeps what was
 * typed if the change is refused.
 */
export function FormDialog(props: FormDialogProps) {
  const { review, me, shown } = useReview();
  const whyNot = useWhyNotSend();
  const problem = props.problem ?? null;
  const isReady = whyNot === null && problem === null && !props.isSending;
  const send = () => isReady && props.onSend();
  // Also while the focus is not in a field.
  useKeys({ send });
  return (
    <Dialog title={props.title} isOpen onClose={props.onClose} isWide>
      <form className="flex flex-col gap-4" {...formKeys(send)}>
        <p className="text-dim">
          <Name>{review.intent}</Name>
          <br />
          Round {shown.round} of {review.current_round} · content{" "}
          <code title={shown.hash ?? ""}>{shortHash(shown.hash ?? "")}</code> · as <Name>{me.name}</Name>
        </p>
        {props.children}
        <Changes />
        <Refusal error={props.error} />
        <div className="flex flex-wrap items-center justify-end gap-2">
          {(whyNot ?? problem) !== null && <p className="mr-auto text-warn">{whyNot ?? problem}</p>}
          <Button kind="quiet" onPress={props.onClose}>
            {props.hasDraft === true ? "Close, keep the draft" : "Close"}
          </Button>
          <Button
            kind={props.isDanger === true ? "danger" : "primary"}
            isSending={props.isSending}
            isDisabled={whyNot !== null || problem !== null}
            shortcut={keyOf("send")}
            onPress={props.onSend}
          >
            {props.action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What happened to the review since the form was opened. */
function Changes() {
  const { review, me } = useReview();
  const [before] = useState(review);
  const changes = changesBetween(before, review, me);
  if (changes.length === 0) return null;
  return (
    <div role="alert" className="rounded bg-warn-bg px-3 py-2 text-warn">
      <p className="font-medium">Changed since you opened this form:</p>
      <ul className="list-disc pl-5">
        {changes.map((change) => (
          <li key={change}>
            <Name>{change}</Name>
          </li>
        ))}
      </ul>
    </div>
  );
}
