/** Every key of the query cache. Events name keys; what lies below a named key is loaded again. */
import type { Args } from "./client";

export type ReviewFilter = Omit<Args<"list_reviews">, "cursor" | "limit">;

export const keys = {
  whoami: ["whoami"] as const,
  lists: ["reviews"] as const,
  list: (filter: ReviewFilter) => ["reviews", "list", filter] as const,
  counts: (filter: ReviewFilter) => ["reviews", "counts", filter] as const,
  inbox: (part: "mine" | "open" | "decided", name: string) => ["reviews", "inbox", part, name] as const,
  /** A list that is read page by page. Events do not name it: it may be long, and it must not move under the eye. */
  pages: (filter: ReviewFilter) => ["review-pages", filter] as const,
  /** Below `["issues"]`, which events name. */
  issueCounts: (filter: object) => ["issues", "counts", filter] as const,
  /** Issues and their groups, page by page. Events do not name them: they must not move under the eye. */
  issuePages: ["issue-pages"] as const,
  /** Events do not name it: what was found stays until the person searches again. */
  search: (args: object) => ["search", args] as const,
  projects: ["projects"] as const,
  personas: ["personas"] as const,
  pool: ["pool"] as const,
  /** The pool with what each reviewer does now. Every event of a review may change it. */
  reviewers: ["reviewers"] as const,
  actors: ["actors"] as const,
  stats: ["stats"] as const,
  config: ["config"] as const,
  webhooks: ["webhooks"] as const,
  /** Statistics of periods, for their page. */
  periods: ["period-stats"] as const,
  periodStats: (part: string, args: unknown) => ["period-stats", part, args] as const,
  /** The newest rows of the log. Every event names them. */
  log: ["log"] as const,
  logHead: (view: string, filter: unknown) => ["log", view, filter] as const,
  /** The log page by page. Events do not name it, as with the pages of reviews. */
  logPages: (view: string, filter: unknown, from: number | null) => ["log-pages", view, filter, from] as const,
  /** An event never changes. */
  event: (seq: number) => ["event", seq] as const,
  /** A prefix: status, proposal, messages, issues and timeline lie below it. */
  review: (id: string) => ["review", id] as const,
  status: (id: string) => ["review", id, "status"] as const,
  proposal: (id: string, round: number | null) => ["review", id, "proposal", round] as const,
  messages: (id: string) => ["review", id, "messages"] as const,
  issues: (id: string) => ["review", id, "issues"] as const,
  timeline: (id: string) => ["review", id, "timeline"] as const,
  /** A review as it was after an event. It never changes, so events do not name it. */
  past: (id: string, at: number, part: string) => ["past", id, at, part] as const,
  /** The id that a number or a prefix means. It never changes. */
  reviewId: (name: string) => ["review-id", name] as const,
  /** Content never changes, so its key is its hash. */
  diff: (contentHash: string, sinceHash: string | null) => ["diff", contentHash, sinceHash] as const,
  counterPatch: (id: string, persona: string, version: number, from: string) =>
    ["counter-patch", id, persona, version, from] as const,
  file: (contentHash: string, path: string, side: "old" | "new") => ["file", contentHash, path, side] as const,
};
