/** The reviewers that the broker starts: their state, for the pages that tell why a review waits. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { type Answer, call } from "./api/client";
import { keys } from "./api/keys";
import { useMe } from "./me";

export type Pool = Answer<"list_reviewers">;

/** Events tell of reviewers, not of the end of a delay. */
const RECHECK_MS = 10_000;

export const pool = () =>
  queryOptions({
    queryKey: keys.pool,
    queryFn: ({ signal }) => call("list_reviewers", {}, { signal }),
    refetchInterval: ({ state }) => (isSettled(state.data) ? false : RECHECK_MS),
  });

function isSettled(data: Pool | undefined): boolean {
  return data === undefined || data.state === "ready" || data.state === "disabled" || data.state === "paused";
}

/** Not before the broker has said who asks. */
function usePoolQuery() {
  const { whoami } = useMe();
  return useQuery({ ...pool(), enabled: whoami !== null });
}

/** `null`: not known yet, or the person may not see it. */
export function usePool(): Pool | null {
  return usePoolQuery().data ?? null;
}

/** Whether the broker has answered, with the pool or with a refusal. */
export function useIsPoolKnown(): boolean {
  return !usePoolQuery().isPending;
}

/** Whether reviews that wait will be taken by a reviewer of the broker. */
export function isServing(state: Pool | null): boolean {
  return state !== null && (state.state === "ready" || state.state === "starting" || state.state === "backing_off");
}

/** Whether a person has to repair something before reviewers start again. */
export function isBroken(state: Pool | null): boolean {
  return state !== null && (state.state === "crash_loop" || state.state === "unavailable");
}

const STATES: Record<string, string> = {
  crash_loop: "Reviewers end as soon as they start",
  unavailable: "Reviewers cannot be started",
  backing_off: "The last reviewer failed",
  paused: "The pool is paused",
};

/** What is wrong with the pool, in words. `null` if nothing is. */
export function troubleWords(state: Pool | null): string | null {
  return state === null ? null : (STATES[state.state] ?? null);
}
