/** Changes to the tree of a rendered markdown text: ids of findings become elements, blocks know their source lines. */

/** The part of a syntax tree (hast) that is needed here. */
interface Node {
  type: string;
  tagName?: string;
  value?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
  position?: { start: { line: number }; end: { line: number } };
}

/** Wraps each `I-41` outside code and links into `<x-finding name="I-41">`. */
export function markFindings() {
  return (root: Node) => markIn(root);
}

function markIn(node: Node): void {
  if (node.children === undefined || ["code", "pre", "a"].includes(node.tagName ?? "")) return;
  node.children = node.children.flatMap((child) => (child.type === "text" ? split(child.value ?? "") : [child]));
  for (const child of node.children) markIn(child);
}

function split(text: string): Node[] {
  return text
    .split(/\b(I-\d{1,9})\b/)
    .map((value, index): Node => {
      if (index % 2 === 0) return { type: "text", value };
      return { type: "element", tagName: "x-finding", properties: { name: value }, children: [] };
    })
    .filter(({ type, value }) => type !== "text" || value !== "");
}

/**
 * Wraps each block of the text, and the content of each item of a list, into `<x-block>`. `start` and `end` are its lines;
 * `first` and `last` include the blank lines around it, so that every line belongs to exactly one block.
 */
export function markBlocks() {
  return (root: Node) => {
    const blocks: Node[] = [];
    root.children = (root.children ?? []).map((node) => wrapBlock(node, blocks));
    let first = 1;
    for (const [index, block] of blocks.entries()) {
      const next = blocks[index + 1]?.properties?.start;
      const last = typeof next === "number" ? Math.max(next - 1, first) : Number.MAX_SAFE_INTEGER;
      block.properties = { ...block.properties, first, last };
      first = last + 1;
    }
  };
}

function wrapBlock(node: Node, blocks: Node[]): Node {
  if (node.type !== "element") return node;
  if (node.tagName !== "ul" && node.tagName !== "ol") return blockOf(node, [node], blocks);
  return { ...node, children: (node.children ?? []).map((item) => wrapItem(item, blocks)) };
}

function wrapItem(item: Node, blocks: Node[]): Node {
  if (item.tagName !== "li") return item;
  return { ...item, children: [blockOf(item, item.children ?? [], blocks)] };
}

function blockOf({ position }: Node, children: Node[], blocks: Node[]): Node {
  const [start, end] = [position?.start.line ?? 1, position?.end.line ?? 1];
  const block: Node = { type: "element", tagName: "x-block", properties: { start, end }, children };
  blocks.push(block);
  return block;
}
