import { useEffect, useRef, useState } from "react";
import { useLiveSocket } from "./live/LiveContext";
import { announcement } from "./announcement";
import { useMe } from "./me";

const PAUSE_MS = 3_000;

/** Says in one polite sentence when a review waits for the person, at most every three seconds. */
export function Announcer() {
  const socket = useLiveSocket();
  const { name, isOperator } = useMe();
  const [sentence, setSentence] = useState("");
  const lastAt = useRef(0);
  useEffect(
    () =>
      socket.onEvent((event) => {
        const next = announcement(event, name, isOperator);
        if (next === null || Date.now() - lastAt.current < PAUSE_MS) return;
        lastAt.current = Date.now();
        setSentence(next);
      }),
    [socket, name, isOperator],
  );
  return (
    <div aria-live="polite" className="sr-only">
      {sentence}
    </div>
  );
}
