/** The filters of the list of reviews, as they stand in the address. */
import type { Category, Status } from "../../api/generated";
import type { ReviewFilter } from "../../api/keys";

export const STATUSES = [
  "pending",
  "claimed",
  "in_review",
  "changes_requested",
  "approved",
  "rejected",
  "cancelled",
  "closed",
] as const satisfies readonly Status[];

export const CATEGORIES = [
  "plan_review",
  "code_change",
  "verification",
  "handoff",
] as const satisfies readonly Category[];

/** Filters that take a text, in the order in which they are shown. */
export const TEXT_FILTERS = ["project", "proposer", "persona", "branch"] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];

/** The filters of the menu, in words. */
export const FILTER_NAMES = {
  project: "Project",
  proposer: "Author",
  persona: "Seat",
  branch: "Branch",
  category: "Kind",
} as const satisfies Record<TextFilter | "category", string>;
export type MenuFilter = keyof typeof FILTER_NAMES;

export interface ReviewsSearch {
  /** Statuses, joined by commas. */
  status?: string;
  proposer?: string;
  persona?: string;
  project?: string;
  branch?: string;
  category?: Category;
  /** Only reviews in which it is the person's turn. */
  turn?: "me";
  q?: string;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseReviewsSearch(search: Record<string, unknown>): ReviewsSearch {
  const status = joined(STATUSES.filter((each) => words(search.status).includes(each)));
  const category = CATEGORIES.find((each) => each === search.category);
  const q = text(search.q);
  const texts = TEXT_FILTERS.map((name) => [name, text(search[name])] as const).filter(([, value]) => value !== null);
  return {
    ...(status !== null && { status }),
    ...Object.fromEntries(texts),
    ...(category !== undefined && { category }),
    ...(search.turn === "me" && { turn: "me" }),
    ...(q !== null && { q }),
  };
}

function words(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(words);
  return typeof value === "string" ? value.split(",").map((word) => word.trim()) : [];
}

/** The router reads `q=12` as a number. */
function text(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  const trimmed = String(value).trim().slice(0, MAX_LENGTH);
  return trimmed === "" ? null : trimmed;
}

/** No status and every status mean the same. */
function joined(statuses: readonly Status[]): string | null {
  return statuses.length === 0 || statuses.length === STATUSES.length ? null : statuses.join(",");
}

export function statusesOf({ status }: ReviewsSearch): Status[] {
  const wanted = words(status);
  return STATUSES.filter((each) => wanted.includes(each));
}

export function withStatuses(search: ReviewsSearch, statuses: readonly Status[]): ReviewsSearch {
  const { status: _, ...rest } = search;
  const status = joined(STATUSES.filter((each) => statuses.includes(each)));
  return status === null ? rest : { ...rest, status };
}

/** The search without this filter, or with another value of it. */
export function withFilter<Name extends keyof ReviewsSearch>(
  search: ReviewsSearch,
  name: Name,
  value: ReviewsSearch[Name] | null,
): ReviewsSearch {
  const { [name]: _, ...rest } = search;
  return value === null || value === "" ? rest : { ...rest, [name]: value };
}

export function hasFilters(search: ReviewsSearch): boolean {
  return Object.keys(search).length > 0;
}

/** The arguments of `list_reviews`. With a name the broker also counts unread messages. */
export function filterOf(search: ReviewsSearch, me: { name: string; isOperator: boolean }): ReviewFilter {
  const { status: _, turn, ...rest } = search;
  const statuses = statusesOf(search);
  return {
    ...rest,
    caller_id: me.name,
    // Not `status`: with one status and a name the broker lists what that name may claim.
    ...(statuses.length > 0 && { statuses }),
    ...(turn === "me" && { my_turn: true, ...(me.isOperator && { role: "operator" as const }) }),
  };
}
