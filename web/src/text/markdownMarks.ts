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

/** Wraps each block of the text, and the content of each item of a list, into `<x-block start end>`. */
export function markBlocks() {
  return (root: Node) => {
    root.children = (root.children ?? []).map(wrapBlock);
  };
}

function wrapBlock(node: Node): Node {
  if (node.type !== "element") return node;
  if (node.tagName === "ul" || node.tagName === "ol") return { ...node, children: (node.children ?? []).map(wrapItem) };
  return blockOf(node, [node]);
}

function wrapItem(item: Node): Node {
  if (item.tagName !== "li") return item;
  return { ...item, children: [blockOf(item, item.children ?? [])] };
}

function blockOf({ position }: Node, children: Node[]): Node {
  const [start, end] = [position?.start.line ?? 1, position?.end.line ?? 1];
  return { type: "element", tagName: "x-block", properties: { start, end }, children };
}
