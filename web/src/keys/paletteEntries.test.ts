import { expect, test } from "vitest";
import type { ActionId } from "./bindings";
import { actionEntries, matching } from "./paletteEntries";

test("only what the page can do now is offered, with its key", () => {
  const entries = actionEntries(new Set<ActionId>(["goInbox", "approve", "palette", "down"]));
  expect(entries).toEqual([
    { id: "goInbox", label: "Go to Inbox", hint: "g i" },
    { id: "approve", label: "Approve", hint: "a" },
  ]);
});

test("all words must occur, in any order; what starts with the first comes first", () => {
  const entries = ["Pause or continue live updates", "Go to Reviews", "Reviews of others"].map((label) => ({
    id: label,
    label,
    hint: "",
  }));
  expect(matching(entries, "reviews").map(({ label }) => label)).toEqual(["Reviews of others", "Go to Reviews"]);
  expect(matching(entries, "  LIVE pause ").map(({ label }) => label)).toEqual(["Pause or continue live updates"]);
  expect(matching(entries, "nothing")).toEqual([]);
  expect(matching(entries, "")).toHaveLength(3);
});
