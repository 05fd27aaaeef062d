/** What is searched for, as it stands in the address. */
import type { SearchKind } from "../../api/generated";

export const KINDS = ["review", "finding", "message", "verdict"] as const satisfies readonly SearchKind[];
export const KIND_NAMES: Record<SearchKind, string> = {
  review: "Reviews",
  finding: "Issues",
  message: "Messages",
  verdict: "Verdicts",
};

export interface TextSearch {
  q?: string;
  /** Absent: all kinds. */
  in?: SearchKind;
  project?: string;
}

/** Longer texts are refused by the broker. */
const MAX_LENGTH = 500;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseTextSearch(search: Record<string, unknown>): TextSearch {
  const parsed: TextSearch = {};
  const q = text(search.q);
  if (q !== null) parsed.q = q;
  const kind = KINDS.find((each) => each === search.in);
  if (kind !== undefined) parsed.in = kind;
  const project = text(search.project);
  if (project !== null) parsed.project = project;
  return parsed;
}

/** The router reads `q=12` as a number. */
function text(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  const trimmed = String(value).trim().slice(0, MAX_LENGTH);
  return trimmed === "" ? null : trimmed;
}
