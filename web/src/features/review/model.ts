/** What the review means for the person in front of the page: whose turn it is, and what they may do. */
import type { Answer, Args } from "../../api/client";
import type { Policy, SeatState, Status, Turn } from "../../api/generated";
import { type Person, proposerOf } from "../../turns";
import { statusWord } from "../../ui/Status";

export type Review = Answer<"get_review_status">;

export function isOpen(status: Status): boolean {
  return status === "pending" || status === "claimed" || status === "in_review";
}

export function hasEnded(status: Status): boolean {
  return status === "rejected" || status === "cancelled" || status === "closed";
}

export function isProposer(review: Review, me: Person): boolean {
  return proposerOf(review) === me.name;
}

export function mySeat(review: Review, me: Person): SeatState | null {
  return review.seats.find((seat) => seat.claimed_by === me.name) ?? null;
}

/** A party and what the review waits for: "codex-r2" "vote for security", "answer a message". */
export interface PartyTurn {
  who: string;
  tasks: string[];
  /** Since when the first of them waits. */
  since: string;
}

/** The turns of one party together, in the order of the broker. */
export function partyTurns(turns: readonly Turn[]): PartyTurn[] {
  const parties = new Map<string, PartyTurn>();
  for (const turn of turns) {
    const anyone = { proposer: "the proposer", reviewer: "a reviewer", operator: "an operator" }[turn.who];
    const who = turn.name ?? anyone;
    const party = parties.get(who) ?? { who, tasks: [], since: turn.since };
    parties.set(who, party);
    const task = turnTask(turn);
    if (!party.tasks.includes(task)) party.tasks.push(task);
    if (turn.since < party.since) party.since = turn.since;
  }
  return [...parties.values()];
}

function turnTask({ why, tool, seat, name }: Turn): string {
  const ofSeat = seat === undefined ? "" : ` of ${seat}`;
  if (name === undefined && tool === "claim_review")
    return seat === undefined ? "take a seat" : `take the seat ${seat}`;
  switch (why) {
    case "unclaimed":
      return seat === undefined ? "take a seat" : `take the seat ${seat}`;
    case "reviewing":
      return seat === undefined ? "vote" : `vote for ${seat}`;
    case "message":
      return tool === "add_message" ? "answer a message" : "look again after a message";
    case "issue_answered":
      return "look at the answers to findings";
    case "counter_patch_offered":
      return `accept or reject the counter-patch${ofSeat}`;
    case "counter_patch_accepted":
      return "look again: the counter-patch was accepted";
    case "counter_patch_rejected":
      return "look again: the counter-patch was rejected";
    case "changes_requested":
      return "revise it";
    case "diff_does_not_apply":
      return "send a diff that applies";
    case "approved":
      return "land and close it";
    case "rejected":
    case "cancelled":
      return "close it";
    case "escalated":
      return "decide how to go on";
  }
}

/** The voting rule in one sentence. */
export function ruleWords(policy: Policy, seats: number): string {
  const blocking = policy.block_on_critical ? " and no critical issue may be open" : "";
  switch (policy.rule) {
    case "require_all":
      return seats === 1 ? `Its one seat has to approve${blocking}.` : `All ${seats} seats have to approve${blocking}.`;
    case "min_approvals":
      return `${policy.min_approvals ?? 1} of ${seats} seats have to approve${blocking}.`;
    case "majority":
      return `More than half of ${seats} seats have to approve${blocking}.`;
  }
}

export type Act =
  | "vote"
  | "comment"
  | "take_seat"
  | "release"
  | "take_over"
  | "add_seat"
  | "message"
  | "decide_patch"
  | "resubmit"
  | "cancel"
  | "close";

/** `null`: allowed. A text says why not, and who may. */
export type Permissions = Record<Act, string | null>;

