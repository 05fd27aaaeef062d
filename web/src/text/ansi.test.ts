import { expect, test } from "vitest";
import { spansOf, withoutColours } from "./ansi";

test("colours and weights become classes, as the broker writes them and as they are", () => {
  for (const start of ["\u001b", "\\u{1b}"]) {
    const line = `${start}[1;31merror${start}[0m: ${start}[92mfine${start}[39m end`;
    expect(spansOf(line)).toEqual([
      { text: "error", className: "text-bad font-bold" },
      { text: ": ", className: "" },
      { text: "fine", className: "text-ok" },
      { text: " end", className: "" },
    ]);
    expect(withoutColours(line)).toBe("error: fine end");
  }
});

test("long forms are read to their end, also those without a counterpart", () => {
  expect(spansOf("\u001b[38;5;1mred\u001b[38;2;1;2;3;4mother\u001b[48;5;9mplain")).toEqual([
    { text: "red", className: "text-bad" },
    { text: "other", className: "underline" },
    { text: "plain", className: "underline" },
  ]);
});

test("every other sequence stays text, and hidden characters are written out", () => {
  expect(spansOf("\u001b[2Ja\u202eb")).toEqual([{ text: "‹U+001B›[2Ja‹U+202E›b", className: "" }]);
  expect(spansOf("\\u{1b}]8;;javascript:x\\u{7}link")).toEqual([
    { text: "\\u{1b}]8;;javascript:x\\u{7}link", className: "" },
  ]);
  expect(spansOf(`\u001b[${"1;".repeat(50)}m`)).toHaveLength(1);
  expect(spansOf("")).toEqual([]);
});

test("no class comes from the text", () => {
  const spans = spansOf("\u001b[999mx\u001b[;;my\u001b[38mz");
  expect(spans.map(({ className }) => className)).toEqual(["", "", ""]);
});
