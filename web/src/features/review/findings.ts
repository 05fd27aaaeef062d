/** Findings: in which group they are listed, where they stand in the diff, and who may settle them. */
import type { Authority, Issue, MessageAnchor, RequestedStatus, Severity } from "../../api/generated";
import type { Person } from "../../turns";
import { hasEnded, isProposer, mySeat, type Review } from "./model";

/** A place in a text of the proposal. */
export interface Place {
  in: "diff" | "description";
  path: string | null;
  side: "old" | "new";
  start: number | null;
  end: number | null;
}

/** What stands at a line of the diff. `rank` is its severity: 4 = critical … 1 = low, 0 = not an open finding. */
export interface Note extends Place {
  id: string;
  rank: 0 | 1 | 2 | 3 | 4;
}

const RANKS = { critical: 4, high: 3, medium: 2, low: 1 } as const satisfies Record<Severity, Note["rank"]>;

export function rankOf(issue: Issue): Note["rank"] {
  return issue.status === "open" ? RANKS[issue.severity] : 0;
}

/** `low` and `settled` are folded. `suggestions` holds late findings too, which never block either. */
export type FindingGroup = "blocking" | "open" | "low" | "suggestions" | "settled";
export type FindingGroups = Record<FindingGroup, Issue[]>;

/** Every finding is in exactly one group. `blocking`: the ids that prevent approval. */
export function groupFindings(issues: readonly Issue[], blocking: readonly string[]): FindingGroups {
  const groups: FindingGroups = { blocking: [], open: [], low: [], suggestions: [], settled: [] };
  for (const issue of [...issues].sort(byUrgency)) {
    if (issue.status !== "open") groups.settled.push(issue);
    else if (issue.blocks === true || blocking.includes(issue.issue_id)) groups.blocking.push(issue);
    else if (issue.is_suggestion === true || issue.late === true) groups.suggestions.push(issue);
    else if (issue.severity === "low") groups.low.push(issue);
    else groups.open.push(issue);
  }
  return groups;
}

function byUrgency(a: Issue, b: Issue): number {
  return (
    RANKS[b.severity] - RANKS[a.severity] ||
    (a.file ?? "").localeCompare(b.file ?? "") ||
    (a.line_start ?? 0) - (b.line_start ?? 0) ||
    numberOf(a.issue_id) - numberOf(b.issue_id)
  );
}

function numberOf(id: string): number {
  return Number(id.replace(/\D/g, ""));
}

export interface Shown {
  round: number;
  isCurrent: boolean;
  /** The round that the diff starts from, if it is a comparison. */
  since: number | null;
}

/**
 * Where a finding stands in the round on display. `null` if it did not exist yet. Its location is that in the current
 * content; in the round it was raised in, `raised_at` is exact; in rounds between the two only the file is known.
 */
export function placeOf(issue: Issue, shown: Shown): Place | null {
  const current: Place = {
    in: issue.in ?? "diff",
    path: issue.file ?? null,
    side: issue.side ?? "new",
    start: issue.line_start ?? null,
    end: issue.line_end ?? issue.line_start ?? null,
  };
  let place = current;
  if (!shown.isCurrent) {
    if (issue.round > shown.round) return null;
    const raised = issue.raised_at === undefined ? current : (parsePlace(issue.raised_at) ?? current);
    const isKnown = issue.round === shown.round || issue.raised_at === undefined;
    place = isKnown ? raised : { ...raised, start: null, end: null };
  } else if (issue.anchor === "gone") {
    place = { ...current, start: null, end: null };
  }
  // The old side of a comparison is another text: that of an earlier round.
  return shown.since !== null && place.side === "old" ? { ...place, start: null, end: null } : place;
}

/** `src/a.rs:10-12`, `old:src/a.rs:10` or `description:3`, as the broker writes a location. */
export function parsePlace(text: string): Place | null {
  const match = /^(old:)?(.*?)(?::(\d+)(?:-(\d+))?)?$/s.exec(text);
  if (match === null || match[2] === undefined || match[2] === "") return null;
  const start = match[3] === undefined ? null : Number(match[3]);
  const isDescription = match[1] === undefined && match[2] === "description";
  return {
    in: isDescription ? "description" : "diff",
    path: isDescription ? null : match[2],
    side: match[1] === undefined ? "new" : "old",
    start,
    end: match[4] === undefined ? start : Number(match[4]),
  };
}

export function placeOfAnchor(anchor: MessageAnchor): Place | null {
  const isDescription = anchor.in === "description";
  if (!isDescription && anchor.file === undefined) return null;
  return {
    in: isDescription ? "description" : "diff",
    path: isDescription ? null : (anchor.file ?? null),
    side: anchor.side ?? "new",
    start: anchor.line_start ?? null,
    end: anchor.line_end ?? anchor.line_start ?? null,
  };
}

export function anchorOfPlace(place: Place): MessageAnchor {
  const lines = {
    ...(place.start !== null && { line_start: place.start }),
    ...(place.end !== null && place.end !== place.start && { line_end: place.end }),
  };
  if (place.in === "description") return { in: "description", ...lines };
  return {
    ...(place.path !== null && { file: place.path, ...lines }),
    ...(place.side === "old" && { side: "old" as const }),
  };
}

/** "src/a.rs:3-5", "line 3 of the description", "src/a.rs:3 before the change". */
export function placeWords(place: Place): string {
  const lines =
    place.start === null
      ? ""
      : place.end !== null && place.end > place.start
        ? `${place.start}-${place.end}`
        : `${place.start}`;
  if (place.in === "description") {
    if (lines === "") return "the description";
    return `${lines.includes("-") ? "lines" : "line"} ${lines} of the description`;
  }
  const file = place.path ?? "the whole proposal";
  return `${file}${lines === "" ? "" : `:${lines}`}${place.side === "old" ? " before the change" : ""}`;
}

export interface SettleChoice {
  status: RequestedStatus;
  role: Authority;
  label: string;
  needsNote: boolean;
}

/** What the person can say about a finding. Empty if nothing. */
export function settleChoices(issue: Issue, review: Review, me: Person): SettleChoice[] {
  const isMine = mySeat(review, me)?.persona === issue.persona;
  const isStillOpen = issue.status === "open";
  if (isProposer(review, me)) {
    if (!isStillOpen || hasEnded(review.status)) return [];
    return [
      { status: "fixed", role: "proposer", label: "Fixed", needsNote: false },
      { status: "wont_fix", role: "proposer", label: "Won't fix", needsNote: true },
      { status: "disputed", role: "proposer", label: "Dispute", needsNote: true },
    ];
  }
  if (!(isMine && !hasEnded(review.status)) && !me.isOperator) return [];
  const role: Authority = isMine && !hasEnded(review.status) ? "reviewer" : "operator";
  const choices: SettleChoice[] = [
    { status: "fixed", role, label: "Fixed", needsNote: false },
    { status: "wont_fix", role, label: isMine ? "Withdraw" : "Won't fix", needsNote: false },
  ];
  if (isStillOpen) choices.push({ status: "duplicate", role, label: "Duplicate", needsNote: false });
  const canOpen = !hasEnded(review.status) && (!isStillOpen || issue.proposer_says !== undefined);
  if (canOpen) choices.push({ status: "open", role, label: isStillOpen ? "Still open" : "Reopen", needsNote: false });
  return choices.filter(({ status }) => status === "open" || status !== issue.status);
}

/** The ids in a text that are findings of this review. */
export const FINDING_ID = /\bI-\d+\b/g;
