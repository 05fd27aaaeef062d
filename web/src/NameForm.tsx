import { useState } from "react";
import { type Me, useMe } from "./me";
import { inertLine } from "./text/inert";
import { Name } from "./text/UserText";
import { Button } from "./ui/Button";
import { Field } from "./ui/Field";

const MAX_LENGTH = 200;

/** What is wrong with a name, or `null`. The broker has the last word. */
export function nameError(name: string): string | null {
  if (name === "") return "A name is needed to take part.";
  if (name.length > MAX_LENGTH) return `At most ${MAX_LENGTH} characters.`;
  return inertLine(name, MAX_LENGTH) === name ? null : "It has characters that cannot be seen.";
}

/** The name under which the person votes and writes. */
export function NameForm({ onSaved }: { onSaved?: () => void }) {
  const me = useMe();
  if (me.isFixed) {
    return (
      <p>
        You act as <Name className="font-medium">{me.name}</Name>. The name belongs to your token.
      </p>
    );
  }
  return <Chosen key={me.name} me={me} onSaved={onSaved ?? (() => {})} />;
}

function Chosen({ me, onSaved }: { me: Me; onSaved: () => void }) {
  const [name, setName] = useState(me.name);
  const wanted = name.trim();
  const error = nameError(wanted);
  const isSaved = !me.isSuggested && wanted === me.name;
  return (
    <form
      className="flex w-full flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (error !== null) return;
        me.setName(wanted);
        onSaved();
      }}
    >
      <div className="w-64 max-w-full">
        <Field label="Your name" value={name} onChange={setName} error={name === me.name ? null : error} />
      </div>
      <Button type="submit" isDisabled={error !== null || isSaved}>
        {isSaved ? "Saved" : me.isSuggested && wanted === me.name ? "That is me" : "Save"}
      </Button>
    </form>
  );
}
