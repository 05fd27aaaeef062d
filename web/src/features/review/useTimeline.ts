import { useQuery } from "@tanstack/react-query";
import { timeline } from "./queries";
import type { EventEntry } from "./stream";

const NO_EVENTS: readonly EventEntry[] = [];

/** All events of the review as far as they are loaded, also while the past is on screen. */
export function useTimeline(id: string): readonly EventEntry[] {
  return useQuery(timeline(id)).data ?? NO_EVENTS;
}
