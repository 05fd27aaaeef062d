// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { call, callForDiff, isCode, isRetryable, Refused, Unreachable } from "./client";

afterEach(() => vi.unstubAllGlobals());

/** Answers every request with what `answer` returns, and keeps the requests. */
function broker(answer: () => Response | Promise<Response>): Request[] {
  const requests: Request[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    requests.push(request);
    return Promise.resolve(answer());
  });
  return requests;
}

const json = (body: unknown, init: ResponseInit = {}) => new Response(JSON.stringify(body), init);
const problem = (code: string, status: number, more: object = {}) =>
  json(
    { type: "urn:x", title: "x", status, code, detail: "say why", ...more },
    { status, headers: { "x-trace-id": "t-1" } },
  );
const pathOf = ({ url }: Request) => new URL(url).pathname + new URL(url).search;

test("names in braces go into the path, encoded; the rest goes into the query", async () => {
  const requests = broker(() => json({}));
  await call("get_review_status", { review_id: "R-1/../../x?y#z", caller_id: "ann & bob", wait: undefined });
  expect(requests.map(pathOf)).toEqual(["/api/v1/reviews/R-1%2F..%2F..%2Fx%3Fy%23z/status?caller_id=ann+%26+bob"]);
  expect(requests[0]?.method).toBe("GET");
  expect(requests[0]?.credentials).toBe("same-origin");
});

test("a list in the query is the name, repeated", async () => {
  const requests = broker(() => json({ reviews: [], seq: 0 }));
  await call("list_reviews", { statuses: ["pending", "claimed"], details: true, limit: 5 });
  expect(requests.map(pathOf)).toEqual(["/api/v1/reviews?statuses=pending&statuses=claimed&details=true&limit=5"]);
});

test("a change sends its arguments as JSON, without those of the path", async () => {
  const requests = broker(() => json({}));
  await call("claim_review", { review_id: "R-1", reviewer_id: "ann", persona: undefined }, { ifMatch: 7 });
  const [request] = requests;
  expect(request?.method).toBe("POST");
  expect(pathOf(request as Request)).toBe("/api/v1/reviews/R-1/claim");
  expect(await request?.json()).toEqual({ reviewer_id: "ann" });
  expect(request?.headers.get("content-type")).toBe("application/json");
  expect(request?.headers.get("if-match")).toBe('"7"');
});

test("a refusal carries the problem and the trace", async () => {
  broker(() => problem("stale_content", 409));
  const error = await call("list_projects", {}).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Refused);
  expect(error).toMatchObject({ message: "say why", traceId: "t-1", problem: { code: "stale_content", status: 409 } });
  expect(isCode(error, "other", "stale_content")).toBe(true);
  expect(isCode(error, "other")).toBe(false);
  expect(isRetryable(error)).toBe(false);
});

test("only what may succeed later is tried again", async () => {
  broker(() => problem("busy", 503, { retryable: true }));
  expect(isRetryable(await call("list_projects", {}).catch((caught: unknown) => caught))).toBe(true);
  expect(isRetryable(new Error("x"))).toBe(false);
});

test("an answer that is not the broker's is a refusal as well", async () => {
  for (const body of ["<html>", "", "null", "[]", '"x"', '{"code":1}']) {
    broker(() => new Response(body, { status: 502, statusText: "Bad Gateway" }));
    const error = await call("list_projects", {}).catch((caught: unknown) => caught);
    expect(isCode(error, "unexpected_answer"), body).toBe(true);
  }
});

test("no answer differs from an answer and from a call that was given up", async () => {
  broker(() => Promise.reject(new TypeError("network")));
  await expect(call("list_projects", {})).rejects.toBeInstanceOf(Unreachable);
  broker(() => Promise.reject(new DOMException("gone", "AbortError")));
  await expect(call("list_projects", {})).rejects.toMatchObject({ name: "AbortError" });
});

test("an answer without a body is null", async () => {
  broker(() => new Response(null, { status: 204 }));
  expect(await call("list_projects", {})).toBeNull();
});

test("a diff is asked for as text and names its content", async () => {
  const requests = broker(() => new Response("--- a\n", { headers: { "content-hash": "abc" } }));
  expect(await callForDiff("get_round_diff", { review_id: "R-1", round: 2 })).toEqual({
    text: "--- a\n",
    contentHash: "abc",
  });
  expect(requests.map(pathOf)).toEqual(["/api/v1/reviews/R-1/rounds/2/diff"]);
  expect(requests[0]?.headers.get("accept")).toBe("text/x-diff");
});
