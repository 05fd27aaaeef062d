/**
 * The colours of a line of a terminal. Only colours and weights are understood; every other sequence stays text that a
 * person can see. The broker writes the escape character of a log as `\u{1b}`.
 */
import { inert } from "./inert";

export interface Span {
  text: string;
  /** Classes from the table below, or empty. */
  className: string;
}

const ESCAPE = String.fromCharCode(0x1b);
const SEQUENCE = new RegExp(`(?:${ESCAPE}|\\\\u\\{1b\\})\\[([0-9;]{0,40})m`, "g");

/** A colour of a terminal, and the one of the page that means the same. */
const COLOURS: readonly string[] = [
  "text-dim",
  "text-bad",
  "text-ok",
  "text-warn",
  "text-accent",
  "text-sev-high",
  "text-accent",
  "text-text",
];

interface Style {
  colour: string;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
}

const PLAIN: Style = { colour: "", isBold: false, isDim: false, isItalic: false, isUnderlined: false };

export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let style = PLAIN;
  let from = 0;
  const push = (text: string) => {
    if (text !== "") spans.push({ text: inert(text), className: classOf(style) });
  };
  for (const found of line.matchAll(SEQUENCE)) {
    push(line.slice(from, found.index));
    style = applied(style, (found[1] ?? "").split(";").map(Number));
    from = found.index + found[0].length;
  }
  push(line.slice(from));
  return spans;
}

/** The text alone, for a search. */
export function withoutColours(line: string): string {
  return line.replace(SEQUENCE, "");
}

function classOf({ colour, isBold, isDim, isItalic, isUnderlined }: Style): string {
  const classes = [
    colour === "" && isDim ? "text-dim" : colour,
    isBold ? "font-bold" : "",
    isItalic ? "italic" : "",
    isUnderlined ? "underline" : "",
  ];
  return classes.filter((each) => each !== "").join(" ");
}

function applied(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const isIndexed = codes[at + 1] === 5;
      const index = codes[at + 2] ?? -1;
      // Of the long forms only the first sixteen colours have a counterpart.
      if (code === 38) style = { ...style, colour: isIndexed && index < 16 ? (COLOURS[index % 8] ?? "") : "" };
      at += isIndexed ? 2 : 4;
    } else {
      style = withCode(style, code);
    }
  }
  return style;
}

function withCode(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 3) return { ...style, isItalic: true };
  if (code === 4) return { ...style, isUnderlined: true };
  if (code === 22) return { ...style, isBold: false, isDim: false };
  if (code === 23) return { ...style, isItalic: false };
  if (code === 24) return { ...style, isUnderlined: false };
  if (code === 39) return { ...style, colour: "" };
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return { ...style, colour: COLOURS[code % 10] ?? "" };
  return style;
}
