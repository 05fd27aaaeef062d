import { expect, test } from "vitest";
import { ago, duration } from "./time";

const DAY = 24 * 3_600_000;

test("durations use the largest unit that fits", () => {
  expect(
    [0, 59_999, 60_000, 3_599_999, 3_600_000, 47 * 3_600_000, 48 * 3_600_000, 60 * DAY, 729 * DAY, 730 * DAY].map(
      duration,
    ),
  ).toEqual(["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d", "2 mo", "24 mo", "2 y"]);
});

test("times are relative to the clock of the broker", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(ago("2026-01-01T11:59:55Z", now)).toBe("just now");
  expect(ago("2026-01-01T11:46:00Z", now)).toBe("14 min ago");
  expect(ago("2026-01-01T12:10:00Z", now)).toBe("in 10 min");
  expect(ago("not a time", now)).toBe("not a time");
});
