/** What the review page loads. Ids are UUIDs, because events carry them; content is keyed by its hash. */
import { type QueryKey, queryOptions } from "@tanstack/react-query";
import { type Answer, call, callForDiff } from "../../api/client";
import type { Issue, Message } from "../../api/generated";
import { keys } from "../../api/keys";
import { reviewName } from "./model";
import { type EventEntry, joinMessages, joinTimeline } from "./stream";

/** A review as it is (`at` is `null`), or as it was after an event. Answers about the past never change. */
export interface Moment {
  id: string;
  at: number | null;
}

const PAST_GC_MS = 60_000;

/** `now`: the key of the same answer about the present. */
function keyAt({ id, at }: Moment, now: QueryKey): QueryKey {
  return at === null ? now : keys.past(id, at, now.slice(2).join(" "));
}

/** The arguments that name the review and the moment. */
const about = ({ id, at }: Moment) => ({ review_id: id, at: at ?? undefined });

const freshness = ({ at }: Moment) => (at === null ? {} : { staleTime: Number.POSITIVE_INFINITY, gcTime: PAST_GC_MS });

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

/** The review as it was, together with what the page shows of it at once: a step does not mix two moments. */
export const pastReview = (id: string, at: number, name: string) =>
  queryOptions({
    queryKey: keys.past(id, at, `status ${name}`),
    queryFn: async ({ client, signal }) => {
      const moment = { id, at };
      const status = call("get_review_status", { ...about(moment), caller_id: name }, { signal });
      const [review] = await Promise.all([
        status,
        client.ensureQueryData(findings(moment)),
        client.ensureQueryData(discussion(moment)),
        status.then(({ current_round }) => client.ensureQueryData(proposal(moment, current_round))),
      ]);
      return review;
    },
    ...freshness({ id, at }),
  });

/** Head of a round: files, flags, commits, effort. Its texts are only the first page. */
export const proposal = (moment: Moment, round: number) =>
  queryOptions({
    queryKey: keyAt(moment, keys.proposal(moment.id, round)),
    queryFn: ({ signal }) => call("get_review", { ...about(moment), round }, { signal }),
    ...freshness(moment),
  });

/** The whole description of a content. Its first page is also part of the proposal. */
export const description = (moment: Moment, round: number, contentHash: string) =>
  queryOptions({
    queryKey: ["description", contentHash],
    queryFn: async ({ client, signal }) => {
      const head = await client.ensureQueryData(proposal(moment, round));
      let page =
        head.content_hash === contentHash ? head : await call("get_review", { ...about(moment), round }, { signal });
      let text = page.description ?? "";
      // The diff follows the description: its first character means that the description has ended.
      while (page.diff === undefined && page.counter_patch === undefined && page.next_cursor !== undefined) {
        page = await call("get_review", { ...about(moment), round, cursor: page.next_cursor }, { signal });
        text += page.description ?? "";
      }
      return text;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

const PAGE_ROWS = 200;

export const findings = (moment: Moment) =>
  queryOptions({
    queryKey: keyAt(moment, keys.issues(moment.id)),
    ...freshness(moment),
    queryFn: async ({ signal }) => {
      const all: Issue[] = [];
      let cursor: string | undefined;
      do {
        const args = { ...about(moment), include_suggestions: true, limit: PAGE_ROWS, cursor };
        const page: Answer<"list_review_issues"> = await call("list_review_issues", args, { signal });
        all.push(...page.issues);
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return all;
    },
  });

export const discussion = (moment: Moment) =>
  queryOptions({
    queryKey: keyAt(moment, keys.messages(moment.id)),
    ...freshness(moment),
    queryFn: async ({ signal }): Promise<Message[]> => {
      const pages: Answer<"get_discussion">[] = [];
      let cursor: string | undefined;
      do {
        const page: Answer<"get_discussion"> = await call("get_discussion", { ...about(moment), cursor }, { signal });
        pages.push(page);
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      return joinMessages(pages);
    },
  });

/** All events of the review, also while the past is on screen: the slider goes through them. */
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

export interface DiffAddress extends Moment {
  round: number;
  hash: string;
  since: { round: number; hash: string } | null;
}

/** The diff of a content, or what changed since the content of an earlier round. */
export const roundDiff = ({ id, at, round, hash, since }: DiffAddress) =>
  queryOptions({
    queryKey: keys.diff(hash, since?.hash ?? null),
    queryFn: ({ signal }) => {
      const args = { ...about({ id, at }), round, content_hash: hash, since_round: since?.round };
      return callForDiff("get_round_diff", args, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
    // A diff can be large: it is not kept long after the page is left.
    gcTime: 60_000,
  });

/** The remark about a comparison: nothing changed, or other bases. */
export const comparison = ({ id, at, round, hash, since }: DiffAddress & { since: { round: number; hash: string } }) =>
  queryOptions({
    queryKey: ["comparison", hash, since.hash],
    queryFn: async ({ signal }) => {
      const args = { ...about({ id, at }), round, since_round: since.round };
      const { since_note, description: changed } = await call("get_review", args, { signal });
      return { note: since_note ?? null, isDescriptionChanged: changed !== undefined };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** `version`: that of the verdict that offered it. `from`: what the diff begins at, the submitted round or its base. */
export const counterPatch = (moment: Moment, persona: string, round: number, version: number, from: "round" | "base") =>
  queryOptions({
    queryKey: keys.counterPatch(moment.id, persona, version, from),
    queryFn: ({ signal }) => {
      const since_round = from === "round" ? round : undefined;
      return callForDiff("get_counter_patch", { ...about(moment), persona, round, since_round }, signal);
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
