import { expect, test } from "vitest";
import { type ActionId, allBindings, match, pressed, type Scope } from "./bindings";

const press = (key: string, modifiers: Partial<Record<"ctrlKey" | "metaKey" | "shiftKey" | "altKey", boolean>> = {}) =>
  pressed({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...modifiers });

test("no key has two meanings on one page", () => {
  // The list of reviewers has the keys of lists, a log and the actors their search.
  const pages: readonly Scope[][] = [["list"], ["review"], ["list", "pool"], ["log"], ["list", "actors"]];
  for (const page of pages) {
    const seen = new Map<string, string>();
    for (const [action, { scope, keys }] of Object.entries(allBindings)) {
      if (scope !== "everywhere" && !page.includes(scope)) continue;
      for (const key of keys) {
        expect(seen.get(key), `${key} on ${page}`).toBeUndefined();
        seen.set(key, action);
        const first = key.split(" ")[0] ?? "";
        if (first !== key) expect(seen.has(first), `${first} starts ${key}`).toBe(false);
      }
    }
  }
});

test("presses are written as the table writes them", () => {
  expect(press("?", { shiftKey: true })).toBe("?");
  expect(press("J", { shiftKey: true })).toBe("Shift+J");
  expect(press("j")).toBe("j");
  expect(press("k", { ctrlKey: true })).toBe("Mod+K");
  expect(press("k", { metaKey: true })).toBe("Mod+K");
  expect(press("Enter", { ctrlKey: true })).toBe("Mod+Enter");
  expect(press("ArrowDown")).toBe("ArrowDown");
  expect(press(" ")).toBe("Space");
  expect(press("[", { ctrlKey: true, altKey: true })).toBe("[");
  expect(press("k", { ctrlKey: true, altKey: true })).toBe("Mod+Alt+K");
});

test("a sequence waits for its second key, and only active actions count", () => {
  const active = new Set<ActionId>(["goInbox", "reply"]);
  expect(match("g", active)).toBe("prefix");
  expect(match("g i", active)).toBe("goInbox");
  expect(match("r", active)).toBe("reply");
  expect(match("a", active)).toBeNull();
});
