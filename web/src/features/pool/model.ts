/** What the pool page says in words. */
import type { Reviewer } from "../../api/generated";
import type { Pool } from "../../pool";
import { duration } from "../../time";

/** A state as a glyph, a word and its colours. */
export type StateLook = readonly [glyph: string, word: string, colours: string];

const POOL_STATES: Record<string, StateLook> = {
  disabled: ["□", "off", "bg-raised text-dim"],
  starting: ["○", "starting", "bg-raised text-dim"],
  paused: ["‖", "paused", "bg-warn-bg text-warn"],
  ready: ["✓", "ready", "bg-ok-bg text-ok"],
  backing_off: ["▲", "waits after a failure", "bg-warn-bg text-warn"],
  crash_loop: ["✗", "crash loop", "bg-bad-bg text-bad"],
  unavailable: ["✗", "unavailable", "bg-bad-bg text-bad"],
};

const REVIEWER_STATES: Record<string, StateLook> = {
  starting: ["○", "starting", "bg-raised text-dim"],
  idle: ["○", "idle", "bg-raised text-dim"],
  waiting: ["○", "waits for its turn", "bg-raised text-dim"],
  queued: ["○", "queued", "bg-raised text-dim"],
  busy: ["◐", "reviewing", "bg-accent-bg text-accent"],
  working: ["◐", "reviewing", "bg-accent-bg text-accent"],
  draining: ["▽", "draining", "bg-warn-bg text-warn"],
  stopping: ["▽", "stopping", "bg-warn-bg text-warn"],
  failed: ["✗", "failed", "bg-bad-bg text-bad"],
  finished: ["✓", "finished", "bg-raised text-dim"],
  stopped: ["⊘", "stopped", "bg-raised text-dim"],
  ended: ["□", "ended", "bg-raised text-dim"],
};

const unknownState = (state: string): StateLook => ["○", state, "bg-raised text-dim"];

export const poolLook = (state: string): StateLook => POOL_STATES[state] ?? unknownState(state);

export function reviewerLook({ state, last_words, exit }: Reviewer): StateLook {
  // One that the pool or a person stopped may have last words, too.
  const wasStopped = exit?.startsWith("stopped: ") === true;
  const hasFailed = state === "ended" && (last_words ?? []).length > 0 && !wasStopped;
  return hasFailed ? ["✗", "ended", "bg-bad-bg text-bad"] : (REVIEWER_STATES[state] ?? unknownState(state));
}

const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** Whether a reviewer can still be stopped. */
export const isLive = ({ state }: Reviewer) => ["starting", "idle", "busy", "working", "draining"].includes(state);

/** Why the pool does what it does now, and what comes next. */
export function whyWords(pool: Pool): string[] {
  const waiting = pool.waiting.reduce((sum, { pending }) => sum + pending, 0);
  const seats = pool.waiting.reduce((sum, { free_seats }) => sum + free_seats, 0);
  const waits = counted(waiting, "review waits", "reviews wait");
  const running = pool.reviewers.length;
  if (pool.state === "disabled") return [`The broker starts no reviewers. ${waits}.`];
  if (pool.state === "starting") return ["The broker still cleans up after its last run."];
  if (pool.state === "paused")
    return [`No reviewer starts. ${waits}${running > 0 ? "; running reviewers continue" : ""}.`];
  if (pool.state !== "ready") return [`${waits}.`];
  if (seats === 0) return ["No seat is free, so no reviewer is needed."];
  const words = [`${waits}, ${counted(seats, "seat is free", "seats are free")}.`];
  const leaving = pool.reviewers.filter(({ state }) => state === "draining" || state === "stopping").length;
  const idle = pool.reviewers.filter(({ state }) => state === "idle").length;
  if (running >= pool.max_size) {
    words.push(
      leaving > 0
        ? `All ${pool.max_size} places are taken; ${counted(leaving, "reviewer leaves", "reviewers leave")} soon.`
        : `All ${pool.max_size} places are taken: a seat waits until a reviewer has finished, or for a higher limit.`,
    );
  } else if (running === 0) {
    words.push("A reviewer starts in a moment. If none does, the free seats belong to people or to other agents.");
  } else if (idle > 0) {
    words.push("Idle reviewers take what they may; a reviewer takes only one seat of a review.");
  } else {
    words.push("Another reviewer starts when more reviews wait than pool.ratio allows for each.");
  }
  return words;
}

/** The page asks every ten seconds, so a shorter time would soon be wrong. */
const MIN_IDLE_SECONDS = 10;

/** What a reviewer does or did, in a few words. */
export function doingWords(reviewer: Reviewer): string {
  const { state, reviews = [], idle_seconds, exit, review } = reviewer;
  if (reviews.length > 0) return reviews.join(", ");
  if (exit !== undefined && (state === "ended" || state === "stopped" || state === "finished")) return exit;
  if (state === "idle" && idle_seconds !== undefined && idle_seconds >= MIN_IDLE_SECONDS)
    return `for ${duration(idle_seconds * 1000)}`;
  return review ?? "";
}

/** The reviews that the words above name, for links. */
export function reviewsOf({ reviews = [], review }: Reviewer): string[] {
  return reviews.length > 0 ? reviews : review === undefined ? [] : [review];
}

/** The part of its votes that approved, in percent. `null`: it has not voted. */
export function approvalShare({ approvals, completed }: Reviewer): number | null {
  return completed === 0 ? null : Math.round((100 * approvals) / completed);
}

/** Running reviewers that are not also listed as dedicated ones. */
export function runningOf(pool: Pool): Reviewer[] {
  const dedicated = new Set((pool.dedicated ?? []).map(({ reviewer_id }) => reviewer_id));
  return pool.reviewers.filter(({ reviewer_id }) => !dedicated.has(reviewer_id));
}
