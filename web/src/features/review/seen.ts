/** What this person has seen of a review: the round and the version of the last visit. */
import { useEffect, useState } from "react";
import { read, write } from "../../storage";

export interface Seen {
  round: number;
  version: number;
}

function isSeen(value: unknown): value is Seen {
  const seen = value as Seen | null;
  return typeof seen === "object" && seen !== null && [seen.round, seen.version].every(Number.isInteger);
}

/** The round to compare with: the latest one that was on screen and is not the current one. */
export function previousRound(before: Seen | null, shownRounds: readonly number[], current: number): number | null {
  const rounds = [...(before === null ? [] : [before.round]), ...shownRounds].filter((round) => round < current);
  return rounds.length === 0 ? null : Math.max(...rounds);
}

/** The state at the last visit. While the page is open it stays the same; the present state is stored for the next one. */
export function useSeen(id: string, review: { current_round: number; version: number }, isPast: boolean): Seen | null {
  const key = `seen.${id}`;
  const [before] = useState(() => read(key, isSeen));
  const { current_round: round, version } = review;
  useEffect(() => {
    const store = () => {
      if (document.visibilityState === "visible" && !isPast) write(key, { round, version });
    };
    store();
    document.addEventListener("visibilitychange", store);
    return () => document.removeEventListener("visibilitychange", store);
  }, [key, round, version, isPast]);
  return before;
}
