import { useState } from "react";
import { Name } from "../../text/UserText";
import { Press } from "../../ui/Press";
import { type Schema, type Types, typeNameOf, typeWords } from "./model";

/** The name of a type. One with fields or words of its own opens under it. */
export function TypeName({ schema, types }: { schema: Schema; types: Types }) {
  const [isOpen, setOpen] = useState(false);
  const name = typeNameOf(schema);
  const type = name === null ? undefined : types[name];
  if (type === undefined) return <code className="text-xs break-words">{typeWords(schema)}</code>;
  return (
    <div>
      <Press
        aria-expanded={isOpen}
        onPress={() => setOpen(!isOpen)}
        className="rounded-sm text-left font-mono text-xs text-accent underline decoration-dotted hover:bg-hover"
      >
        {typeWords(schema)}
      </Press>
      {isOpen && <Fields type={type} types={types} />}
    </div>
  );
}

function Fields({ type, types }: { type: Schema; types: Types }) {
  const fields = Object.entries(type.properties ?? {});
  const required = new Set(type.required ?? []);
  return (
    <div className="my-1 border-l-2 border-line pl-3 text-xs">
      {type.description !== undefined && (
        <p className="text-dim">
          <Name>{type.description}</Name>
        </p>
      )}
      {fields.length === 0 ? (
        <code className="break-words">{typeWords(type)}</code>
      ) : (
        <dl className="flex flex-col gap-1">
          {fields.map(([name, given]) => (
            <div key={name} className="flex flex-wrap gap-x-2">
              <dt>
                <code className="font-semibold">{name}</code>
                {!required.has(name) && <span className="text-dim"> may be absent</span>}
              </dt>
              <dd className="min-w-0">
                {given === true ? <code>any value</code> : <TypeName schema={given} types={types} />}
              </dd>
              {given !== true && given.description !== undefined && (
                <dd className="w-full text-dim">
                  <Name>{given.description}</Name>
                </dd>
              )}
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
