import { useState } from "react";
import type { Review } from "./model";
import type { ShownContent } from "./ReviewContext";
import type { ReviewSearch } from "./search";
import { type EventEntry, roundHashes } from "./stream";

export interface Pinned {
  round: number;
  hash: string;
}

/** The content on screen, from the address and what was on screen before. */
export function shownContent(
  review: Pick<Review, "current_round" | "content_hash">,
  search: Pick<ReviewSearch, "round" | "since">,
  pinned: Pinned,
  hashes: ReadonlyMap<number, string>,
): ShownContent {
  const round = Math.min(search.round ?? pinned.round, review.current_round);
  const isPinned = round === pinned.round;
  const current = round === review.current_round ? review.content_hash : (hashes.get(round) ?? null);
  const hash = isPinned ? pinned.hash : current;
  const since = search.since !== undefined && search.since < round ? search.since : null;
  return {
    round,
    hash,
    isCurrent: hash === review.content_hash,
    since,
    sinceHash: since === null ? null : (hashes.get(since) ?? null),
    isOutdated: isPinned && hash !== review.content_hash && search.round === undefined,
  };
}

/**
 * Which content is on screen. A revision that arrives does not replace what the person reads: the page says so, and the
 * person asks for it.
 */
export function useShown(review: Review, search: ReviewSearch, events: readonly EventEntry[], isPast: boolean) {
  const latest = { round: review.current_round, hash: review.content_hash };
  const [pinned, setPinned] = useState<Pinned>(latest);
  const [isFollowing, setFollowing] = useState(false);
  if (isFollowing && !isPast && pinned.hash !== latest.hash) {
    setFollowing(false);
    setPinned(latest);
  }
  return {
    // A step through the past shows what was current then.
    shown: shownContent(review, search, isPast ? latest : pinned, roundHashes(events)),
    pinLatest: () => setPinned(latest),
    /** For a content that the person is about to make. */
    pinNext: () => setFollowing(true),
  };
}
