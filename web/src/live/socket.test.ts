// @vitest-environment happy-dom
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveSocket } from "./socket";

/** The browser's end of a connection, moved by the test. */
class FakeWebSocket {
  static all: FakeWebSocket[] = [];
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  isClosed = false;
  constructor(readonly url: string) {
    FakeWebSocket.all.push(this);
  }
  close() {
    this.isClosed = true;
  }
  says(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  ends() {
    this.onclose?.();
  }
}

const latest = () => FakeWebSocket.all.at(-1) as FakeWebSocket;
const ready = (seq: number) => ({ type: "ready", seq, build: "b", database_id: "d" });
const event = (seq: number, review_id = "id-1") => ({ type: "message_added", seq, review_id });

let queries: QueryClient;
let live: LiveSocket;
let stop: () => void;
let invalidated: ReturnType<typeof vi.fn>;

beforeEach(() => {
  vi.useFakeTimers();
  FakeWebSocket.all = [];
  vi.stubGlobal("WebSocket", FakeWebSocket);
  vi.spyOn(Math, "random").mockReturnValue(1);
  queries = new QueryClient();
  invalidated = vi.fn(() => Promise.resolve());
  queries.invalidateQueries = invalidated as typeof queries.invalidateQueries;
  live = new LiveSocket(queries);
  stop = live.start();
  live.admitted(null);
  vi.advanceTimersByTime(0);
});

afterEach(() => {
  stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("events are gathered, and each key is loaded once", () => {
  latest().says(ready(1));
  invalidated.mockClear();
  for (let seq = 2; seq < 50; seq += 1) latest().says(event(seq));
  expect(invalidated).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(invalidated.mock.calls.map(([filter]) => filter.queryKey)).toEqual([["log"], ["reviews"], ["review", "id-1"]]);
});

/** Ten events in each hundredth of a second. Returns how often lists were loaded. */
async function busySeconds(seconds: number): Promise<number> {
  latest().says(ready(0));
  invalidated.mockClear();
  for (let seq = 1; seq <= seconds * 1_000; seq += 1) {
    latest().says(event(seq));
    if (seq % 10 === 0) await vi.advanceTimersByTimeAsync(10);
  }
  return invalidated.mock.calls.filter(([filter]) => filter.queryKey[0] === "reviews").length;
}

test("ten seconds of a thousand events each cause few requests", async () => {
  expect(await busySeconds(10)).toBeLessThanOrEqual(8);
  // The last event is not lost, and calm brings back the short wait.
  await vi.advanceTimersByTimeAsync(10_000);
  invalidated.mockClear();
  latest().says(event(10_001));
  await vi.advanceTimersByTimeAsync(100);
  expect(invalidated).toHaveBeenCalled();
});

test("events with gaps between them cause no more requests", async () => {
  latest().says(ready(0));
  invalidated.mockClear();
  for (let seq = 1; seq <= 50; seq += 1) {
    latest().says(event(seq));
    await vi.advanceTimersByTimeAsync(200);
  }
  expect(invalidated.mock.calls.filter(([filter]) => filter.queryKey[0] === "reviews").length).toBeLessThanOrEqual(8);
});

test("a load waits for the one before it, and rests longer the longer that one took", async () => {
  let running = 0;
  let most = 0;
  invalidated.mockImplementation(async ({ queryKey }: { queryKey: string[] }) => {
    if (queryKey[0] !== "reviews") return;
    running += 1;
    most = Math.max(most, running);
    await new Promise((done) => setTimeout(done, 1_500));
    running -= 1;
  });
  expect(await busySeconds(10)).toBeLessThanOrEqual(3);
  expect(most).toBe(1);
});

test("an answer that never comes keeps back later events only for a while", async () => {
  latest().says(ready(1));
  invalidated.mockImplementation(() => new Promise(() => {}));
  latest().says(event(2));
  await vi.advanceTimersByTimeAsync(200);
  invalidated.mockClear();
  latest().says(event(3));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(invalidated).toHaveBeenCalled();
});

test("while paused, events are counted and not applied", () => {
  latest().says(ready(1));
  invalidated.mockClear();
  live.setPaused(true);
  latest().says(event(2));
  latest().says(event(3));
  vi.advanceTimersByTime(5_000);
  expect(invalidated).not.toHaveBeenCalled();
  expect(live.getSnapshot()).toMatchObject({ isPaused: true, pausedEvents: 2, seq: 3 });
  live.setPaused(false);
  expect(invalidated).toHaveBeenCalled();
  expect(live.getSnapshot()).toMatchObject({ isPaused: false, pausedEvents: 0 });
});

test("after a lost connection it dials from the place where it was", () => {
  latest().says(ready(7));
  latest().ends();
  expect(live.getSnapshot().state).toBe("offline");
  vi.advanceTimersByTime(500);
  expect(FakeWebSocket.all).toHaveLength(2);
  expect(latest().url).toContain("/ws?since=7");
});

test("the answer about an old attempt does not end a newer connection", async () => {
  let answer: (response: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve)));
  latest().ends();
  dispatchEvent(new Event("online"));
  live.signedOut();
  live.admitted(null);
  vi.advanceTimersByTime(0);
  latest().says(ready(1));
  answer(new Response("", { status: 401 }));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(live.getSnapshot().state).toBe("live");
  expect(latest().isClosed).toBe(false);
});

test("a broker that accepts connections and never answers is asked again", async () => {
  vi.stubGlobal(
    "fetch",
    (_: string, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")))),
  );
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    expect(FakeWebSocket.all).toHaveLength(attempt);
    latest().ends();
    await vi.advanceTimersByTimeAsync(5_000 + 15_000);
  }
  expect(live.getSnapshot().failures).toBeGreaterThanOrEqual(11);
});

test("refusals are distinguished: sign in, another database, or try again", async () => {
  const states: string[] = [];
  for (const status of [401, 422, 503]) {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("", { status })));
    live.signedOut();
    live.admitted(null);
    vi.advanceTimersByTime(0);
    latest().ends();
    await vi.advanceTimersByTimeAsync(0);
    states.push(live.getSnapshot().state);
  }
  expect(states).toEqual(["signed_out", "connecting", "offline"]);
});

test("frames that are not frames are ignored", () => {
  latest().says(ready(1));
  for (const junk of ["", "x", "null", "1", "[]", "{}", '{"type":"ready"}']) latest().onmessage?.({ data: junk });
  expect(live.getSnapshot()).toMatchObject({ state: "live", seq: 1 });
});
