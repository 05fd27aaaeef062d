import { expect, test } from "vitest";
import { announcement, type NeedsMe, newTurns } from "./announcement";

const turn = (n: number, title = "Title"): NeedsMe => ({
  key: `id-${n}`,
  number: `R-${n}`,
  title,
  why: "your vote is missing",
});

test("what was there when the page opened is not news", () => {
  expect(newTurns(null, [turn(1), turn(2)])).toEqual([]);
});

test("a turn is news once", () => {
  expect(newTurns(new Set(["id-1"]), [turn(1), turn(2)])).toEqual([turn(2)]);
  expect(newTurns(new Set(["id-1", "id-2"]), [turn(1), turn(2)])).toEqual([]);
});

test("one sentence, however many reviews", () => {
  expect(announcement([])).toBeNull();
  expect(announcement([turn(1)])).toBe("R-1 needs you: your vote is missing.");
  expect(announcement([turn(1), turn(2)])).toBe("2 reviews need you: R-1, R-2.");
  expect(announcement([1, 2, 3, 4].map((n) => turn(n)))).toBe("4 reviews need you: R-1, R-2, R-3 and others.");
});

test("hidden characters of a name are written out", () => {
  const sly = { ...turn(1), why: "asks \u202eyou" };
  expect(announcement([sly])).toBe("R-1 needs you: asks ‹U+202E›you.");
});
