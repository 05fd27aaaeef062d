/** The address of a review: which tab, round, comparison and place. A wrong value is left out, never an error. */

export const TABS = ["diff", "conversation", "findings", "about"] as const;
export type Tab = (typeof TABS)[number];

export interface ReviewSearch {
  tab?: Tab;
  /** The round on display. Absent: the current one. */
  round?: number;
  /** Show only what changed since this round. */
  since?: number;
  /** The counter-patch of this persona is on display instead of the proposal. */
  patch?: string;
  file?: string;
  line?: number;
  side?: "old" | "new";
  /** A finding to go to, for example I-41. */
  finding?: string;
  /** The diff as a plain table. */
  diff?: "table";
  /** The review as it was after this event. Absent: as it is. */
  at?: number;
}

export function parseReviewSearch(search: Record<string, unknown>): ReviewSearch {
  const round = countOf(search.round);
  const since = countOf(search.since);
  const parsed: ReviewSearch = {};
  if (isTab(search.tab)) parsed.tab = search.tab;
  if (round !== null) parsed.round = round;
  if (since !== null && (round === null || since < round)) parsed.since = since;
  const patch = textOf(search.patch);
  if (patch !== null) parsed.patch = patch;
  const file = textOf(search.file);
  if (file !== null) {
    parsed.file = file;
    const line = countOf(search.line);
    if (line !== null) parsed.line = line;
    if (search.side === "old" || search.side === "new") parsed.side = search.side;
  }
  const finding = textOf(search.finding)?.toUpperCase() ?? "";
  if (/^I-\d+$/.test(finding)) parsed.finding = finding;
  if (search.diff === "table") parsed.diff = "table";
  const at = countOf(search.at);
  if (at !== null) parsed.at = at;
  return parsed;
}

function isTab(value: unknown): value is Tab {
  return TABS.includes(value as Tab);
}

function countOf(value: unknown): number | null {
  const number = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 1 && number < 1e9 ? number : null;
}

/** The router reads `?file=12` as a number. */
function textOf(value: unknown): string | null {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text !== "" && text.length <= 4_000 ? text : null;
}
