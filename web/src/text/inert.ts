/**
 * Makes text of agents and files harmless to read: characters that a person cannot see, or that change the order of the
 * text around them, are written out as ‹U+202E›.
 */

// C0 and C1 controls except tab and line feed, soft hyphen, zero width and bidi marks, invisible operators, variation
// selectors beyond the common emoji one, interlinear annotations, byte order mark, tag characters.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each character is meant alone
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

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
