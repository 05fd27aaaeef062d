import { expect, test } from "vitest";
import { planOutline } from "./outline";

test("headings with their lines, but none of code", () => {
  const text = "# Plan\n\n```sh\n# not one\n```\n\n## Steps ##\ntext # no\n~~~\n## no\n~~~\n### Last";
  expect(planOutline(text)).toEqual([
    { level: 1, title: "Plan", line: 1 },
    { level: 2, title: "Steps", line: 7 },
    { level: 3, title: "Last", line: 12 },
  ]);
});
