import type { QueryKey } from "@tanstack/react-query";
import { keys } from "../api/keys";
import type { LiveEvent } from "./connection";

/** What an event makes old: the log, and what it is about. */
export function touched(event: Pick<LiveEvent, "type" | "review_id">): QueryKey[] {
  return [keys.log, ...touchedByTopic(event)];
}

/** A new type of event does not compile until it stands here. */
function touchedByTopic({ type: topic, review_id }: Pick<LiveEvent, "type" | "review_id">): QueryKey[] {
  const id = review_id ?? null;
  const review = id === null ? [] : [keys.review(id)];
  switch (topic) {
    case "review_updated":
    case "review_iteration_added":
    case "issue_resolved":
      return [keys.lists, ["issues"], keys.periods, keys.reviewers, ...review];
    case "message_added":
      return [keys.lists, ...review];
    case "reviewer_updated":
      return [keys.pool, keys.reviewers];
    case "activity":
      // A crash loop of the pool, or an answer to an issue, which makes it the reviewer's turn.
      return [keys.pool, keys.reviewers, ...(id === null ? [] : [keys.lists, keys.periods]), ["issues"], ...review];
    default:
      topic satisfies never;
      // A newer broker may send a type that this page does not know.
      return review;
  }
}
