/** Compares two texts by lines, and changed lines by words. For descriptions, whose rounds the broker does not compare. */

export interface Piece {
  kind: "same" | "added" | "removed";
  text: string;
}

export interface LineChange {
  kind: "same" | "added" | "removed";
  /** Line numbers, counted from 1. */
  old: number | null;
  new: number | null;
  pieces: Piece[];
}

/** Texts with more differences than this are compared only at their ends. */
const MAX_CELLS = 4_000_000;

type Step = { kind: Piece["kind"]; item: string };

/** The shortest list of steps from `before` to `after`. Removed items stand before added ones. */
export function diffItems(before: readonly string[], after: readonly string[]): Step[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end += 1;
  }
  const same = (items: readonly string[]): Step[] => items.map((item) => ({ kind: "same", item }));
  const middle = diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))];
}

function diffMiddle(before: readonly string[], after: readonly string[]): Step[] {
  const removed = (items: readonly string[]): Step[] => items.map((item) => ({ kind: "removed", item }));
  const added = (items: readonly string[]): Step[] => items.map((item) => ({ kind: "added", item }));
  const [rows, columns] = [before.length, after.length];
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [...removed(before), ...added(after)];
  // lengths[i][j]: the longest common part of before from i and after from j.
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const steps: Step[] = [];
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    if (before[row] === after[column]) {
      steps.push({ kind: "same", item: before[row] ?? "" });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      steps.push({ kind: "removed", item: before[row] ?? "" });
      row += 1;
    } else {
      steps.push({ kind: "added", item: after[column] ?? "" });
      column += 1;
    }
  }
  return [...steps, ...removed(before.slice(row)), ...added(after.slice(column))];
}

/** The lines of both texts, with the words that differ marked in lines that were changed. */
export function diffTexts(before: string, after: string): LineChange[] {
  const steps = diffItems(lines(before), lines(after));
  const changes: LineChange[] = [];
  let [old, fresh] = [1, 1];
  for (let index = 0; index < steps.length; ) {
    const step = steps[index];
    if (step?.kind === "same") {
      changes.push({ kind: "same", old, new: fresh, pieces: [{ kind: "same", text: step.item }] });
      old += 1;
      fresh += 1;
      index += 1;
      continue;
    }
    let stop = index;
    while (stop < steps.length && steps[stop]?.kind !== "same") stop += 1;
    const run = steps.slice(index, stop);
    const removed = run.filter(({ kind }) => kind === "removed").map(({ item }) => item);
    const added = run.filter(({ kind }) => kind === "added").map(({ item }) => item);
    const words = removed.map((line, at) => diffWords(line, added[at]));
    for (const [at, line] of removed.entries()) {
      changes.push({ kind: "removed", old, new: null, pieces: words[at]?.before ?? [{ kind: "removed", text: line }] });
      old += 1;
    }
    for (const [at, line] of added.entries()) {
      changes.push({
        kind: "added",
        old: null,
        new: fresh,
        pieces: words[at]?.after ?? [{ kind: "added", text: line }],
      });
      fresh += 1;
    }
    index = stop;
  }
  return changes;
}

/** The words of a changed line. `null` if the lines have too little in common, or one of them is missing. */
function diffWords(before: string, after: string | undefined): { before: Piece[]; after: Piece[] } | null {
  if (after === undefined) return null;
  const steps = diffItems(words(before), words(after));
  const common = steps.filter(({ kind }) => kind === "same").reduce((sum, { item }) => sum + item.trim().length, 0);
  if (common * 3 < Math.max(before.trim().length, after.trim().length)) return null;
  return { before: joined(steps, "removed"), after: joined(steps, "added") };
}

function joined(steps: readonly Step[], side: "added" | "removed"): Piece[] {
  const pieces: Piece[] = [];
  for (const { kind, item } of steps) {
    if (kind !== "same" && kind !== side) continue;
    const last = pieces.at(-1);
    if (last !== undefined && last.kind === kind) last.text += item;
    else pieces.push({ kind, text: item });
  }
  return pieces;
}

function lines(text: string): string[] {
  return text === "" ? [] : text.replace(/\r\n/g, "\n").split("\n");
}

function words(line: string): string[] {
  return line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}
