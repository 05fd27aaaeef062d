/** How the highlighting view looks: its colours are the page's, its words are coloured as on GitHub. */

/** Colours of the themes that do not stand out enough from a changed or a selected line. paneTheme.test.ts checks all. */
const REPLACED: Readonly<Record<string, string>> = {
  "#8250df": "#7440d0",
  "#7d8590": "#9aa4af",
};

/** A theme of the highlighter, as far as we change it. */
interface SyntaxTheme {
  style: object & { syntax?: unknown };
}

export function readableTheme<T extends SyntaxTheme>(theme: T): T {
  const { syntax } = theme.style;
  if (typeof syntax !== "object" || syntax === null) return theme;
  const readable = Object.fromEntries(
    Object.entries(syntax).map(([name, style]) => {
      const replaced = REPLACED[colourOf(style)];
      return [name, replaced === undefined ? style : { ...style, color: replaced }];
    }),
  );
  return { ...theme, style: { ...theme.style, syntax: readable } };
}

/** `#rrggbb`, or "". */
export function colourOf(style: unknown): string {
  const colour = typeof style === "object" && style !== null && "color" in style ? style.color : style;
  return typeof colour === "string" ? colour.slice(0, 7).toLowerCase() : "";
}

/** Goes into each shadow root, where the page's style sheets do not reach but its variables do. */
export const PANE_CSS = `
  :host {
    --diffs-bg: var(--bg);
    --diffs-fg: var(--text);
    --diffs-fg-number: var(--dim);
    --diffs-bg-separator: var(--raised);
    --diffs-bg-context: var(--raised);
    --diffs-bg-context-gutter: var(--raised);
    --diffs-bg-buffer: var(--line);
    --diffs-addition-base: var(--ok);
    --diffs-deletion-base: var(--bad);
    --diffs-modified-base: var(--accent);
    --diffs-bg-addition-emphasis: var(--add-strong);
    --diffs-bg-deletion-emphasis: var(--del-strong);
    --diffs-selection-number-fg: var(--accent);
    --diffs-gap-style: 0;
    font-variant-ligatures: none;
  }
  [data-line-type="change-addition"]:is([data-line], [data-column-number], [data-gutter-buffer], [data-no-newline]) {
    --diffs-computed-diff-line-bg: var(--add) !important;
  }
  [data-line-type="change-deletion"]:is([data-line], [data-column-number], [data-gutter-buffer], [data-no-newline]) {
    --diffs-computed-diff-line-bg: var(--del) !important;
  }
  [data-selected-line]:is([data-line], [data-column-number], [data-gutter-buffer], [data-no-newline]) {
    --diffs-computed-selected-line-bg: var(--accent-bg) !important;
  }
  [data-column-number][data-selected-line] {
    box-shadow: inset 3px 0 0 var(--accent);
  }
  :host(:not([data-words-off])) [data-line]:not([data-rewritten]) :is([data-diff-span], [data-diff-span] span, span:has(> [data-diff-span])) {
    color: var(--text);
  }
  [data-rewritten] [data-diff-span],
  :host([data-words-off]) [data-diff-span] {
    background-color: transparent;
  }
  [data-line-annotation],
  [data-gutter-buffer="annotation"] {
    --diffs-annotation-bg: var(--raised) !important;
    box-shadow: inset 0 1px 0 var(--line), inset 0 -1px 0 var(--line);
  }
  [data-separator] {
    border-block: 1px solid var(--line);
    box-sizing: border-box;
  }
  [data-separator-content],
  [data-expand-button] {
    font-size: 12px;
  }
  [data-expand-button] {
    color: var(--accent);
    border-right-color: var(--line);
  }
  [data-expand-button]:focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: -2px;
  }
  [data-unmodified-lines] {
    white-space: pre;
  }
  [data-no-newline] {
    padding-inline-start: 2ch;
  }
  [data-no-newline] span {
    opacity: 1;
    color: var(--dim);
  }
  [data-utility-button] {
    background-color: var(--accent);
    color: var(--on-accent);
  }
  [data-code]::-webkit-scrollbar-thumb {
    background-color: var(--line-strong);
  }
  ::highlight(diff-found) {
    background-color: var(--warn-bg);
    color: var(--text);
    text-decoration: underline 2px var(--warn);
  }
  ::highlight(diff-found-current) {
    background-color: var(--warn);
    color: var(--bg);
  }
`;
