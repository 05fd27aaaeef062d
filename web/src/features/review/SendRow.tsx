import type { ReactNode } from "react";
import { keyOf } from "../../keys/bindings";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { Choice } from "./Choice";
import type { NewMessage } from "./useMessage";

/** The last row of a form for a message: to whom, other buttons, send, and why it was refused. */
export function SendRow({ message, body, children }: { message: NewMessage; body: string; children?: ReactNode }) {
  const { choices, chosen, choose, whyNot, send, isSending, error } = message;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        {chosen !== null && <Choice label="to" value={chosen.key} options={choices} onChange={choose} />}
        <span className="grow" />
        {children}
        <Button
          isSending={isSending}
          isDisabled={body === "" || whyNot !== null || chosen === null}
          shortcut={keyOf("send")}
          onPress={() => send(body)}
        >
          Send
        </Button>
      </div>
      {whyNot !== null && <p className="text-xs text-warn">{whyNot}</p>}
      <Refusal error={error} />
    </>
  );
}
