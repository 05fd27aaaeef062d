import type { ReactNode } from "react";
import { keyOf } from "../../keys/bindings";
import { useKeys } from "../../keys/KeysContext";
import { useMe } from "../../me";
import { Name } from "../../text/UserText";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Refusal } from "../../ui/Failure";
import { type Change, useWhyNotSend } from "./actions";

interface PoolDialogProps {
  title: string;
  /** The word on the button. */
  action: string;
  isDanger?: boolean;
  change: Change<void>;
  /** Why it cannot be sent as it is. */
  problem?: string | null;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before the pool is changed: what will happen, and under which name. */
export function PoolDialog(props: PoolDialogProps) {
  const { title, action, isDanger = false, change, problem = null, onClose, children } = props;
  const me = useMe();
  const whyNot = useWhyNotSend() ?? problem;
  const send = () => whyNot === null && change.send();
  useKeys({ send });
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        {children}
        <p className="text-xs text-dim">
          The audit log names you: <Name>{me.name}</Name>
        </p>
        <Refusal error={change.error} />
        <div className="flex flex-wrap items-center justify-end gap-2">
          {whyNot !== null && <p className="mr-auto text-warn">{whyNot}</p>}
          <Button kind="quiet" onPress={onClose}>
            Close
          </Button>
          <Button
            kind={isDanger ? "danger" : "primary"}
            isSending={change.isSending}
            isDisabled={whyNot !== null}
            shortcut={keyOf("send")}
            onPress={send}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
