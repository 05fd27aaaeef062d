import { expect, test } from "vitest";
import { fenced, inert, inertLine } from "./inert";

test("hidden characters are written out", () => {
  expect(inert("a\u202eb")).toBe("a‹U+202E›b");
  expect(inert("a\u200bb\u0000c\u001b[31md")).toBe("a‹U+200B›b‹U+0000›c‹U+001B›[31md");
  expect(inert("x\u{e0041}y")).toBe("x‹U+E0041›y");
  expect(inert("\ufeffstart")).toBe("‹U+FEFF›start");
});

test("ordinary text stays as it is", () => {
  const text = "Tabs\tand lines\n, umlauts äöü, 漢字, emoji 👍❤️, ‹quotes›";
  expect(inert(text)).toBe(text);
  expect(inert("a\r\nb")).toBe("a\nb");
});

test("a title is one short line", () => {
  expect(inertLine("  a\n\n b  ")).toBe("a b");
  expect(inertLine("x".repeat(300))).toHaveLength(200);
});

test("a fence is longer than every fence inside", () => {
  expect(fenced("a ```` b").startsWith("`````\n")).toBe(true);
  expect(fenced("plain")).toBe("```\nplain\n```");
});
