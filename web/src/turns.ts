/** Whose turn it is, in the words of the person who reads the page. */
import type { Escalation, ReviewRow, SeatState, Turn } from "./api/generated";

/** The part of `Me` that decides whose turn it is. */
export interface Person {
  name: string;
  isOperator: boolean;
}

/** What a list row, a status and an event have in common. */
export interface Waiting {
  waiting_on: readonly Turn[];
  proposer_id?: string;
  agent_type: string;
  claimed_by?: string;
  seats?: readonly SeatState[];
}

/** The name that the broker knows the proposer by. */
export function proposerOf({ proposer_id, agent_type }: Pick<Waiting, "proposer_id" | "agent_type">): string {
  return proposer_id ?? agent_type;
}

/** The turns that this person can act on, a free seat among them. It follows the broker's own rule for `my_turn`. */
export function turnsOf(review: Waiting, person: Person): Turn[] {
  const isProposer = proposerOf(review) === person.name;
  const holdsSeat =
    review.claimed_by === person.name || (review.seats ?? []).some((seat) => seat.claimed_by === person.name);
  return review.waiting_on.filter((turn) => {
    if (turn.who === "operator") return person.isOperator;
    if (turn.name !== undefined) return turn.name === person.name && (turn.who === "proposer") === isProposer;
    return turn.who === "reviewer" && !isProposer && !holdsSeat;
  });
}

/** A seat that any reviewer can take. */
export function isOpenToAll(turn: Turn): boolean {
  return turn.who === "reviewer" && turn.name === undefined;
}

/** The same turn has the same key as long as it lasts, so that it is announced once. */
export function turnKey(reviewId: string, { who, seat, why, since }: Turn): string {
  return [reviewId, who, seat ?? "", why, since].join(" ");
}

const ESCALATIONS: Record<Escalation, string> = {
  max_rounds: "no agreement after all its rounds",
  max_minutes: "it takes too long",
  max_cost_usd: "its budget is spent",
  oscillating_findings: "findings come back after they were fixed",
  max_exchanges: "the discussion does not end",
  could_not_review: "a reviewer gave up",
};

export function escalationWords(why: Escalation | undefined): string {
  return why === undefined ? "it needs a person" : ESCALATIONS[why];
}

/** Why it is the person's turn. */
export function myTurnWords(turn: Turn, review: Pick<ReviewRow, "escalate_why">): string {
  const seat = turn.seat === undefined || turn.seat === "general" ? "" : ` (${turn.seat})`;
  switch (turn.why) {
    case "unclaimed":
      return turn.name === undefined ? `needs a reviewer${seat}` : "asks for your review";
    case "reviewing":
      return `your vote is missing${seat}`;
    case "message":
      return `a message waits for your answer${seat}`;
    case "issue_answered":
      return `the author answered a finding${seat}`;
    case "counter_patch_offered":
      return "a counter-patch waits for you";
    case "counter_patch_accepted":
      return `counter-patch accepted, look again${seat}`;
    case "counter_patch_rejected":
      return `counter-patch declined, vote again${seat}`;
    case "changes_requested":
      return "changes requested: revise it";
    case "diff_does_not_apply":
      return "its diff does not apply: revise it";
    case "approved":
      return "approved: land and close it";
    case "rejected":
      return "rejected: revise or close it";
    case "cancelled":
      return "cancelled: close it";
    case "escalated":
      return `escalated: ${escalationWords(review.escalate_why)}`;
  }
}

/** Whom the review waits for, for a person whose turn it is not. */
export function waitingWords(review: Pick<ReviewRow, "waiting_on" | "escalate_why">): string {
  const parts = review.waiting_on.map((turn) => {
    const name = turn.name ?? "";
    switch (turn.why) {
      case "unclaimed":
        return name === "" ? "waits for a reviewer" : `waits for ${name}`;
      case "reviewing":
        return `${name} reviews`;
      case "changes_requested":
      case "diff_does_not_apply":
        return `${name} revises`;
      case "escalated":
        return "waits for an operator";
      case "approved":
      case "rejected":
      case "cancelled":
        return `${name} closes it`;
      case "counter_patch_offered":
        return `${name} decides on a counter-patch`;
      default:
        return name === "" ? "waits for a reviewer" : `${name} answers`;
    }
  });
  const distinct = [...new Set(parts)];
  return distinct.length > 2 ? `${distinct.slice(0, 2).join(", ")} +${distinct.length - 2}` : distinct.join(", ");
}
