import { expect, test } from "vitest";
import type { NeedsMe } from "./announcement";
import { notificationText, notNotified, REASONS, supportOf } from "./notifications";

const turn = (n: number): NeedsMe => ({ key: `id-${n}`, number: `R-${n}`, title: `Title ${n}`, why: "asks you" });

test("a turn is notified once, also if another tab did it", () => {
  const first = notNotified([], [turn(1), turn(2)]);
  expect(first.show).toEqual([turn(1), turn(2)]);
  expect(notNotified(first.known, [turn(2), turn(3)]).show).toEqual([turn(3)]);
  expect(notNotified(first.known, [turn(1)])).toEqual({ show: [], known: ["id-1", "id-2"] });
});

test("what is known does not grow for ever", () => {
  const many = Array.from({ length: 1_000 }, (_, n) => turn(n));
  const { known } = notNotified([], many);
  expect(known).toHaveLength(300);
  expect(known.at(-1)).toBe("id-999");
});

test("one notification, however many reviews", () => {
  expect(notificationText([])).toBeNull();
  expect(notificationText([turn(1)])).toEqual({ title: "R-1: asks you", body: "Title 1" });
  expect(notificationText([turn(1), turn(2)])).toEqual({
    title: "2 reviews need you: R-1, R-2.",
    body: "Title 1 · Title 2",
  });
});

test("text of agents is inert in a notification", () => {
  const text = notificationText([{ ...turn(1), title: "<b>\u202eevil\u0007\nx</b>" }]);
  expect(text?.body).toBe("<b>‹U+202E›evil‹U+0007› x</b>");
});

test("each reason for no notifications is said", () => {
  expect(supportOf({ isSecureContext: false, permission: null })).toBe("insecure");
  expect(supportOf({ isSecureContext: false, permission: "granted" })).toBe("insecure");
  expect(supportOf({ isSecureContext: true, permission: null })).toBe("unsupported");
  expect(supportOf({ isSecureContext: true, permission: "default" })).toBe("not_asked");
  expect(supportOf({ isSecureContext: true, permission: "granted" })).toBe("granted");
  for (const support of ["denied", "insecure", "unsupported"] as const) expect(REASONS[support]).not.toBeNull();
});
