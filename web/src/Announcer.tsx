import { useEffect, useRef, useState } from "react";
import { announcement, type NeedsMe } from "./announcement";
import { useNewTurns } from "./useNewTurns";

const PAUSE_MS = 3_000;

/** Says in one polite sentence what needs the person, at most every three seconds. */
export function Announcer() {
  const [sentence, setSentence] = useState("");
  const waiting = useRef<NeedsMe[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useNewTurns((fresh) => {
    waiting.current.push(...fresh);
    if (timer.current === null) speak();
  });
  const speak = () => {
    timer.current = null;
    const next = announcement(waiting.current);
    waiting.current = [];
    if (next === null) return;
    setSentence(next);
    timer.current = setTimeout(speak, PAUSE_MS);
  };
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return (
    <div aria-live="polite" className="sr-only">
      {sentence}
    </div>
  );
}
