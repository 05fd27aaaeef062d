import { useEffect, useRef, useState } from "react";
import { keyOf } from "../keys/bindings";
import { useActiveActions, useKeys } from "../keys/KeysContext";
import { KeyHint } from "./KeyHint";
import { Press } from "./Press";

interface FindFieldProps {
  label: string;
  placeholder: string;
  /** What the address says. */
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

const TYPING_MS = 250;

/** A text that narrows a list. It goes to the address when the person stops typing; Enter goes on to the rows. */
export function FindField({ label, placeholder, value: shown, onChange, autoFocus = false }: FindFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(shown);
  // What was sent last: the address may also change by Back, or by "Clear the filters".
  const sent = useRef(shown);
  useKeys({ find: () => input.current?.focus() });
  const { active, run } = useActiveActions();
  // Enter was pressed: on to the rows, as soon as there are some.
  const [goesOn, setGoesOn] = useState(false);
  const canGoOn = goesOn && active.has("down");
  useEffect(() => {
    if (!canGoOn) return;
    setGoesOn(false);
    run("down");
  }, [canGoOn, run]);
  useEffect(() => {
    if (shown !== sent.current) {
      sent.current = shown;
      setText(shown);
    }
  }, [shown]);
  const latest = useRef(onChange);
  latest.current = onChange;
  const wanted = text.trim();
  const clear = () => {
    setText("");
    input.current?.focus();
  };
  useEffect(() => {
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      latest.current(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  return (
    <search className="flex min-h-7 w-full items-center gap-2 rounded border border-line-strong bg-bg px-2 focus-within:border-accent sm:w-72">
      <Magnifier />
      <input
        ref={input}
        type="search"
        aria-label={label}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: only on a page that is nothing but a search
        autoFocus={autoFocus}
        onChange={({ target }) => {
          setText(target.value);
          setGoesOn(false);
        }}
        onKeyDown={({ key, nativeEvent }) => {
          if (nativeEvent.isComposing) return;
          if (key === "Escape") {
            // Browsers would empty the field.
            nativeEvent.preventDefault();
            input.current?.blur();
          }
          if (key !== "Enter" && key !== "ArrowDown") return;
          nativeEvent.preventDefault();
          setGoesOn(true);
        }}
        placeholder={placeholder}
        className="min-w-0 grow bg-transparent py-1 text-sm outline-none placeholder:text-dim [&::-webkit-search-cancel-button]:hidden"
      />
      {text === "" ? (
        <span className="text-dim">
          <KeyHint keys={keyOf("find")} />
        </span>
      ) : (
        <Press onPress={clear} aria-label="Clear search" className="rounded-sm px-1 text-dim hover:bg-hover">
          <span aria-hidden="true">✕</span>
        </Press>
      )}
    </search>
  );
}

function Magnifier() {
  return (
    <svg aria-hidden="true" viewBox="0 0 16 16" className="size-4 shrink-0 fill-none stroke-dim stroke-2">
      <circle cx="7" cy="7" r="4.5" />
      <path d="M10.5 10.5 14 14" />
    </svg>
  );
}
