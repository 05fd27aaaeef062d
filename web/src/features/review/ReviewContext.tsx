import { createContext, useContext } from "react";
import type { Issue, RequestedStatus, Verdict } from "../../api/generated";
import type { Person } from "../../turns";
import type { KeptDraft } from "./drafts";
import type { Place, Shown } from "./findings";
import type { Permissions, Review } from "./model";
import type { Moment } from "./queries";
import type { ReviewSearch } from "./search";
import type { EventEntry } from "./stream";

/** The form that is open. */
export type OpenDialog =
  | { kind: "verdict"; verdict: Verdict }
  | { kind: "settle"; issueId: string | null; status: RequestedStatus | null }
  | { kind: "seat"; how: "claim" | "take_over"; persona: string | null }
  | { kind: "patch"; persona: string; answer: "accept" | "reject" }
  | { kind: "add_seat" | "release" | "cancel" | "close" | "resubmit" };

/** A place that the page goes to as soon as it is on screen. */
export type Target = { kind: "note"; id: string } | { kind: "place"; place: Place };

/** The content on screen. It stays until the person asks for a newer one. */
export interface ShownContent extends Shown {
  /** `null` until the history is loaded. */
  hash: string | null;
  sinceHash: string | null;
  /** A newer content has arrived while this one is on screen. */
  isOutdated: boolean;
}

export interface ReviewView {
  id: string;
  /** What is on screen: the present, or the past after an event. */
  moment: Moment;
  review: Review;
  me: Person;
  can: Permissions;
  shown: ShownContent;
  /** Shows the current content, what changed in it since the one on screen, or the next content as soon as it is there. */
  showLatest: (how: "whole" | "changes" | "next") => void;
  /** The round that the person saw before this one. */
  seenRound: number | null;
  /** Up to the moment on screen. */
  events: readonly EventEntry[];
  issues: readonly Issue[];
  drafts: readonly KeptDraft[];
  search: ReviewSearch;
  /** Changes the address, without a step in the browser's history unless `isStep`. */
  go: (change: { [Key in keyof ReviewSearch]: ReviewSearch[Key] | undefined }, isStep?: boolean) => void;
  openDialog: (dialog: OpenDialog) => void;
  /** The comment whose form is open. It is stored as soon as it is not empty. */
  editing: KeptDraft | null;
  edit: (draft: KeptDraft | null) => void;
  /** Opens a form for a comment on these lines. */
  comment: (place: Place) => void;
  target: Target | null;
  goTo: (target: Target | null) => void;
  goToFinding: (issueId: string) => void;
  goToPlace: (place: Place) => void;
}

export const ReviewContext = createContext<ReviewView | null>(null);

export function useReview(): ReviewView {
  const view = useContext(ReviewContext);
  if (view === null) throw new Error("ReviewContext is missing");
  return view;
}
