/** Calls that change the pool. None is optimistic: the broker's answer decides what the page shows. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { keys } from "../../api/keys";
import { useLive } from "../../live/LiveContext";

export interface Change<Given> {
  send: (given: Given) => void;
  isSending: boolean;
  error: Error | null;
}

/** Sends a change. Whether it is accepted or refused, the pool is loaded again. */
export function useChange<Given>(run: (given: Given) => Promise<unknown>, onDone: () => void): Change<Given> {
  const queries = useQueryClient();
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: onDone,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.pool });
      void queries.invalidateQueries({ queryKey: keys.reviewers });
    },
  });
  return {
    send: (given) => {
      if (!mutation.isPending) mutation.mutate(given);
    },
    isSending: mutation.isPending,
    error: mutation.error,
  };
}

/** Why nothing can be sent now. `null`: it can. */
export function useWhyNotSend(): string | null {
  const { state } = useLive();
  if (state === "offline") return "The broker does not answer.";
  if (state === "signed_out") return "You are signed out.";
  return null;
}
