/** Calls that change a review. None is optimistic: the broker's answer decides what the page shows. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { type Answer, type Args, call } from "../../api/client";
import { keys } from "../../api/keys";
import type { SeatChoice } from "./model";
import { useReview } from "./ReviewContext";

export interface Send<Given, Result> {
  send: (given: Given) => void;
  isSending: boolean;
  error: Error | null;
  result: Result | null;
}

/** Sends a change. Whether it is accepted or refused, the review is loaded again, so that the page says what is. */
export function useSend<Given, Result>(
  run: (given: Given) => Promise<Result>,
  onDone?: (result: Result, given: Given) => void,
): Send<Given, Result> {
  const queries = useQueryClient();
  const { id } = useReview();
  const latest = useRef(onDone);
  latest.current = onDone;
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: (result, given) => latest.current?.(result, given),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.review(id) });
      void queries.invalidateQueries({ queryKey: keys.lists });
    },
  });
  return {
    send: (given) => {
      if (!mutation.isPending) mutation.mutate(given);
    },
    isSending: mutation.isPending,
    error: mutation.error,
    result: mutation.data ?? null,
  };
}

/** A step of a verdict was refused or did not lead to a vote. The seat may be taken already. */
export class NotVoted extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NotVoted";
  }
}

export interface VerdictGiven {
  id: string;
  name: string;
  seat: SeatChoice;
  /** Of the seat that the person holds already. */
  generation: number | undefined;
  verdict: Omit<Args<"submit_verdict">, "review_id" | "reviewer_id" | "claim_generation" | "content_hash">;
  /** The content that was on screen. */
  hash: string;
}

/** Takes the seat if the person does not hold it, then votes from it, for the content that was on screen. */
export async function giveVerdict(given: VerdictGiven): Promise<Answer<"submit_verdict">> {
  const { id, name, seat, hash } = given;
  let generation = given.generation;
  if (seat.how !== "mine") {
    const claim = await takeSeat(id, name, seat);
    if (claim.auto_rejected) throw new NotVoted("The broker sent the review back, because its diff does not apply.");
    if (claim.content_hash !== hash) {
      throw new NotVoted(`You hold the seat ${seat.persona} now, but the content is another one than that on screen.`);
    }
    generation = claim.claim_generation;
  }
  const verdict = {
    ...given.verdict,
    review_id: id,
    reviewer_id: name,
    content_hash: hash,
    claim_generation: generation,
  };
  return call("submit_verdict", verdict);
}

export async function takeSeat(
  id: string,
  name: string,
  { how, persona }: SeatChoice,
): Promise<Answer<"claim_review">> {
  const args = { review_id: id, reviewer_id: name, persona };
  if (how === "take_over") return call("take_over", args);
  if (how === "add") await call("add_seat", { review_id: id, reviewer: persona, role: "operator", caller_id: name });
  return call("claim_review", args);
}
