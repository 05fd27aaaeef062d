import { useEffect, useRef, useState } from "react";
import { keyOf } from "../keys/bindings";
import { useKeys } from "../keys/KeysContext";
import { KeyHint } from "./KeyHint";

const TYPING_MS = 200;

interface FindProps {
  label: string;
  value: string;
  /** Called when the typing rests. */
  onChange: (text: string) => void;
}

/** A field that narrows a list. `/` leads to it, Enter and Esc leave it. */
export function Find({ label, value, onChange }: FindProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  // What was sent last: the address may also change by Back.
  const sent = useRef(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  useKeys({ find: () => input.current?.focus() });
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const wanted = text.trim();
  useEffect(() => {
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      latest.current(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return (
    <div className="relative w-72 max-w-full">
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key, currentTarget, nativeEvent }) => {
          if (nativeEvent.isComposing || (key !== "Escape" && key !== "Enter")) return;
          // Browsers would empty the field.
          if (key === "Escape") nativeEvent.preventDefault();
          currentTarget.blur();
        }}
        className="w-full rounded border border-line-strong bg-bg px-2 py-1 pr-8 text-sm placeholder:text-dim"
      />
      <span className="pointer-events-none absolute top-1 right-2" aria-hidden="true">
        {text === "" && <KeyHint keys={keyOf("find")} />}
      </span>
    </div>
  );
}
