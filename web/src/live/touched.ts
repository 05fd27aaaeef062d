import type { QueryKey } from "@tanstack/react-query";
import { keys } from "../api/keys";
import type { LiveEvent } from "./connection";

/** What an event makes old. A new type of event does not compile until it stands here. */
export function touched({ type, review_id }: LiveEvent): QueryKey[] {
  const id = review_id ?? null;
  const review = id === null ? [] : [keys.review(id)];
  switch (type) {
    case "review_updated":
    case "review_iteration_added":
      return [keys.lists, keys.stats, ["issues"], ...review];
    case "issue_resolved":
      return [keys.lists, ["issues"], ...review];
    case "message_added":
      return [keys.lists, ...review];
    case "reviewer_updated":
      return [keys.pool];
    case "activity":
      return [keys.pool, ["issues"], ...review];
  }
}
