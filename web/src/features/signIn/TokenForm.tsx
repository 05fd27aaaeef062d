import { useState } from "react";
import { Form, Input, Label, Text, TextField } from "react-aria-components";
import { isCode } from "../../api/client";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";

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
    <Form
      // The browser's own check would refuse every further token after one that the broker did not know.
      validationBehavior="aria"
      className="flex flex-col gap-3 pl-6"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() === "") return;
        onSend(token.trim());
        setToken("");
      }}
    >
      <TextField value={token} onChange={setToken} isInvalid={isWrong} type="password" className="flex flex-col gap-1">
        <Label className="font-medium">Token</Label>
        <Input
          autoComplete="off"
          spellCheck="false"
          className="w-full rounded border border-line-strong bg-bg px-2 py-1 font-mono text-sm data-invalid:border-bad"
        />
        <Text slot="description" className="text-xs text-dim">
          It is sent to the broker once and not stored in this browser.{" "}
          <code>countersign token create --role operator --name NAME</code> makes one.
        </Text>
        {isWrong && (
          <Text slot="errorMessage" className="text-xs text-bad">
            The broker does not know this token, or it was revoked.
          </Text>
        )}
      </TextField>
      {!isCode(error, "unknown_token") && <Refusal error={error} />}
      <div>
        <Button type="submit" kind="primary" isSending={isSending} isDisabled={token.trim() === ""}>
          Sign in
        </Button>
      </div>
    </Form>
  );
}
