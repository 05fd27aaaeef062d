import { useEffect, useState } from "react";
import { Press } from "../ui/Press";
import { useLive, useLiveSocket } from "./LiveContext";

/** The connection in words, and the button that pauses updates. */
export function LiveDot() {
  const live = useLive();
  const socket = useLiveSocket();
  const seconds = useSecondsUntil(live.nextDialAt);
  const [glyph, colour, words] = live.isPaused
    ? (["❚❚", "text-warn", `paused · ${live.pausedEvents} new`] as const)
    : live.state === "live"
      ? (["●", "text-ok", "live"] as const)
      : live.state === "signed_out"
        ? (["○", "text-warn", "signed out"] as const)
        : live.state === "connecting"
          ? (["◌", "text-dim", "connecting"] as const)
          : (["○", "text-bad", seconds === null ? "offline" : `offline · next try in ${seconds} s`] as const);
  return (
    <Press
      className="flex items-center gap-2 rounded px-2 py-1 text-left text-xs whitespace-nowrap text-dim hover:bg-hover hover:text-text md:px-3"
      onPress={() => socket.setPaused(!live.isPaused)}
      aria-label={`${words}. ${live.isPaused ? "Continue live updates" : "Pause live updates"}`}
    >
      <span aria-hidden="true" className={colour}>
        {glyph}
      </span>
      {words}
    </Press>
  );
}

function useSecondsUntil(at: number | null): number | null {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (at === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [at]);
  return at === null ? null : Math.max(0, Math.ceil((at - now) / 1000));
}
