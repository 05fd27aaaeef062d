import { expect, test } from "vitest";
import { append, EMPTY, entryOf, indexAt, linesOf, MAX_LINES, only, type Part, prepend, startOf } from "./logBuffer";

const bytes = (text: string) => new TextEncoder().encode(text).length;

function part(from: number, text: string, more: Partial<Part> = {}): Part {
  const next = from + bytes(text);
  return { from, text, next, total_bytes: next, dropped_bytes: 0, ended: false, ...more };
}

test("lines have offsets in bytes, also where characters have several", () => {
  expect(linesOf(part(10, "é\nab\nc"))).toEqual([
    { offset: 10, text: "é\n" },
    { offset: 13, text: "ab\n" },
    { offset: 16, text: "c" },
  ]);
});

test("parts are joined at the end, and a line that was cut goes on", () => {
  let buffer = append(only(part(0, "one\ntw")), part(6, "o\nthree\n"));
  expect(buffer.lines.map(({ text }) => text)).toEqual(["one\n", "two\n", "three\n"]);
  expect(buffer).toMatchObject({ next: 14, total: 14, missed: 0 });
  // The broker dropped what the page had not read.
  buffer = append(buffer, part(100, "later\n", { dropped_bytes: 100, ended: true }));
  expect(buffer).toMatchObject({ missed: 86, dropped: 100, hasEnded: true, next: 106 });
});

test("lines that are already there are not added again", () => {
  const buffer = only(part(0, "one\ntwo\n"));
  expect(append(buffer, part(4, "two\nthree\n")).lines.map(({ text }) => text)).toEqual(["one\n", "two\n", "three\n"]);
  expect(append(buffer, part(0, "one\n"))).toMatchObject({ lines: buffer.lines, next: 8, missed: 0 });
});

test("parts are put before the first line without the one that begins in its middle", () => {
  const buffer = only(part(20, "x\ny\n", { total_bytes: 24 }));
  const earlier = prepend(buffer, part(10, "lf\nwhole\n", { next: 20, total_bytes: 24 }));
  expect(earlier.lines.map(({ text, offset }) => [offset, text])).toEqual([
    [13, "whole\n"],
    [20, "x\n"],
    [22, "y\n"],
  ]);
  expect(startOf(prepend(earlier, part(0, "a\nb\n", { dropped_bytes: 0 })))).toBe(0);
});

test("the buffer is bounded at both ends, and knows where it ends", () => {
  const many = (from: number, count: number) => part(from, "x\n".repeat(count));
  let buffer = append(EMPTY, many(0, MAX_LINES));
  buffer = append(buffer, many(2 * MAX_LINES, 10));
  expect(buffer.lines).toHaveLength(MAX_LINES);
  expect(startOf(buffer)).toBe(20);
  buffer = prepend(buffer, part(0, "x\n".repeat(10), { total_bytes: 2 * MAX_LINES + 20 }));
  expect(buffer.lines).toHaveLength(MAX_LINES);
  expect([startOf(buffer), buffer.next, buffer.total]).toEqual([0, 2 * MAX_LINES, 2 * MAX_LINES + 20]);
});

test("a line is found by its offset", () => {
  const { lines } = only(part(10, "aa\nbb\ncc\n"));
  expect([9, 10, 12, 13, 99].map((offset) => indexAt(lines, offset))).toEqual([0, 0, 0, 1, 2]);
  expect(indexAt([], 5)).toBe(0);
});

test("an entry says when, from where and what", () => {
  const at = "2026-11-19T10:00:00Z";
  expect(entryOf(`${at} out  two  words\n`)).toEqual({ at, source: "out", text: " two  words" });
  expect(entryOf(`${at} err \n`)).toEqual({ at, source: "err", text: "" });
  expect(entryOf(`${at} --- turn 2\n`)).toEqual({ at, source: "broker", text: "turn 2" });
  expect(entryOf("anything else\r\n")).toEqual({ at: null, source: null, text: "anything else" });
});
