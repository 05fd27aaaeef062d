import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { inert } from "../../text/inert";
import { Button } from "../../ui/Button";
import { Refusal } from "../../ui/Failure";
import { Field } from "../../ui/Field";
import { addressOf, type Operation, type Types, wordsOf } from "./model";

/** Longer answers are cut on the page. */
const MAX_CHARS = 50_000;

interface Tried {
  address: string;
  status: string;
  text: string;
}

/** Sends a call that changes nothing, as the person who uses the page, and shows the answer. */
export function TryRead({ operation, types }: { operation: Operation; types: Types }) {
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const tried = useMutation({
    mutationFn: async (address: string): Promise<Tried> => {
      const answer = await fetch(address, { headers: { accept: "application/json" } });
      const text = await answer.text();
      return { address, status: `${answer.status} ${answer.statusText}`, text: pretty(text) };
    },
  });
  const asked = operation.arguments.filter(({ place }) => place === "path" || place === "query");
  const address = addressOf(operation, values);
  const send = () => address !== null && tried.mutate(address);
  return (
    <form
      aria-label={`Try ${operation.title}`}
      className="flex flex-col gap-3 rounded bg-raised p-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <h4 className="font-medium">Try it</h4>
      {asked.length > 0 && (
        <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
          {asked.map(({ name, schema, isRequired }) => (
            <Field
              key={name}
              label={name}
              value={values.get(name) ?? ""}
              isRequired={isRequired}
              placeholder={wordsOf(schema, types)?.join(" | ") ?? ""}
              onChange={(value) => setValues(new Map([...values, [name, value]]))}
            />
          ))}
        </div>
      )}
      <div className="flex flex-wrap items-center gap-3">
        <Button kind="primary" type="submit" isSending={tried.isPending} isDisabled={address === null}>
          Send
        </Button>
        <code className="min-w-0 text-xs break-all text-dim">{address ?? "Fill in what is required."}</code>
      </div>
      <Refusal error={tried.error} />
      {tried.data !== undefined && <Shown tried={tried.data} />}
    </form>
  );
}

function Shown({ tried: { status, text } }: { tried: Tried }) {
  return (
    <div role="status" aria-label="Answer">
      <p className="font-mono text-xs">{status}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="max-h-96 overflow-auto rounded border border-line bg-bg p-2 text-xs">
        {inert(text.slice(0, MAX_CHARS))}
        {text.length > MAX_CHARS && `\n… ${text.length - MAX_CHARS} more characters`}
      </pre>
    </div>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
