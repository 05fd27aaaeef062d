/** What the review page loads. Ids are UUIDs, because events carry them; content is keyed by its hash. */
import { queryOptions } from "@tanstack/react-query";
import { type Answer, call, callForDiff } from "../../api/client";
import type { Issue, Message } from "../../api/generated";
import { keys } from "../../api/keys";
import { reviewName } from "./model";
import { type EventEntry, joinMessages, joinTimeline } from "./stream";

/** The id that the address means. It never changes, so it is looked up once. The answer is also the first status. */
export const reviewId = (param: string, name: string) =>
  queryOptions({
    queryKey: keys.reviewId(param),
    queryFn: async ({ client, signal }) => {
      const args = { review_id: reviewName(param), caller_id: name };
      const status = await call("get_review_status", args, { signal });
      const { queryKey } = reviewStatus(status.review_id, name);
      client.setQueryData(queryKey, (known) =>
        known !== undefined && known.version > status.version ? known : status,
      );
      return status.review_id;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** `name` renews the claim of a seat that the person holds, and counts what it has not read. */
export const reviewStatus = (id: string, name: string) =>
  queryOptions({
    queryKey: [...keys.status(id), name],
    queryFn: ({ signal }) => call("get_review_status", { review_id: id, caller_id: name }, { signal }),
  });

/** Head of a round: files, flags, commits, effort. Its texts are only the first page. */
export const proposal = (id: string, round: number) =>
  queryOptions({
    queryKey: keys.proposal(id, round),
    queryFn: ({ signal }) => call("get_review", { review_id: id, round }, { signal }),
  });

/** The whole description of a content. Its first page is also part of the proposal. */
export const description = (id: string, round: number, contentHash: string) =>
  queryOptions({
    queryKey: ["description", contentHash],
    queryFn: async ({ client, signal }) => {
      const head = await client.ensureQueryData(proposal(id, round));
      let page =
        head.content_hash === contentHash ? head : await call("get_review", { review_id: id, round }, { signal });
      let text = page.description ?? "";
      // The diff follows the description: its first character means that the description has ended.
      while (page.diff === undefined && page.counter_patch === undefined && page.next_cursor !== undefined) {
        page = await call("get_review", { review_id: id, round, cursor: page.next_cursor }, { signal });
        text += page.description ?? "";
      }
      return text;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

const PAGE_ROWS = 200;

export const findings = (id: string) =>
  queryOptions({
    queryKey: keys.issues(id),
    queryFn: async ({ signal }) => {
      const all: Issue[] = [];
      let cursor: string | undefined;
      do {
        const args = { review_id: id, include_suggestions: true, limit: PAGE_ROWS, cursor };
        const page: Answer<"list_review_issues"> = await call("list_review_issues", args, { signal });
        all.push(...page.issues);
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return all;
    },
  });

export const discussion = (id: string) =>
  queryOptions({
    queryKey: keys.messages(id),
    queryFn: async ({ signal }): Promise<Message[]> => {
      const pages: Answer<"get_discussion">[] = [];
      let cursor: string | undefined;
      do {
        const page: Answer<"get_discussion"> = await call("get_discussion", { review_id: id, cursor }, { signal });
        pages.push(page);
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return joinMessages(pages);
    },
  });

export const timeline = (id: string) =>
  queryOptions({
    queryKey: keys.timeline(id),
    queryFn: async ({ signal }): Promise<EventEntry[]> => {
      const pages: Answer<"get_review_timeline">[] = [];
      let cursor: string | undefined;
      do {
        const args = { review_id: id, cursor };
        const page: Answer<"get_review_timeline"> = await call("get_review_timeline", args, { signal });
        pages.push(page);
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return joinTimeline(pages);
    },
  });

export interface DiffAddress {
  id: string;
  round: number;
  hash: string;
  since: { round: number; hash: string } | null;
}

/** The diff of a content, or what changed since the content of an earlier round. */
export const roundDiff = ({ id, round, hash, since }: DiffAddress) =>
  queryOptions({
    queryKey: keys.diff(hash, since?.hash ?? null),
    queryFn: ({ signal }) =>
      callForDiff("get_round_diff", { review_id: id, round, content_hash: hash, since_round: since?.round }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    // A diff can be large: it is not kept long after the page is left.
    gcTime: 60_000,
  });

/** The remark about a comparison: nothing changed, or other bases. */
export const comparison = ({ id, round, hash, since }: DiffAddress & { since: { round: number; hash: string } }) =>
  queryOptions({
    queryKey: ["comparison", hash, since.hash],
    queryFn: async ({ signal }) => {
      const args = { review_id: id, round, since_round: since.round };
      const { since_note, description: changed } = await call("get_review", args, { signal });
      return { note: since_note ?? null, isDescriptionChanged: changed !== undefined };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** `version`: that of the verdict that offered it. `from`: what the diff begins at, the submitted round or its base. */
export const counterPatch = (id: string, persona: string, round: number, version: number, from: "round" | "base") =>
  queryOptions({
    queryKey: keys.counterPatch(id, persona, version, from),
    queryFn: ({ signal }) => {
      const since_round = from === "round" ? round : undefined;
      return callForDiff("get_counter_patch", { review_id: id, persona, round, since_round }, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/** The whole reason of the verdict with this version. The timeline has only its start. */
export const verdictReason = (id: string, round: number, version: number) =>
  queryOptions({
    queryKey: ["verdict-reason", id, version],
    queryFn: async ({ signal }) => {
      let reason = "";
      let cursor: string | undefined;
      do {
        const args = { review_id: id, round, verdict: version, cursor };
        const page: Answer<"get_review"> = await call("get_review", args, { signal });
        reason += page.verdict_reason ?? "";
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return reason;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

export const personas = () =>
  queryOptions({ queryKey: keys.personas, queryFn: ({ signal }) => call("list_personas", {}, { signal }) });

/** The other reviews in which it is the person's turn, the oldest turn first. */
export const nextForMe = (id: string, name: string, isOperator: boolean) =>
  queryOptions({
    queryKey: [...keys.lists, "next", name, isOperator, id],
    queryFn: async ({ signal }) => {
      const args = { my_turn: true, caller_id: name, limit: 20, ...(isOperator && { role: "operator" as const }) };
      const { reviews } = await call("list_reviews", args, { signal });
      return reviews.filter((row) => row.review_id !== id);
    },
  });
