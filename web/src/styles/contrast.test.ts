import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

type Tokens = Record<string, string>;

function tokensOf(selector: string): Tokens {
  const at = css.indexOf(`${selector} {`);
  const block = css.slice(at, css.indexOf("}", at));
  return Object.fromEntries(
    [...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  );
}

const light = tokensOf(":root");
const themes: [string, Tokens][] = [
  ["light", light],
  ["dark", { ...light, ...tokensOf(':root[data-theme="dark"]') }],
];

/** Relative luminance, as WCAG defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(tokens: Tokens, front: string, back: string): number {
  const [a = 0, b = 0] = [front, back].map((name) => {
    const colour = tokens[name];
    if (colour === undefined) throw new Error(`tokens.css has no --${name}`);
    return luminance(colour);
  });
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const surfaces = ["bg", "raised", "hover"];
const severities = ["sev-critical", "sev-high", "sev-medium", "sev-low"];
const tinted = ["accent-bg", "ok-bg", "warn-bg", "bad-bg"];
const changes = ["add", "add-strong", "del", "del-strong"];

/** Text and what it stands on. */
const texts: [string, string][] = [
  ...["text", "dim", "accent", "ok", "warn", "bad", ...severities].flatMap((front) =>
    surfaces.map((back): [string, string] => [front, back]),
  ),
  ...tinted.flatMap((back): [string, string][] => [
    ["text", back],
    ["dim", back],
    ["accent", back],
  ]),
  ["ok", "ok-bg"],
  ["warn", "warn-bg"],
  ["bad", "bad-bg"],
  ["on-accent", "accent"],
  ...changes.map((back): [string, string] => ["text", back]),
  ["dim", "add"],
  ["dim", "del"],
];

/** Edges of inputs, switches and focus, and glyphs that stand beside a word. */
const edges: [string, string][] = [
  ...surfaces.flatMap((back): [string, string][] => [
    ["line-strong", back],
    ["accent", back],
  ]),
  ["accent", "accent-bg"],
  ["warn", "warn-bg"],
  ["bad", "bad-bg"],
  ["ok", "ok-bg"],
];

for (const [name, tokens] of themes) {
  test(`${name}: text has a contrast of 4.5 at least`, () => {
    const weak = texts
      .map(([front, back]) => `${front} on ${back}: ${contrast(tokens, front, back).toFixed(2)}`)
      .filter((line) => Number(line.split(": ")[1]) < 4.5);
    expect(weak).toEqual([]);
  });

  test(`${name}: edges have a contrast of 3 at least`, () => {
    const weak = edges
      .map(([front, back]) => `${front} on ${back}: ${contrast(tokens, front, back).toFixed(2)}`)
      .filter((line) => Number(line.split(": ")[1]) < 3);
    expect(weak).toEqual([]);
  });
}

test("every colour is written as six digits, so that this test sees it", () => {
  const colours = [...css.matchAll(/--([\w-]+):\s*(#[^;]+|rgb[^;]+|hsl[^;]+|[a-z]+\([^;]+);/g)];
  const others = colours.filter(
    ([, name, value]) => !/^#[0-9a-f]{6}$/.test(value ?? "") && !/^var\(/.test(value ?? "") && name !== "scrim",
  );
  expect(others.map(([line]) => line)).toEqual([]);
});

test("both themes define the same colours", () => {
  expect(Object.keys(tokensOf(':root[data-theme="dark"]')).sort()).toEqual(Object.keys(light).sort());
});
