import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown, type SourceLines } from "./Markdown";

const bold = (id: string) => createElement("b", null, id);
const lines = ({ start, end, first, last }: SourceLines, block: ReactNode) =>
  createElement("section", { "data-lines": `${start}-${end}`, "data-all": `${first}-${last}` }, block);

test("ids of findings are drawn by the caller, but not in code and links", () => {
  const text = "See I-41 and **I-2**, `I-3`, [I-4](https://a.example), XI-5";
  const html = renderToStaticMarkup(createElement(Markdown, { text, renderFinding: bold }));
  expect([...html.matchAll(/<b>(.*?)<\/b>/g)].map((match) => match[1])).toEqual(["I-41", "I-2"]);
});

test("blocks and list items know their lines", () => {
  const text = "# Plan\n\nfirst\nsecond\n\n- one\n- two\n  more\n\n```\ncode\n```";
  const html = renderToStaticMarkup(createElement(Markdown, { text, renderBlock: lines }));
  expect([...html.matchAll(/data-lines="(.*?)"/g)].map((match) => match[1])).toEqual([
    "1-1",
    "3-4",
    "6-6",
    "7-8",
    "10-12",
  ]);
});

test("every line belongs to one block", () => {
  const text = "\n# Plan\n\nfirst\n\n\n- one\n\n- two\n";
  const html = renderToStaticMarkup(createElement(Markdown, { text, renderBlock: lines }));
  const all = [...html.matchAll(/data-all="(\d+)-(\d+)"/g)].map((match) => [Number(match[1]), Number(match[2])]);
  expect(all).toEqual([
    [1, 3],
    [4, 6],
    [7, 8],
    [9, Number.MAX_SAFE_INTEGER],
  ]);
});

test("a text cannot bring these elements itself", () => {
  const html = renderToStaticMarkup(createElement(Markdown, { text: '<x-finding name="I-1">', renderFinding: bold }));
  expect(html).not.toContain("<b>");
});
