import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Issue } from "../../api/generated";
import { useMe } from "../../me";
import { turnsOf } from "../../turns";
import { type Draft, type KeptDraft, newDraftId, useDrafts } from "./drafts";
import { type Place, placeOf } from "./findings";
import { mySeat, noPermissions, permissions, type Review } from "./model";
import { findings, type Moment } from "./queries";
import type { OpenDialog, ReviewView, Target } from "./ReviewContext";
import { previousRound, useSeen } from "./seen";
import { findingNote } from "./useNotes";
import { useShown } from "./useShown";
import { useTimeline } from "./useTimeline";

const route = getRouteApi("/r/$review");
const NO_ISSUES: readonly Issue[] = [];
const NO_DRAFTS: readonly KeptDraft[] = [];

/** Everything that the parts of the page share. */
export function useReviewView(
  moment: Moment,
  review: Review,
  openDialog: (dialog: OpenDialog) => void,
  focusContent: () => void,
) {
  const { name, isOperator } = useMe();
  const me = useMemo(() => ({ name, isOperator }), [name, isOperator]);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { id, at } = moment;
  const isPast = at !== null;
  const issues = useQuery(findings(moment)).data ?? NO_ISSUES;
  const history = useTimeline(id);
  const events = useMemo(() => (at === null ? history : history.filter(({ version }) => version <= at)), [history, at]);
  const kept = useDrafts(id);
  const drafts = isPast ? NO_DRAFTS : kept;
  const seen = useSeen(id, review, isPast);
  const { shown, pinLatest, pinNext } = useShown(review, search, events, isPast);
  const [editing, setEditing] = useState<KeptDraft | null>(null);
  const focusBefore = useRef<Element | null>(null);
  const [target, goTo] = useState<Target | null>(() => firstTarget(search));
  const shownRounds = useRef<number[]>([]);
  useEffect(() => {
    shownRounds.current.push(shown.round);
  }, [shown.round]);

  const go = useCallback<ReviewView["go"]>(
    (change, isStep = false) => {
      const next = (old: object) =>
        Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value !== undefined));
      void navigate({ search: next, replace: !isStep, resetScroll: false });
    },
    [navigate],
  );
  const showPlace = useCallback(
    (next: Target, place: Place | null) => {
      const isInDiff = place?.in !== "description" || !review.has_diff;
      go({ tab: isInDiff ? "diff" : "about", patch: undefined });
      goTo(next);
    },
    [go, review.has_diff],
  );
  const view: ReviewView = {
    id,
    moment,
    review,
    me,
    can: isPast ? noPermissions(permissions(review, me)) : permissions(review, me),
    shown,
    showLatest: (how) => {
      if (how === "next") return pinNext();
      const since = how === "changes" && shown.round < review.current_round ? shown.round : undefined;
      pinLatest();
      go({ round: undefined, since, patch: undefined }, true);
    },
    seenRound: previousRound(seen, shownRounds.current, shown.round),
    events,
    issues,
    drafts,
    search,
    go,
    openDialog,
    editing: isPast ? null : editing,
    edit: (draft) => {
      setEditing(draft);
      if (draft !== null) return;
      // The form goes away with the focus in it: back to where the person was.
      const before = focusBefore.current;
      if (before instanceof HTMLElement && before.isConnected && before.matches("button")) before.focus();
      else focusContent();
    },
    comment: (place) => {
      if (shown.hash === null || isPast) return;
      focusBefore.current = document.activeElement;
      // A free seat is taken with the verdict.
      const mayReview = mySeat(review, me) !== null || turnsOf(review, me).some(({ tool }) => tool === "claim_review");
      const kind = mayReview && permissions(review, me).vote === null ? "finding" : "message";
      setEditing({ ...newDraft(place, kind, shown.round), hash: shown.hash });
    },
    target,
    goTo,
    goToFinding: (issueId) => {
      const issue = issues.find(({ issue_id }) => issue_id === issueId);
      if (issue === undefined) return;
      const place = placeOf(issue, shown);
      if (place === null) go({ round: undefined, since: undefined });
      showPlace({ kind: "note", id: findingNote(issueId) }, place);
    },
    goToPlace: (place) => showPlace({ kind: "place", place }, place),
  };
  return { view, seenVersion: seen?.version ?? null };
}

function newDraft(place: Place, kind: Draft["kind"], round: number): Draft {
  return { id: newDraftId(), kind, place, round, severity: "medium", title: "", text: "", suggestion: "" };
}

/** Where the address points to. */
function firstTarget({ finding, file, line, side }: ReviewView["search"]): Target | null {
  if (finding !== undefined) return { kind: "note", id: findingNote(finding) };
  if (file === undefined) return null;
  const start = line ?? null;
  return { kind: "place", place: { in: "diff", path: file, side: side ?? "new", start, end: start } };
}
