/** The filters and the grouping of the list of issues, as they stand in the address. */
import type { Args } from "../../api/client";
import type { FindingKind, FindingStatus, Severity } from "../../api/generated";
import { SEVERITIES } from "../../ui/Status";

export const STATUSES = ["open", "fixed", "wont_fix", "duplicate"] as const satisfies readonly FindingStatus[];
export const KINDS = [
  "bug",
  "security",
  "logic_error",
  "performance",
  "architecture",
  "test_gap",
  "guideline_violation",
  "other",
] as const satisfies readonly FindingKind[];
export const GROUPS = ["file", "severity", "persona", "review"] as const;
export type Group = (typeof GROUPS)[number];

/** Filters that take a text, in the order in which they are shown. */
export const TEXT_FILTERS = ["project", "persona", "reviewer", "file", "review"] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];
export const FILTER_NAMES = {
  project: "Project",
  persona: "Seat",
  reviewer: "Reviewer",
  file: "File",
  review: "Review",
  type: "Kind",
} as const satisfies Record<TextFilter | "type", string>;

export interface IssuesSearch {
  /** Statuses, joined by commas, or `any`. Absent: open. */
  status?: string;
  /** Severities, joined by commas. Absent: all but low. */
  severity?: string;
  type?: FindingKind;
  blocks?: "yes";
  /** Also issues of reviews that are cancelled or closed. */
  reviews?: "all";
  project?: string;
  persona?: string;
  reviewer?: string;
  file?: string;
  review?: string;
  q?: string;
  group?: Group;
}

export type IssueFilter = Omit<Args<"list_issues">, "cursor" | "limit" | "issue_id" | "order" | "review_id"> & {
  review_id?: string;
};

const MAX_LENGTH = 400;

/** Reads an address that a person may have written. What it does not understand, it leaves out. */
export function parseIssuesSearch(search: Record<string, unknown>): IssuesSearch {
  const parsed: IssuesSearch = {};
  const status = words(search.status).includes("any") ? "any" : listed(STATUSES, search.status);
  if (status !== null && status !== "open") parsed.status = status;
  const severity = listed(SEVERITIES, search.severity);
  if (severity !== null) parsed.severity = severity;
  const type = KINDS.find((kind) => kind === search.type);
  if (type !== undefined) parsed.type = type;
  if (search.blocks === "yes" || search.blocks === true) parsed.blocks = "yes";
  if (search.reviews === "all") parsed.reviews = "all";
  for (const name of [...TEXT_FILTERS, "q"] as const) {
    const value = text(search[name]);
    if (value !== null) parsed[name] = value;
  }
  const group = GROUPS.find((each) => each === search.group);
  if (group !== undefined) parsed.group = group;
  return parsed;
}

function words(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => (Array.isArray(one) ? [] : words(one)));
  return typeof value === "string" ? value.split(",").map((word) => word.trim()) : [];
}

function listed(all: readonly string[], value: unknown): string | null {
  const wanted = words(value);
  const chosen = all.filter((each) => wanted.includes(each));
  return chosen.length === 0 ? null : chosen.join(",");
}

/** The router reads `q=12` as a number. */
function text(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  const trimmed = String(value).trim().slice(0, MAX_LENGTH);
  return trimmed === "" ? null : trimmed;
}

export function statusesOf({ status }: IssuesSearch): FindingStatus[] {
  if (status === "any") return [];
  if (status === undefined) return ["open"];
  return STATUSES.filter((each) => words(status).includes(each));
}

/** Whether low ones are folded: they are, until severities are chosen. */
export function isLowFolded({ severity }: IssuesSearch): boolean {
  return severity === undefined;
}

export function severitiesOf({ severity }: IssuesSearch): Severity[] {
  return severity === undefined ? [] : SEVERITIES.filter((each) => words(severity).includes(each));
}

/** The search without this filter, or with another value of it. */
export function withFilter<Name extends keyof IssuesSearch>(
  search: IssuesSearch,
  name: Name,
  value: IssuesSearch[Name] | null,
): IssuesSearch {
  const { [name]: _, ...rest } = search;
  return value === null || value === "" ? rest : { ...rest, [name]: value };
}

/** Whether anything but the grouping differs from what the page shows at first. */
export function hasFilters({ group: _, ...rest }: IssuesSearch): boolean {
  return Object.keys(rest).length > 0;
}

/** The arguments of `list_issues`, `count_issues` and `export_issues`, without the folding of low ones. */
export function filterOf(search: IssuesSearch): IssueFilter {
  const statuses = statusesOf(search);
  const severities = severitiesOf(search);
  return {
    ...(statuses.length > 0 && { statuses }),
    ...(severities.length > 0 && { severities }),
    ...(search.type !== undefined && { type: search.type }),
    ...(search.blocks === "yes" && { blocks: true }),
    ...(search.reviews !== "all" && { open_reviews: true }),
    ...(search.project !== undefined && { project: search.project }),
    ...(search.persona !== undefined && { persona: search.persona }),
    ...(search.reviewer !== undefined && { reviewer: search.reviewer }),
    ...(search.file !== undefined && { file: search.file }),
    ...(search.review !== undefined && { review_id: search.review }),
    ...(search.q !== undefined && { q: search.q }),
  };
}

/** The filter of the rows on display: low ones are folded unless severities are chosen. */
export function shownFilterOf(search: IssuesSearch): IssueFilter {
  const filter = filterOf(search);
  return isLowFolded(search) ? { ...filter, severities: ["critical", "high", "medium"] } : filter;
}

/** The options of `countersign issues` that list the same. */
export function cliOptions(search: IssuesSearch): [string, string?][] {
  const { statuses, severities, ...rest } = shownFilterOf(search);
  const options: [string, string?][] = [
    ...(statuses ?? []).map((status): [string, string] => ["--status", status]),
    ...(severities ?? []).map((severity): [string, string] => ["--severity", severity]),
  ];
  if (rest.type !== undefined) options.push(["--type", rest.type]);
  if (rest.blocks === true) options.push(["--blocking"]);
  if (rest.open_reviews === true) options.push(["--open-reviews"]);
  for (const name of ["project", "persona", "reviewer", "file"] as const) {
    const value = rest[name];
    if (value !== undefined) options.push([`--${name}`, value]);
  }
  if (rest.q !== undefined) options.push(["--search", rest.q]);
  options.push(search.group === undefined ? ["--by-urgency"] : ["--group-by", search.group]);
  return options;
}
