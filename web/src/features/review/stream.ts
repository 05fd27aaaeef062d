/** The conversation: messages, verdicts and everything else that happened, in one list by time. */
import type { Answer } from "../../api/client";
import type { ClaimEndReason, Message, TimelineEvent } from "../../api/generated";

export interface MessageEntry {
  kind: "message";
  version: number;
  at: string;
  round: number;
  message: Message;
}

export interface EventEntry {
  kind: "verdict" | "round" | "event";
  version: number;
  at: string;
  round: number;
  event: TimelineEvent;
}

export type Entry = MessageEntry | EventEntry;

/** All messages of all pages. A long message goes on in the next page. */
export function joinMessages(pages: readonly Answer<"get_discussion">[]): Message[] {
  const messages: Message[] = [];
  for (const message of pages.flatMap((page) => page.messages)) {
    const last = messages.at(-1);
    if (last !== undefined && last.id === message.id)
      messages[messages.length - 1] = { ...last, body: last.body + message.body };
    else messages.push(message);
  }
  return messages;
}

/** All events with their round, oldest first. */
export function joinTimeline(pages: readonly Answer<"get_review_timeline">[]): EventEntry[] {
  return pages.flatMap(({ rounds }) =>
    rounds.flatMap(({ round, events }) =>
      events.map((event): EventEntry => ({ kind: kindOf(event), version: event.version, at: event.at, round, event })),
    ),
  );
}

function kindOf({ kind }: TimelineEvent): EventEntry["kind"] {
  if (kind === "verdict_given") return "verdict";
  return kind === "proposed" || kind === "revised" ? "round" : "event";
}

/** Kinds that would only be noise. */
const HIDDEN: ReadonlySet<TimelineEvent["kind"]> = new Set(["claim_renewed", "reservation_ended", "message_added"]);

/**
 * One stream in the order of the review's versions. The id of a message is the version of its event; the event's own text
 * is only the start of the message.
 */
export function streamOf(events: readonly EventEntry[], messages: readonly Message[]): Entry[] {
  const entries: Entry[] = events.filter(({ event }) => !HIDDEN.has(event.kind));
  for (const message of messages) {
    entries.push({ kind: "message", version: message.id, at: message.at, round: message.round, message });
  }
  return entries.sort((a, b) => a.version - b.version);
}

/** `seat` is a persona, or `null` for all. What concerns every seat stays. */
export function ofSeat(entries: readonly Entry[], seat: string | null): Entry[] {
  if (seat === null) return [...entries];
  return entries.filter((entry) => {
    const persona = entry.kind === "message" ? entry.message.persona : entry.event.persona;
    return persona === undefined || persona === seat;
  });
}

/** The first entry that the person has not seen. `null` if they have seen every entry, or see the review for the first time. */
export function firstUnread(entries: readonly Entry[], seenVersion: number | null, me: string): number | null {
  if (seenVersion === null) return null;
  const by = (entry: Entry) => (entry.kind === "message" ? entry.message.caller_id : entry.event.actor);
  return entries.find((entry) => entry.version > seenVersion && by(entry) !== me)?.version ?? null;
}

/** The content hash of each round, as its last event left it. */
export function roundHashes(events: readonly EventEntry[]): Map<number, string> {
  const hashes = new Map<number, string>();
  for (const { round, event } of events) {
    if (event.content_hash !== undefined) hashes.set(round, event.content_hash);
  }
  return hashes;
}

/** The version of the verdict that offered the latest counter-patch of a seat in a round. */
export function offeredPatch(events: readonly EventEntry[], persona: string, round?: number): EventEntry | null {
  const offers = ({ event, round: of }: EventEntry) =>
    event.counter_patch === "offered" && event.persona === persona && (round === undefined || of === round);
  return events.findLast(offers) ?? null;
}

/** What became of the counter-patch that this verdict offered. */
export function patchFate(
  events: readonly EventEntry[],
  offer: EventEntry,
): "pending" | "accepted" | "rejected" | "replaced" {
  for (const { version, round, event } of events) {
    if (version <= offer.version) continue;
    if (round !== offer.round || event.kind === "revised") return "replaced";
    if (event.persona !== offer.event.persona) continue;
    if (event.counter_patch === "accepted" || event.counter_patch === "rejected") return event.counter_patch;
    if (event.counter_patch === "offered") return "replaced";
  }
  return "pending";
}

const ENDS: Record<ClaimEndReason, string> = {
  lease_expired: "without activity",
  released: "given back",
  reviewer_exited: "its reviewer's process ended",
  reviewer_stopped: "its reviewer was stopped",
  broker_restarted: "the broker restarted",
  could_not_review: "its reviewer could not review",
  taken_over: "taken over",
  turn_ended: "its reviewer ended the turn without a vote",
};

/** A quiet line: what happened, after the name of the actor, if there is one. */
export function eventWords(event: TimelineEvent): string {
  const seat = event.persona === undefined ? "a seat" : `the seat ${event.persona}`;
  switch (event.kind) {
    case "claimed":
      return `took ${seat}`;
    case "claim_ended":
      if (event.ended === "released" && event.actor !== undefined) return `gave back ${seat}`;
      return `the claim of ${seat} ended${event.ended === undefined ? "" : `: ${ENDS[event.ended]}`}`;
    case "rebased":
      return "the diff has another base now";
    case "auto_rejected":
      return event.actor === undefined
        ? "the broker sent it back: the diff does not apply"
        : "took it, and the broker sent it back: the diff does not apply";
    case "seat_added":
      return `added ${seat}`;
    case "finding_updated":
      return (event.settled ?? [])
        .map(({ issue_id, said, status }) => `said of ${issue_id}: ${(said ?? status ?? "open").replace("_", " ")}`)
        .join(", ");
    case "counter_patch_accepted":
      return `accepted the counter-patch of ${event.persona ?? "a reviewer"}`;
    case "counter_patch_rejected":
      return `rejected the counter-patch of ${event.persona ?? "a reviewer"}`;
    case "cancelled":
      return "cancelled the review";
    case "closed":
      return "closed the review";
    default:
      return event.kind.replaceAll("_", " ");
  }
}

/** What an event was, after the name of the actor, if there is one: every kind, not only the quiet ones. */
export function happened({ event, round }: EventEntry): string {
  const forSeat = event.persona === undefined ? "" : ` for ${event.persona}`;
  switch (event.kind) {
    case "proposed":
      return "proposed it";
    case "revised":
      return `submitted round ${round}`;
    case "verdict_given":
      return event.verdict === "comment"
        ? `commented${forSeat}`
        : `voted ${event.verdict?.replaceAll("_", " ")}${forSeat}`;
    case "message_added":
      return "wrote a message";
    case "claim_renewed":
      return `kept the seat ${event.persona ?? ""}`.trim();
    default:
      return eventWords(event);
  }
}

/** Whether the broker returned only the start of a text. It then ends with "… [2000 of 3120 characters]". */
export function isCut(text: string): boolean {
  return /… \[\d+ of \d+ characters[^\]]*\]$/.test(text);
}
