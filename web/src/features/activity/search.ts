/** The filters of the log, as they stand in the address. */
import type { EventKind } from "../../api/generated";

/** `activity`: the important events in words. `audit`: every event with its facts. */
export type LogView = "activity" | "audit";

export const REVIEW_KINDS = [
  "proposed",
  "revised",
  "rebased",
  "claimed",
  "auto_rejected",
  "claim_ended",
  "claim_renewed",
  "reservation_ended",
  "seat_added",
  "verdict_given",
  "finding_updated",
  "message_added",
  "counter_patch_accepted",
  "counter_patch_rejected",
  "cancelled",
  "closed",
] as const satisfies readonly EventKind[];

export const POOL_KINDS = [
  "reviewer_spawned",
  "reviewer_retried",
  "reviewer_draining",
  "reviewer_terminated",
  "crash_loop",
  "crash_loop_cleared",
  "pool_paused",
  "pool_resumed",
  "pool_limit_changed",
] as const satisfies readonly EventKind[];

type MissingKind = Exclude<EventKind, (typeof REVIEW_KINDS)[number] | (typeof POOL_KINDS)[number]>;

/** A new kind of event does not compile until it stands above. */
const KINDS: [MissingKind] extends [never] ? readonly EventKind[] : MissingKind = [...REVIEW_KINDS, ...POOL_KINDS];

/** Filters that take a text, in the order in which they are shown. */
export const TEXT_FILTERS = ["actor", "review", "project", "since", "until"] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];

export const FILTER_NAMES = {
  actor: "Actor",
  review: "Review",
  project: "Project",
  since: "Since",
  until: "Until",
  kind: "Kind",
} as const satisfies Record<TextFilter | "kind", string>;

export interface LogSearch {
  view?: "audit";
  actor?: string;
  review?: string;
  project?: string;
  /** A time, a date or an age, as the broker reads it. */
  since?: string;
  until?: string;
  /** Kinds, joined by commas. */
  kind?: string;
  /** The event that the list begins with. Without it the list follows the newest ones. */
  seq?: number;
}

const MAX_LENGTH = 200;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseLogSearch(search: Record<string, unknown>): LogSearch {
  const texts = TEXT_FILTERS.map((name) => [name, text(search[name])] as const).filter(([, value]) => value !== null);
  const kind = joined(KINDS.filter((each) => words(search.kind).includes(each)));
  const seq = Number(text(search.seq) ?? Number.NaN);
  return {
    ...(search.view === "audit" && { view: "audit" }),
    ...Object.fromEntries(texts),
    ...(kind !== null && { kind }),
    ...(Number.isSafeInteger(seq) && seq > 0 && { seq }),
  };
}

function words(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(words);
  return typeof value === "string" ? value.split(",").map((word) => word.trim()) : [];
}

/** The router reads `actor=12` as a number. */
function text(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  const trimmed = String(value).trim().slice(0, MAX_LENGTH);
  return trimmed === "" ? null : trimmed;
}

function joined(kinds: readonly EventKind[]): string | null {
  return kinds.length === 0 || kinds.length === KINDS.length ? null : kinds.join(",");
}

export function viewOf({ view }: LogSearch): LogView {
  return view ?? "activity";
}

export function kindsOf({ kind }: LogSearch): EventKind[] {
  const wanted = words(kind);
  return KINDS.filter((each) => wanted.includes(each));
}

export function withKind(search: LogSearch, kind: EventKind, isWanted: boolean): LogSearch {
  const kinds = KINDS.filter((each) => (each === kind ? isWanted : kindsOf(search).includes(each)));
  return withFilter(search, "kind", joined(kinds));
}

/** The search without this filter, or with another value of it. Another filter is another list, from its newest event. */
export function withFilter(search: LogSearch, name: TextFilter | "kind", value: string | null): LogSearch {
  const { [name]: _, seq: __, ...rest } = search;
  return value === null || value === "" ? rest : { ...rest, [name]: value };
}

export function withView(search: LogSearch, view: LogView): LogSearch {
  const { view: _, ...rest } = search;
  return view === "audit" ? { ...rest, view } : rest;
}

/** The search without any filter, in the same view. */
export function withoutFilters({ view }: LogSearch): LogSearch {
  return view === undefined ? {} : { view };
}

export function hasFilters(search: LogSearch): boolean {
  return [...TEXT_FILTERS, "kind" as const].some((name) => search[name] !== undefined);
}

/** The arguments of the operations of the log. */
export interface LogFilter {
  actor?: string;
  review_id?: string;
  project?: string;
  since?: string;
  until?: string;
  kind?: EventKind[];
}

export function filterOf(search: LogSearch): LogFilter {
  const { view: _, seq: __, kind: ___, review, ...rest } = search;
  const kinds = kindsOf(search);
  return {
    ...rest,
    ...(review !== undefined && { review_id: review }),
    ...(kinds.length > 0 && { kind: kinds }),
  };
}
