/** Small values of the wire types, for tests. */
import type { Issue, Message, SeatState, TimelineEvent } from "../../api/generated";
import type { Person } from "../../turns";
import type { Review } from "./model";
import type { EventEntry } from "./stream";

export const ann: Person = { name: "ann", isOperator: true };
export const bob: Person = { name: "bob", isOperator: false };
export const builder: Person = { name: "builder", isOperator: false };

export const seat = (persona: string, more: Partial<SeatState> = {}): SeatState => ({
  persona,
  has_counter_patch: false,
  ...more,
});

export const review = (more: Partial<Review> = {}): Review => ({
  agent_role: "proposer",
  agent_type: "builder",
  auto_rejected: false,
  claim_generation: 1,
  consensus: { approvals: 0, approvals_needed: 1, outcome: "undecided", votes: [], waiting_for: [], why: "" },
  content_hash: "aaaaaaaabbbbbbbb",
  created_at: "2026-11-18T08:00:00Z",
  current_round: 1,
  escalate: false,
  has_counter_patch: false,
  has_diff: true,
  intent: "Add a cache",
  message_count: 0,
  next: "",
  number: "R-12",
  phase: "1",
  policy: { block_on_critical: true, max_rounds: 5, rule: "require_all", ungrounded_blocks: true },
  priority: "normal",
  review_id: "0b6f",
  seats: [seat("general")],
  status: "pending",
  updated_at: "2026-11-18T08:00:00Z",
  version: 1,
  waiting_on: [],
  ...more,
});

export const issue = (id: string, more: Partial<Issue> = {}): Issue => ({
  created_at: "2026-11-18T08:00:00Z",
  grounding: "grounded",
  issue_id: id,
  persona: "general",
  reviewer_id: "bob",
  round: 1,
  severity: "high",
  status: "open",
  title: `Title of ${id}`,
  type: "bug",
  verdict_id: 3,
  ...more,
});

export const message = (id: number, body: string, more: Partial<Message> = {}): Message => ({
  id,
  body,
  at: "2026-11-18T08:00:00Z",
  round: 1,
  sender_role: "reviewer",
  ...more,
});

export const event = (
  version: number,
  kind: TimelineEvent["kind"],
  more: Partial<TimelineEvent> = {},
  round = 1,
): EventEntry => ({
  kind: kind === "verdict_given" ? "verdict" : kind === "proposed" || kind === "revised" ? "round" : "event",
  version,
  at: "2026-11-18T08:00:00Z",
  round,
  event: { kind, version, at: "2026-11-18T08:00:00Z", status: "claimed", ...more },
});
