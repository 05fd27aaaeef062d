/**
 * Makes text of agents and files harmless to read: characters that a person cannot see, or that change the order of the
 * text around them, are written out as ‹U+202E›.
 */

/** Ranges of characters: controls except tab and line feed, zero width, bidi, invisible operators, tags and the like. */
const HIDDEN_RANGES = [
  "0000-0008 000b-001f 007f-009f 00ad 034f 061c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f",
  "3164 fe00-fe0e feff ffa0 fff9-fffb 1bca0-1bca3 1d173-1d17a e0000-e0fff",
].flatMap((line) => line.split(" "));

const HIDDEN = new RegExp(
  `[${HIDDEN_RANGES.map((range) => range.replace(/[0-9a-f]+/g, (code) => `\\u{${code}}`)).join("")}]`,
  "gu",
);

export function inert(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/** For titles, notifications and other places of one line. */
export function inertLine(text: string, maxLength = 200): string {
  const line = inert(text.replace(/\s+/g, " ").trim());
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

/** Fences text of others as data, for a prompt that a person copies. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${inert(text)}\n${fence}`;
}