export function permissions(review: Review, me: Person): Permissions {
  const { status } = review;
  const proposer = proposerOf(review);
  const seat = mySeat(review, me);
  const ended = hasEnded(status) ? `The review is ${statusWord(status)}.` : null;
  const own = isProposer(review, me) ? "You proposed it. Its proposer cannot review it." : null;
  const notProposer =
    isProposer(review, me) || me.isOperator ? null : `Only its proposer (${proposer}) or an operator may do this.`;
  const notOperator = me.isOperator ? null : "Only an operator may do this.";
  const isDecided = ["approved", "rejected", "cancelled"].includes(status);
  const noPatch = review.seats.some((one) => one.has_counter_patch) ? null : "No counter-patch waits for a decision.";
  return {
    vote: ended ?? own ?? (seatChoices(review, me).length > 0 ? null : noSeatWords(review, me)),
    comment: status === "closed" ? "The review is closed." : own === null || me.isOperator ? null : own,
    take_seat:
      ended ??
      own ??
      (seat !== null ? `You hold the seat ${seat.persona}.` : null) ??
      (freeSeats(review, me).length > 0 && isOpen(status) ? null : noSeatWords(review, me)),
    release:
      ended ??
      (seat === null ? "You hold no seat." : null) ??
      (seat?.verdict === undefined ? null : "You have voted. A vote stays; you can change it."),
    take_over:
      ended ??
      own ??
      notOperator ??
      (seat !== null ? `You hold the seat ${seat.persona}.` : null) ??
      (takeOverSeats(review, me).length > 0 ? null : "No other reviewer holds a seat that can be taken now."),
    add_seat:
      ended ?? notProposer ?? (review.seats.length < MAX_SEATS ? null : `A review has at most ${MAX_SEATS} seats.`),
    message:
      (status === "closed" ? "The review is closed." : null) ??
      (recipients(review, me).length > 0 ? null : "Only its proposer, its reviewers and operators may write."),
    decide_patch: noPatch ?? notProposer,
    resubmit: status === "closed" ? "The review is closed." : notProposer,
    cancel: ended ?? notProposer,
    close: notProposer ?? (isDecided ? null : status === "closed" ? "The review is closed." : "It is not decided yet."),
  };
}

/** Why nothing can be done while the past is on screen. */
export const PAST = "You see the past. Go back to now to act.";

export function noPermissions(permissions: Permissions): Permissions {
  return Object.fromEntries(Object.keys(permissions).map((act) => [act, PAST])) as Permissions;
}

const MAX_SEATS = 10;

function noSeatWords(review: Review, me: Person): string {
  if (!isOpen(review.status)) return `The review is ${statusWord(review.status)}, so no seat can be taken.`;
  const holders = review.seats.flatMap(({ claimed_by, reserved_for }) => claimed_by ?? reserved_for ?? []);
  const who = holders.length === 0 ? "others" : holders.join(", ");
  return me.isOperator ? `All seats are taken (${who}).` : `All seats are taken (${who}). An operator can add one.`;
}

/** Seats that the person can claim. */
export function freeSeats(review: Review, me: Person): SeatState[] {
  const free = review.seats.filter((seat) => {
    const isForOther = seat.persona.startsWith("@") && seat.persona !== `@${me.name}`;
    return seat.claimed_by === undefined && !isForOther && (seat.reserved_for ?? me.name) === me.name;
  });
  // Who was asked by name takes that seat.
  const asked = free.filter((seat) => seat.persona === `@${me.name}`);
  return asked.length > 0 ? asked : free;
}

/** Seats of others that an operator can take over. */
export function takeOverSeats(review: Review, me: Person): SeatState[] {
  const isPossible = isOpen(review.status) || (review.status === "changes_requested" && !review.auto_rejected);
  if (!isPossible || !me.isOperator || isProposer(review, me)) return [];
  const free = new Set(freeSeats(review, me));
  return review.seats.filter((seat) => seat.claimed_by !== me.name && !(free.has(seat) && isOpen(review.status)));
}

/** How the person gets the seat that it votes from. */
export interface SeatChoice {
  how: "mine" | "claim" | "take_over" | "add";
  persona: string;
  label: string;
}

export function seatChoices(review: Review, me: Person): SeatChoice[] {
  const seat = mySeat(review, me);
  const { status } = review;
  if (isProposer(review, me) || hasEnded(status)) return [];
  if (seat !== null) return [{ how: "mine", persona: seat.persona, label: `${seat.persona} (yours)` }];
  const choices: SeatChoice[] = [];
  if (isOpen(status)) {
    for (const { persona } of freeSeats(review, me))
      choices.push({ how: "claim", persona, label: `${persona} (free)` });
  }
  for (const { persona, claimed_by, reserved_for } of takeOverSeats(review, me)) {
    const holder = claimed_by ?? reserved_for;
    choices.push({ how: "take_over", persona, label: `${persona} (take over${holder ? ` from ${holder}` : ""})` });
  }
  const asMe = `@${me.name}`;
  const canAdd = me.isOperator && (isOpen(status) || status === "approved") && review.seats.length < MAX_SEATS;
  if (canAdd && !review.seats.some(({ persona }) => persona === asMe)) {
    choices.push({ how: "add", persona: asMe, label: `${asMe} (a new seat, required like the others)` });
  }
  return choices;
}

