/** The one client of the broker's REST interface. Operations and their types are generated from OpenAPI. */
import { setServerDate } from "../time";
import { type Operations, operations, type Problem } from "./generated";

export type Answer<Id extends keyof Operations> = Operations[Id]["answer"];
export type Args<Id extends keyof Operations> = Operations[Id]["args"];

/** The broker refused a call. Decide by `problem.code`, show `problem.detail`. */
export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    readonly traceId: string | null,
  ) {
    super(problem.detail);
    this.name = "Refused";
  }
}

/** The broker did not answer. */
export class Unreachable extends Error {
  constructor() {
    super("the broker does not answer");
    this.name = "Unreachable";
  }
}

/** Whether sending the same call again may help. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && error.problem.retryable === true);
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Refused && codes.includes(error.problem.code);
}

export async function call<Id extends keyof Operations>(
  id: Id,
  args: Args<Id>,
  options: { signal?: AbortSignal; ifMatch?: number } = {},
): Promise<Answer<Id>> {
  const answer = await send(request(id, args, options));
  return (answer.status === 204 ? null : await answer.json()) as Answer<Id>;
}

/** The diff of an operation that also answers with text, and the content that it is of. */
export async function callForDiff(
  id: "get_diff" | "get_round_diff" | "get_counter_patch",
  args: Args<typeof id>,
  signal?: AbortSignal,
): Promise<{ text: string; contentHash: string | null }> {
  const prepared = request(id, args, signal === undefined ? {} : { signal });
  prepared.headers.set("accept", "text/x-diff");
  const answer = await send(prepared);
  return { text: await answer.text(), contentHash: answer.headers.get("content-hash") };
}

function request<Id extends keyof Operations>(
  id: Id,
  args: Args<Id>,
  { signal, ifMatch }: { signal?: AbortSignal; ifMatch?: number },
): Request {
  const [method, template] = operations[id];
  const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  const hasBody = method === "POST" || method === "PATCH";
  const query = new URLSearchParams(
    hasBody ? [] : [...rest].flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)])),
  );
  const headers = new Headers({ accept: "application/json" });
  if (hasBody) headers.set("content-type", "application/json");
  if (ifMatch !== undefined) headers.set("if-match", `"${ifMatch}"`);
  return new Request(query.size > 0 ? `${path}?${query}` : path, {
    method,
    headers,
    credentials: "same-origin",
    signal: signal ?? null,
    ...(hasBody && { body: JSON.stringify(Object.fromEntries(rest)) }),
  });
}

/** The address of an operation that only reads: a link that a browser follows, for example to a file. */
export function addressOf<Id extends keyof Operations>(id: Id, args: Args<Id>): string {
  const { pathname, search } = new URL(request(id, args, {}).url);
  return `${pathname}${search}`;
}

async function send(prepared: Request): Promise<Response> {
  const answer = await fetch(prepared).catch((error: unknown) => {
    throw error instanceof DOMException && error.name === "AbortError" ? error : new Unreachable();
  });
  setServerDate(answer.headers.get("date"));
  if (answer.ok) return answer;
  throw new Refused(await problemOf(answer), answer.headers.get("x-trace-id"));
}

/** The problem that an answer states. A proxy in between may answer with something else. */
async function problemOf(answer: Response): Promise<Problem> {
  const body: unknown = await answer.json().catch(() => null);
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) return body as Problem;
  const detail = `the answer was ${answer.status} ${answer.statusText}`;
  return { type: "about:blank", title: "Unexpected answer", status: answer.status, detail, code: "unexpected_answer" };
}
