/** What the highlighting view leaves out in its shadow roots: names of buttons, words of gaps, calm where all differs. */
import { inert } from "../../text/inert";
import { type FileContext, type FileSections, type Gap, STEP } from "./context";
import { gapWords } from "./GapBar";
import type { GapAction } from "./viewer";

/** The gap above the section with this index; the last one stands below the last section. */
export function gapOf(file: FileSections | undefined, index: number): Gap | null {
  if (file === undefined) return null;
  return index === file.sections.length ? file.tail : (file.sections[index]?.gap ?? null);
}

/** The button of a gap that an event came from. */
export function pressedGap(event: Event): { host: Element; index: number; from: GapAction["from"] } | null {
  const path = event.composedPath().filter((node): node is Element => node instanceof Element);
  const button = path.find((node) => node.matches("[data-expand-button], [data-unmodified-lines]"));
  const index = path.find((node) => node.hasAttribute("data-expand-index"))?.getAttribute("data-expand-index");
  const host = path.find((node) => node.localName === "diffs-container");
  if (button === undefined || index == null || host === undefined) return null;
  const from = button.hasAttribute("data-expand-up")
    ? "start"
    : button.hasAttribute("data-expand-down")
      ? "end"
      : "all";
  return { host, index: Number(index), from };
}

/** Says what lies in each gap, and names its buttons for readers and keys. */
export function nameGaps(host: HTMLElement, gapAt: (index: number) => Gap | null, context: FileContext): void {
  for (const separator of host.shadowRoot?.querySelectorAll<HTMLElement>("[data-expand-index]") ?? []) {
    const gap = gapAt(Number(separator.dataset.expandIndex));
    if (gap === null) continue;
    const text = separator.querySelector("[data-unmodified-lines]");
    const words = gapWords(gap, context);
    if (text !== null) text.textContent = gap.section === "" ? words : `${words}   ${inert(gap.section)}`;
    for (const button of separator.querySelectorAll<HTMLElement>("[data-expand-button]")) {
      const more = `Show ${STEP} more lines ${button.hasAttribute("data-expand-up") ? "below" : "above"}`;
      button.setAttribute("aria-label", button.hasAttribute("data-expand-both") ? "Show these lines" : more);
      button.tabIndex = 0;
    }
  }
}

/** The viewer makes its button when the pointer first comes near, without a name. */
export function nameCommentButton(host: HTMLElement): void {
  const root = host.shadowRoot;
  if (root === null || named.has(root)) return;
  named.add(root);
  const name = () => {
    const button = root.querySelector<HTMLElement>("[data-utility-button]:not([aria-label])");
    button?.setAttribute("aria-label", "Comment on the line");
  };
  // It is made by the first move over a line, which can follow the event that enters it.
  root.addEventListener("pointerover", name);
  root.addEventListener("pointermove", name);
}

/** Long lines scroll sideways inside of the view: what scrolls must be reachable by keyboard. */
export function reachScrollers(host: HTMLElement): void {
  for (const code of host.shadowRoot?.querySelectorAll<HTMLElement>("code[data-code]") ?? []) {
    code.tabIndex = 0;
    code.setAttribute("role", "group");
    code.setAttribute("aria-label", "Lines");
  }
}

const named = new WeakSet<ShadowRoot>();

/** A line that differs in most of its words is another line, not a changed one: its words are not marked. */
export function markRewritten(host: HTMLElement): void {
  const changed = new Map<HTMLElement, number>();
  for (const span of host.shadowRoot?.querySelectorAll<HTMLElement>("[data-line] [data-diff-span]") ?? []) {
    const line = span.closest<HTMLElement>("[data-line]");
    if (line !== null) changed.set(line, (changed.get(line) ?? 0) + (span.textContent?.length ?? 0));
  }
  for (const [line, length] of changed) {
    line.toggleAttribute("data-rewritten", length > (line.textContent?.trim().length ?? 0) * REWRITTEN_SHARE);
  }
}

const REWRITTEN_SHARE = 0.6;