/** Whom the person can write to, and in which role. The first is the default. */
export interface RecipientChoice {
  key: string;
  label: string;
  args: Pick<Args<"add_message">, "sender_role" | "persona" | "to">;
}

export function recipients(review: Review, me: Person): RecipientChoice[] {
  const { status, seats } = review;
  const choices: RecipientChoice[] = [];
  const seat = mySeat(review, me);
  if (seat !== null && !hasEnded(status)) {
    const args = { sender_role: "reviewer", persona: seat.persona } as const;
    choices.push({ key: "seat", label: `${proposerOf(review)}, from the seat ${seat.persona}`, args });
  }
  if (isProposer(review, me) && !hasEnded(status)) {
    if (seats.length > 1) {
      choices.push({ key: "reviewers", label: "all reviewers", args: { sender_role: "proposer", to: "reviewers" } });
    }
    for (const { persona } of seats) {
      choices.push({
        key: `proposer-${persona}`,
        label: `the reviewer of ${persona}`,
        args: { sender_role: "proposer", persona },
      });
    }
  } else if (me.isOperator && status !== "closed") {
    const as = seat === null ? "" : ", as an operator";
    const sender_role = "operator" as const;
    choices.push({ key: "everyone", label: `everyone${as}`, args: { sender_role, to: "everyone" } });
    choices.push({ key: "to-proposer", label: `the proposer${as}`, args: { sender_role, to: "proposer" } });
    if (seats.length > 1)
      choices.push({ key: "to-reviewers", label: `all reviewers${as}`, args: { sender_role, to: "reviewers" } });
    for (const { persona } of seats) {
      if (persona !== seat?.persona) {
        choices.push({
          key: `operator-${persona}`,
          label: `the reviewer of ${persona}${as}`,
          args: { sender_role, persona },
        });
      }
    }
  }
  return choices;
}

/** What changed between two states of a review, in sentences. Empty if nothing that matters did. */
export function changesBetween(before: Review, after: Review, me: Person): string[] {
  const changes: string[] = [];
  if (after.current_round !== before.current_round) {
    changes.push(`Round ${after.current_round} has replaced round ${before.current_round}.`);
  } else if (after.content_hash !== before.content_hash) {
    changes.push(`The content of round ${after.current_round} has changed to ${shortHash(after.content_hash)}.`);
  }
  if (after.status !== before.status) {
    changes.push(`The review is now ${statusWord(after.status)}; it was ${statusWord(before.status)}.`);
  }
  for (const seat of after.seats) {
    const old = before.seats.find(({ persona }) => persona === seat.persona);
    const change = seatChange(old, seat, me);
    if (change !== null) changes.push(change);
  }
  const messages = after.message_count - before.message_count;
  if (messages > 0) changes.push(messages === 1 ? "One message was added." : `${messages} messages were added.`);
  return changes;
}

function seatChange(old: SeatState | undefined, seat: SeatState, me: Person): string | null {
  const name = (who: string) => (who === me.name ? "you" : who);
  if (old === undefined) return `The seat ${seat.persona} was added.`;
  if (old.claimed_by !== seat.claimed_by) {
    if (seat.claimed_by === undefined) return `The seat ${seat.persona} is free; ${name(old.claimed_by ?? "")} had it.`;
    const from = old.claimed_by === undefined ? "" : `; ${name(old.claimed_by)} had it`;
    return `The seat ${seat.persona} belongs to ${name(seat.claimed_by)} now${from}.`;
  }
  if (old.verdict !== seat.verdict && seat.verdict !== undefined) {
    return `${seat.persona} voted: ${seat.verdict.replace("_", " ")}.`;
  }
  if (old.claim_generation !== seat.claim_generation) return `The claim of ${seat.persona} was renewed.`;
  return null;
}

export function shortHash(hash: string): string {
  return hash.slice(0, 10);
}

/** `/r/12` means R-12. Everything else is a number, an id or the start of one already. */
export function reviewName(param: string): string {
  return /^\d{1,9}$/.test(param) ? `R-${param}` : param;
}
