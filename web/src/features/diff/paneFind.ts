import { type FindMarks, spans } from "./find";

interface PaneRoot {
  file: number;
  root: ShadowRoot | null;
}

/** Marks what the reader searches for in the lines that the viewer has drawn. Needs the custom highlights of the browser. */
export function paintMatches(roots: readonly PaneRoot[], { pattern, current }: FindMarks): void {
  if (typeof CSS === "undefined" || !("highlights" in CSS)) return;
  CSS.highlights.delete("diff-found");
  CSS.highlights.delete("diff-found-current");
  if (pattern === null) return;
  const all = new Highlight();
  const shown = new Highlight();
  for (const { file, root } of roots) {
    for (const line of root?.querySelectorAll<HTMLElement>("[data-line]") ?? []) {
      for (const [start, end] of spans(line.textContent ?? "", pattern)) {
        const range = rangeIn(line, start, end);
        if (range === null) continue;
        const isCurrent =
          current !== null &&
          current.file === file &&
          current.start === start &&
          Number(line.dataset.line) === current.line &&
          isOldLine(line) === (current.side === "old");
        (isCurrent ? shown : all).add(range);
      }
    }
  }
  CSS.highlights.set("diff-found", all);
  CSS.highlights.set("diff-found-current", shown);
}

function isOldLine(line: HTMLElement): boolean {
  return line.dataset.lineType === "change-deletion" || line.closest("[data-deletions]") !== null;
}

function rangeIn(line: HTMLElement, start: number, end: number): Range | null {
  const range = new Range();
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let at = 0;
  let hasStart = false;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0;
    if (!hasStart && start < at + length) {
      range.setStart(node, start - at);
      hasStart = true;
    }
    if (hasStart && end <= at + length) {
      range.setEnd(node, end - at);
      return range;
    }
    at += length;
  }
  return null;
}
