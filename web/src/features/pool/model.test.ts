import { expect, test } from "vitest";
import type { Reviewer } from "../../api/generated";
import type { Pool } from "../../pool";
import { approvalShare, doingWords, isLive, reviewerLook, runningOf, whyWords } from "./model";

const reviewer = (more: Partial<Reviewer> = {}): Reviewer => ({
  reviewer_id: "codex-r1-a",
  name: "codex-r1",
  state: "idle",
  runtime: "codex",
  why: "backlog",
  spawned_at: "2026-11-19T10:00:00Z",
  pid: 7,
  completed: 0,
  approvals: 0,
  rejections: 0,
  changes_requested: 0,
  comments: 0,
  ...more,
});

const pool = (more: Partial<Pool> = {}): Pool =>
  ({ state: "ready", runtime: "codex", max_size: 2, waiting: [], reviewers: [], ended: [], ...more }) as Pool;

const waiting = [{ pending: 2, free_seats: 3 }];

test("the pool says why nothing happens", () => {
  const words = (more: Partial<Pool>) => whyWords(pool(more)).join(" ");
  expect(words({})).toBe("No seat is free, so no reviewer is needed.");
  expect(words({ state: "disabled", waiting: [{ pending: 1, free_seats: 1 }] })).toContain("1 review waits");
  expect(words({ state: "paused", waiting, reviewers: [reviewer()] })).toBe(
    "No reviewer starts. 2 reviews wait; running reviewers continue.",
  );
  expect(words({ state: "crash_loop", waiting })).toBe("2 reviews wait.");
  expect(words({ waiting })).toContain("starts in a moment");
  const two = [reviewer({ state: "busy" }), reviewer({ state: "busy" })];
  expect(words({ waiting, reviewers: two })).toContain("All 2 places are taken: a seat waits");
  expect(words({ waiting, reviewers: [reviewer({ state: "draining" }), reviewer()] })).toContain("1 reviewer leaves");
  expect(words({ waiting, reviewers: [reviewer()] })).toContain("Idle reviewers");
  expect(words({ waiting, reviewers: [reviewer({ state: "busy" })] })).toContain("pool.ratio");
});

test("a reviewer says what it does", () => {
  expect(doingWords(reviewer({ reviews: ["R-1", "R-2"], state: "busy" }))).toBe("R-1, R-2");
  expect(doingWords(reviewer({ idle_seconds: 90 }))).toBe("for 1 min");
  expect(doingWords(reviewer({ state: "ended", exit: "exit code 3" }))).toBe("exit code 3");
  expect(doingWords(reviewer({ state: "waiting", review: "R-7", exit: "exit code 0" }))).toBe("R-7");
});

test("without a vote there is no share of approvals", () => {
  expect(approvalShare(reviewer())).toBeNull();
  expect(approvalShare(reviewer({ completed: 3, approvals: 2 }))).toBe(67);
});

test("a failure has a glyph of its own beside its colour", () => {
  expect(reviewerLook(reviewer({ state: "ended", last_words: ["no key"] }))[0]).toBe("✗");
  expect(reviewerLook(reviewer({ state: "ended" }))[0]).toBe("□");
  expect(reviewerLook(reviewer({ state: "ended", last_words: ["bye"], exit: "stopped: idle" }))[0]).toBe("□");
  expect(reviewerLook(reviewer({ state: "something new" }))[1]).toBe("something new");
});

test("a dedicated reviewer is listed once, and only what runs can be stopped", () => {
  const both = pool({
    reviewers: [reviewer(), reviewer({ reviewer_id: "s-R-1" })],
    dedicated: [reviewer({ reviewer_id: "s-R-1" })],
  });
  expect(runningOf(both).map(({ reviewer_id }) => reviewer_id)).toEqual(["codex-r1-a"]);
  expect([isLive(reviewer()), isLive(reviewer({ state: "ended" }))]).toEqual([true, false]);
});
