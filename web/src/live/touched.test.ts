import { expect, test } from "vitest";
import type { Topic } from "../api/generated";
import { keys } from "../api/keys";
import { touched } from "./touched";

const topics = [
  "review_updated",
  "review_iteration_added",
  "issue_resolved",
  "message_added",
  "reviewer_updated",
  "activity",
] as const satisfies readonly Topic[];

test("every event of a review makes that review old, and no other one", () => {
  for (const type of topics.filter((topic) => topic !== "reviewer_updated")) {
    const named = touched({ type, review_id: "id-1" });
    expect(named, type).toContainEqual(keys.review("id-1"));
    expect(named.filter(([first]) => first === "review")).toHaveLength(1);
  }
});

test("what can change whose turn it is makes the lists old", () => {
  // An answer to an issue arrives as activity.
  for (const type of topics.filter((topic) => topic !== "reviewer_updated")) {
    expect(touched({ type, review_id: "id-1" }), type).toContainEqual(keys.lists);
  }
});

test("an answer to an issue makes the statistics old, and a crash loop does not", () => {
  expect(touched({ type: "activity", review_id: "id-1" })).toContainEqual(keys.periods);
  expect(touched({ type: "activity", review_id: null })).not.toContainEqual(keys.periods);
});

test("reviewers and crash loops make the pool old, and no list", () => {
  for (const type of ["reviewer_updated", "activity"] as const) {
    const named = touched({ type, review_id: null });
    expect(named).toContainEqual(keys.pool);
    expect(named).not.toContainEqual(keys.lists);
  }
});

test("every event makes the newest rows of the log old", () => {
  for (const type of topics) expect(touched({ type, review_id: null })).toContainEqual(keys.log);
});

test("content and pages that are read one by one are never made old by an event", () => {
  const kept = [
    keys.diff("hash", null),
    keys.file("hash", "a.rs", "old"),
    keys.reviewId("12"),
    keys.pages({}),
    keys.logPages("audit", {}, null),
    keys.event(7),
    keys.whoami,
  ];
  for (const type of topics) {
    const named = touched({ type, review_id: "id-1" });
    for (const key of kept) expect(named.some((prefix) => prefix.every((part, at) => part === key[at]))).toBe(false);
  }
});

test("a type that this page does not know does no harm", () => {
  expect(touched({ type: "from_the_future" as Topic, review_id: "id-1" })).toEqual([keys.log, keys.review("id-1")]);
  expect(touched({ type: "from_the_future" as Topic, review_id: null })).toEqual([keys.log]);
});
