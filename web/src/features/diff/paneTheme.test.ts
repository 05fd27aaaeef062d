import { readFileSync } from "node:fs";
import dark from "@pierre/highlights/themes/github-dark-default";
import light from "@pierre/highlights/themes/github-light-default";
import { expect, it } from "vitest";
import { colourOf, readableTheme } from "./paneTheme";

const tokens = readFileSync(new URL("../../styles/tokens.css", import.meta.url), "utf8");

function colours(selector: RegExp): Record<string, string> {
  const block = selector.exec(tokens)?.[1] ?? "";
  return Object.fromEntries(
    [...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]),
  );
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [lighter = 0, darker = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
}

// What differs within a line is written in the colour of plain text, so the strong backgrounds need no check here.
it.each([
  ["light", light, /:root \{([^}]*)\}/],
  ["dark", dark, /\[data-theme="dark"\] \{([^}]*)\}/],
])("colours of code stand out from every line of the %s theme", (_, theme, selector) => {
  const page = colours(selector);
  for (const [name, style] of Object.entries(readableTheme(theme).style.syntax ?? {})) {
    const colour = colourOf(style);
    if (colour === "") continue;
    for (const background of ["bg", "add", "del", "accent-bg"])
      expect(contrast(colour, page[background] ?? ""), `${name} ${colour} on ${background}`).toBeGreaterThanOrEqual(
        4.5,
      );
  }
});
