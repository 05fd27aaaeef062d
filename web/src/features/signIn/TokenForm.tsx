import { useState } from "react";
import { isCode } from "../../api/client";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { Field } from "../../ui/Field";

interface TokenFormProps {
  isSending: boolean;
  error: unknown;
  onSend: (token: string) => void;
}

/** The second way to sign in. The token goes to the broker and is forgotten here. */
export function TokenForm({ isSending, error, onSend }: TokenFormProps) {
  const [token, setToken] = useState("");
  // Not while the next one is typed.
  const isWrong = isCode(error, "unknown_token") && token === "";
  return (
    <form
      className="flex flex-col gap-3 pl-6"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() === "") return;
        onSend(token.trim());
        setToken("");
      }}
    >
      <Field
        label="Token"
        value={token}
        onChange={setToken}
        isSecret
        error={isWrong ? "The broker does not know this token, or it was revoked." : null}
        hint={
          <>
            It is sent to the broker once and not stored in this browser.{" "}
            <code>countersign token create --role operator --name NAME</code> makes one.
          </>
        }
      />
      {!isCode(error, "unknown_token") && <Refusal error={error} />}
      <div>
        <Button type="submit" kind="primary" isSending={isSending} isDisabled={token.trim() === ""}>
          Sign in
        </Button>
      </div>
    </form>
  );
}
