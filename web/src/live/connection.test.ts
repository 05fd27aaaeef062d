import { expect, test } from "vitest";
import type { LiveFrame } from "../api/generated";
import { type Effect, type Heard, type Live, type LiveEvent, start, step } from "./connection";

const ready = (seq: number, changes: Partial<{ build: string; database_id: string }> = {}): Heard => ({
  kind: "frame",
  frame: { type: "ready", seq, build: "build-1", database_id: "database-1", ...changes },
});
const eventFrame = (seq: number) => ({ type: "review_updated", seq, review_id: "id-1" }) as LiveEvent;
const event = (seq: number): Heard => ({ kind: "frame", frame: eventFrame(seq) });
const dropped = (seq: number): Heard => ({
  kind: "frame",
  frame: { type: "dropped", reason: "closing", seq } as LiveFrame,
});
const closed: Heard = { kind: "closed" };

/** Hears everything in turn: the state at the end, and all effects. */
function after(...heard: Heard[]): [Live, Effect[]] {
  return heard.reduce<[Live, Effect[]]>(
    ([live, effects], each) => {
      const [next, more] = step(live, each);
      return [next, [...effects, ...more]];
    },
    [start, []],
  );
}

test("the first greeting loads everything and remembers where the stream stands", () => {
  const [live, effects] = after(ready(7));
  expect(live).toMatchObject({ state: "live", seq: 7, failures: 0, isOutdated: false, isOtherDatabase: false });
  expect(effects).toEqual([{ do: "refetch_all" }]);
});

test("an event touches what it is about, once", () => {
  const [live, effects] = after(ready(7), event(8), event(8), event(6), event(9));
  expect(live.seq).toBe(9);
  expect(effects.slice(1)).toEqual([
    { do: "touch", event: eventFrame(8) },
    { do: "touch", event: eventFrame(9) },
  ]);
});

test("after an interruption the stream goes on where it was, and nothing is loaded twice", () => {
  const [live, effects] = after(ready(7), event(8), closed, ready(8), event(9));
  expect(live).toMatchObject({ state: "live", seq: 9, failures: 0 });
  expect(effects.filter(({ do: what }) => what === "refetch_all")).toHaveLength(1);
});

test("the place survives a greeting that names a later one: the events between still come", () => {
  const [live] = after(ready(7), closed, ready(20));
  expect(live.seq).toBe(7);
});

test("it dials for ever, at most every fifteen seconds", () => {
  let live = after(ready(1))[0];
  const delays = Array.from({ length: 200 }, () => {
    const [next, effects] = step(live, closed);
    live = next;
    expect(effects).toHaveLength(1);
    const [effect] = effects;
    return effect?.do === "dial" ? effect.afterMs : Number.NaN;
  });
  expect(delays.slice(0, 7)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  expect(delays.at(-1)).toBe(15_000);
  expect(live).toMatchObject({ state: "offline", seq: 1, failures: 200 });
  expect(step(live, ready(1))[0].failures).toBe(0);
});

test("the last message of a stream says where to go on", () => {
  expect(after(ready(7), dropped(12))[0].seq).toBe(12);
});

test("another database on the address is noticed by its name, and everything is forgotten", () => {
  const [live, effects] = after(ready(7), closed, ready(3, { database_id: "database-2" }));
  expect(live).toMatchObject({ state: "live", seq: 3, databaseId: "database-2", isOtherDatabase: true });
  expect(effects.at(-1)).toEqual({ do: "clear_all" });
});

test("another database is also noticed when it does not know the place in the stream", () => {
  const [live, effects] = after(ready(700), closed, { kind: "unknown_since" });
  expect(live).toMatchObject({ state: "connecting", seq: null, isOtherDatabase: true });
  expect(effects.slice(-2)).toEqual([{ do: "clear_all" }, { do: "dial", afterMs: 0 }]);
});

test("an updated broker makes the page outdated, and it stays so", () => {
  const [live, effects] = after(ready(7), closed, ready(7, { build: "build-2" }), closed, ready(7));
  expect(live.isOutdated).toBe(true);
  expect(effects.filter(({ do: what }) => what === "clear_all")).toHaveLength(0);
});

test("signed out it waits, signed in it loads everything", () => {
  const [out, effects] = after(ready(7), closed, { kind: "unauthorized" });
  expect(out).toMatchObject({ state: "signed_out", seq: null });
  expect(effects.at(-1)).toEqual({ do: "dial", afterMs: 500 });
  const [waiting, dial] = step(out, { kind: "admitted", seq: null });
  expect(dial).toEqual([{ do: "dial", afterMs: 0 }]);
  expect(step(waiting, ready(9))[1]).toEqual([{ do: "refetch_all" }]);
});

test("what was loaded after the place that it starts from is not loaded again", () => {
  const [waiting] = step(start, { kind: "admitted", seq: 5 });
  const [live, effects] = step(waiting, ready(5));
  expect(effects).toEqual([]);
  expect(live).toMatchObject({ state: "live", seq: 5 });
});
