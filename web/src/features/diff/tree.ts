/** The files of a diff by folder, in the order of the diff. Folders with a single folder in them are joined. */
import type { PatchFile } from "./patch";

export interface FolderNode {
  type: "folder";
  key: string;
  name: string;
  children: TreeNode[];
}

export interface FileNode {
  type: "file";
  key: string;
  name: string;
  file: PatchFile;
}

export type TreeNode = FolderNode | FileNode;

export const fileKey = (index: number): string => `file ${index}`;

export function buildTree(files: readonly PatchFile[], filter: string): TreeNode[] {
  const root: FolderNode = { type: "folder", key: "folder ", name: "", children: [] };
  const folders = new Map<string, FolderNode>([["", root]]);
  const wanted = filter.trim().toLowerCase();
  for (const file of files) {
    const isWanted = `${file.path}\n${file.oldPath ?? ""}`.toLowerCase().includes(wanted);
    if (!isWanted) continue;
    const parts = file.path.split("/");
    const name = parts.pop() ?? "";
    const parent = folderOf(folders, parts);
    parent.children.push({
      type: "file",
      key: fileKey(file.index),
      name: file.path === "" ? "outside of any file" : name,
      file,
    });
  }
  return root.children.map(joined);
}

function folderOf(folders: Map<string, FolderNode>, parts: readonly string[]): FolderNode {
  const path = parts.join("/");
  const known = folders.get(path);
  if (known !== undefined) return known;
  const made: FolderNode = { type: "folder", key: `folder ${path}`, name: parts.at(-1) ?? "", children: [] };
  folders.set(path, made);
  folderOf(folders, parts.slice(0, -1)).children.push(made);
  return made;
}

function joined(node: TreeNode): TreeNode {
  if (node.type === "file") return node;
  const [only, ...others] = node.children;
  if (only?.type === "folder" && others.length === 0) return joined({ ...only, name: `${node.name}/${only.name}` });
  return { ...node, children: node.children.map(joined) };
}

export function folderKeys(nodes: readonly TreeNode[]): string[] {
  return nodes.flatMap((node) => (node.type === "folder" ? [node.key, ...folderKeys(node.children)] : []));
}

/** The keys of the rows that show, from top to bottom. */
export function shownKeys(nodes: readonly TreeNode[], expanded: ReadonlySet<string>): string[] {
  return nodes.flatMap((node) => {
    const isOpen = node.type === "folder" && expanded.has(node.key);
    return isOpen ? [node.key, ...shownKeys(node.children, expanded)] : [node.key];
  });
}
