import { useEffect, useRef } from "react";
import { useLiveSocket } from "./LiveContext";

/** Ids of the reviews that events were about since a list was loaded. Another `list` is another list. */
export function useChangedReviews(list: string): Set<string> {
  const socket = useLiveSocket();
  const changed = useRef(new Set<string>());
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => {
    changed.current.clear();
    return socket.onEvent((event) => {
      // A reviewer that goes on reading changes nothing in the list.
      if (event.review_id !== null && event.kind !== "claim_renewed") changed.current.add(event.review_id);
    });
  }, [socket, list]);
  return changed.current;
}
